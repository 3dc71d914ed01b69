//! Facts, described: `HighWatermarkMoved at=1 partition=t-0 to>=3`.
//!
//! A pattern is a fact's name and conditions on its fields; `at` is the node that the fact is of, `ms`
//! the time since the run began. Fields are compared as they are written: a partition as `t-0`, a list
//! as `1,2,3`. Where both sides are numbers, `>=` and `<=` compare them. A field that is one of several
//! kinds (why a high watermark stays) has the kind's name, and the kind's own fields come after a dot:
//! `why=UnderMinIsr why.in_sync=1`.

use std::fmt;

use serde_json::Value;

use super::fact_names;
use super::query::NONE;
use crate::sim::host::EPOCH_MS;
use crate::trace::{Event, Fact};

/// A description that facts match or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub name: String,
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub field: String,
    pub relation: Relation,
    pub value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Different,
    AtLeast,
    AtMost,
}

impl Pattern {
    /// Reads a name and conditions, separated by blanks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().ok_or("a pattern begins with the name of a fact")?;
        if !is_fact(name) {
            return Err(format!("there is no fact named {name}"));
        }
        let conditions = words.map(Condition::parse).collect::<Result<_, String>>()?;
        Ok(Self {
            name: name.to_owned(),
            conditions,
        })
    }

    /// The same with its values given by `fill`, which makes them of those that are written.
    pub fn with_values<E>(&self, fill: impl Fn(&str) -> Result<String, E>) -> Result<Self, E> {
        let mut filled = self.clone();
        for condition in &mut filled.conditions {
            condition.value = fill(&condition.value)?;
        }
        Ok(filled)
    }

    pub fn matches(&self, event: &Event) -> bool {
        if name_of(&event.fact) != self.name {
            return false;
        }
        if self.conditions.is_empty() {
            return true;
        }
        let fields = fields(event);
        let holds = |condition: &Condition| {
            let field = fields.iter().find(|(name, _)| *name == condition.field);
            field.is_some_and(|(_, value)| condition.holds(value))
        };
        self.conditions.iter().all(holds)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        for Condition {
            field,
            relation,
            value,
        } in &self.conditions
        {
            let sign = match relation {
                Relation::Equal => "=",
                Relation::Different => "!=",
                Relation::AtLeast => ">=",
                Relation::AtMost => "<=",
            };
            write!(f, " {field}{sign}{value}")?;
        }
        Ok(())
    }
}

impl Condition {
    fn parse(word: &str) -> Result<Self, String> {
        let signs = [
            (">=", Relation::AtLeast),
            ("<=", Relation::AtMost),
            ("!=", Relation::Different),
            ("=", Relation::Equal),
        ];
        for (sign, relation) in signs {
            if let Some((field, value)) = word.split_once(sign) {
                return Ok(Self {
                    field: field.to_owned(),
                    relation,
                    value: value.to_owned(),
                });
            }
        }
        Err(format!("`{word}` is no condition: write field=value"))
    }

    fn holds(&self, value: &str) -> bool {
        let numbers = || Some((value.parse::<i64>().ok()?, self.value.parse::<i64>().ok()?));
        match self.relation {
            Relation::Equal => value == self.value,
            Relation::Different => value != self.value,
            Relation::AtLeast => numbers().is_some_and(|(value, bound)| value >= bound),
            Relation::AtMost => numbers().is_some_and(|(value, bound)| value <= bound),
        }
    }
}

/// The name of the fact, as patterns and scripts have it: without the family that it belongs to.
pub fn name_of(fact: &Fact) -> &'static str {
    match fact {
        Fact::World(fact) => fact.into(),
        Fact::Control(fact) => fact.into(),
        Fact::Group(fact) => fact.into(),
        Fact::Client(fact) => fact.into(),
        Fact::Producer(fact) => fact.into(),
        Fact::Consumer(fact) => fact.into(),
        fact => fact.into(),
    }
}

/// A fact's fields as text, in the order of their names; with `at` and `ms` that every event has.
pub fn fields(event: &Event) -> Vec<(String, String)> {
    let mut fields = vec![
        ("at".to_owned(), event.id.node.to_string()),
        ("ms".to_owned(), (event.at_ms - EPOCH_MS).to_string()),
    ];
    if let Some(Value::Object(own)) = own_fields(event) {
        for (name, value) in own {
            add_field(&mut fields, name, &value);
        }
    }
    fields
}

/// What a fact holds, without its name and that of its family.
fn own_fields(event: &Event) -> Option<Value> {
    let mut event_value: Value = serde_json::from_slice(&event.to_json()).ok()?;
    let mut value = event_value.get_mut("fact")?.take();
    loop {
        let (name, within) = value.as_object_mut()?.iter_mut().next()?;
        let is_own = name == name_of(&event.fact);
        value = within.take();
        if is_own {
            return Some(value);
        }
    }
}

fn add_field(fields: &mut Vec<(String, String)>, name: String, value: &Value) {
    let Some((kind, parts)) = as_kind(value) else {
        return fields.push((name, text_of(value)));
    };
    for (part, value) in parts.as_object().into_iter().flatten() {
        fields.push((format!("{name}.{part}"), text_of(value)));
    }
    fields.push((name, kind.to_owned()));
}

/// One of several kinds, with what belongs to it: an object whose only key is the kind's name.
fn as_kind(value: &Value) -> Option<(&str, &Value)> {
    let mut entries = value.as_object()?.iter();
    let (kind, parts) = entries.next()?;
    let is_kind = entries.next().is_none() && kind.starts_with(|c: char| c.is_ascii_uppercase());
    is_kind.then_some((kind, parts))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => NONE.to_owned(),
        Value::Array(items) => match items.as_slice() {
            // An offset of a partition.
            [Value::Object(partition), Value::Number(offset)] if partition.contains_key("topic") => {
                format!("{}@{offset}", text_of(&items[0]))
            }
            items => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        },
        Value::Object(object) => match (object.get("topic"), object.get("partition")) {
            (Some(Value::String(topic)), Some(number)) => format!("{topic}-{number}"),
            _ => match object.get("broker") {
                // A list of brokers with what is known of each is, first of all, a list of brokers.
                Some(broker) => text_of(broker),
                None => value.to_string(),
            },
        },
        other => other.to_string(),
    }
}

fn is_fact(name: &str) -> bool {
    fact_names().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ControlFact, EventId, HighWatermarkBasis, Site, WorldFact};
    use crate::types::TopicPartition;

    fn event(fact: Fact) -> Event {
        Event {
            id: EventId { node: 1, seq: 1 },
            cause: EventId::NONE,
            at_ms: 0,
            fact,
            site: Site::default(),
        }
    }

    #[test]
    fn a_pattern_names_a_fact_and_bounds_its_fields() {
        let moved = event(Fact::HighWatermarkMoved {
            partition: TopicPartition::new("a-b", 0),
            from: 1,
            to: 10,
            by: HighWatermarkBasis::LogCut,
        });
        let matches = |text: &str| Pattern::parse(text).unwrap().matches(&moved);
        assert!(matches("HighWatermarkMoved"));
        assert!(matches("HighWatermarkMoved at=1 partition=a-b-0 to>=9 from<=1"));
        assert!(!matches("HighWatermarkMoved to>=11"));
        assert!(!matches("HighWatermarkMoved at!=1"));
        assert!(!matches("HighWatermarkMoved nothing=1"));
        assert!(!matches("HighWatermarkHeld"));
    }

    #[test]
    fn facts_of_the_world_are_named_like_others() {
        let fact = Fact::World(WorldFact::CoordinationCrashed);
        assert_eq!(name_of(&fact), "CoordinationCrashed");
        assert!(
            Pattern::parse("CoordinationCrashed")
                .unwrap()
                .matches(&event(fact))
        );
        let fact = Fact::IsrChanged {
            partition: TopicPartition::new("t", 0),
            isr: vec![1, 2],
            partition_epoch: 3,
        };
        assert!(
            Pattern::parse("IsrChanged isr=1,2")
                .unwrap()
                .matches(&event(fact))
        );
    }

    #[test]
    fn a_field_of_several_kinds_has_the_kinds_name_and_its_fields() {
        use crate::trace::{Candidate, ElectionReason, HighWatermarkHold, Verdict};
        let held = event(Fact::HighWatermarkHeld {
            partition: TopicPartition::new("t", 0),
            at: 4,
            why: HighWatermarkHold::UnderMinIsr { in_sync: 1, least: 2 },
        });
        let pattern = Pattern::parse("HighWatermarkHeld why=UnderMinIsr why.least=2").unwrap();
        assert!(pattern.matches(&held));
        let elected = event(Fact::Control(ControlFact::Elected {
            partition: TopicPartition::new("t", 0),
            reason: ElectionReason::Offline,
            leader: None,
            unclean: false,
            candidates: vec![Candidate {
                broker: 2,
                live: true,
                in_isr: false,
                verdict: Verdict::OutOfSync,
            }],
        }));
        let pattern = Pattern::parse("Elected reason=Offline leader=none candidates=2").unwrap();
        assert!(pattern.matches(&elected));
    }

    #[test]
    fn what_is_no_fact_or_no_condition_is_said() {
        assert_eq!(
            Pattern::parse("Nonsense").unwrap_err(),
            "there is no fact named Nonsense"
        );
        assert!(
            Pattern::parse("IsrChanged isr")
                .unwrap_err()
                .contains("field=value")
        );
        assert!(Pattern::parse("").is_err());
    }
}
