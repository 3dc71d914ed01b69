//! The names of all kinds of facts, taken from their form for machines, so that no second list is kept.
//!
//! A derived `Deserialize` tells a deserializer the names of an enum's variants before anything is read. The one here
//! takes them and refuses to go on, so that no code for reading facts is built where only names are wanted.

use serde::de::value::Error;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use crate::trace::{ClientFact, ConsumerFact, ControlFact, Fact, GroupFact, ProducerFact, WorldFact};

type Names = &'static [&'static str];

/// Variants of [`Fact`] that hold facts and are none.
const FAMILIES: [&str; 6] = ["World", "Control", "Group", "Client", "Producer", "Consumer"];

/// As patterns and scripts have them.
pub fn fact_names() -> impl Iterator<Item = &'static str> {
    let all = [
        names_of::<Fact>(),
        names_of::<WorldFact>(),
        names_of::<ControlFact>(),
        names_of::<GroupFact>(),
        names_of::<ClientFact>(),
        names_of::<ProducerFact>(),
        names_of::<ConsumerFact>(),
    ];
    let names = all.into_iter().flatten().copied();
    names.filter(|name| !FAMILIES.contains(name))
}

fn names_of<T: Deserialize<'static>>() -> Names {
    let mut names: Names = &[];
    // It always refuses.
    let _ = T::deserialize(TakesNames(&mut names));
    names
}

struct TakesNames<'a>(&'a mut Names);

impl<'de> Deserializer<'de> for TakesNames<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no enum"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: Names,
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = variants;
        Err(Error::custom("only names"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_gives_its_facts_and_is_none_itself() {
        let names: Vec<&str> = fact_names().collect();
        for name in [
            "BatchAppended",
            "PacketSent",
            "PartitionDecided",
            "Stable",
            "Joined",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        assert!(FAMILIES.iter().all(|family| !names.contains(family)));
        assert!(!names.contains(&"NoSuchFact"));
    }
}
