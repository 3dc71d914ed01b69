//! Writes a message's primitive values, and splices in bytes that lie elsewhere.
//!
//! Invariants
//! - nothing fails on the way: what does not fit its spelling is remembered and said at the end
//! - bytes given as [`Part`]s are never copied; the frame's length counts them all the same

use bytes::{BufMut, Bytes, BytesMut};

use crate::disk::{Part, Parts};
use crate::error::Malformed;
use crate::types::Uuid;

/// Writes one message. Nothing fails on the way; what does not fit is said at the end.
#[derive(Debug)]
pub struct Writer {
    out: BytesMut,
    flexible: bool,
    /// Parts of an answer that are not copied, and before which byte of `out` each stands.
    spliced: Vec<(usize, Part)>,
    spliced_bytes: u64,
    too_long: Option<(&'static str, usize)>,
}

impl Writer {
    pub fn new(flexible: bool) -> Self {
        Self {
            out: BytesMut::new(),
            flexible,
            spliced: Vec::new(),
            spliced_bytes: 0,
            too_long: None,
        }
    }

    /// A writer whose message starts with the four bytes of the frame's length.
    pub fn frame(flexible: bool) -> Self {
        let mut writer = Self::new(flexible);
        writer.out.reserve(256);
        writer.out.put_i32(0);
        writer
    }

    pub fn set_flexible(&mut self, flexible: bool) {
        self.flexible = flexible;
    }

    pub fn i8(&mut self, value: i8) {
        self.out.put_i8(value);
    }

    pub fn bool(&mut self, value: bool) {
        self.i8(i8::from(value));
    }

    pub fn i16(&mut self, value: i16) {
        self.out.put_i16(value);
    }

    pub fn i32(&mut self, value: i32) {
        self.out.put_i32(value);
    }

    pub fn i64(&mut self, value: i64) {
        self.out.put_i64(value);
    }

    pub fn uuid(&mut self, value: Uuid) {
        self.out.put_slice(&value.0);
    }

    pub fn unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.out.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.put_u8(value as u8);
    }

    fn length(&mut self, what: &'static str, length: Option<usize>, short: bool) {
        let most = if short && !self.flexible {
            i16::MAX as usize
        } else {
            i32::MAX as usize
        };
        let length = match length {
            Some(length) if length > most => {
                self.too_long.get_or_insert((what, length));
                Some(0)
            }
            other => other.map(|length| length as u32),
        };
        if self.flexible {
            self.unsigned_varint(length.map_or(0, |length| length + 1));
        } else if short {
            self.i16(length.map_or(-1, |length| length as i16));
        } else {
            self.i32(length.map_or(-1, |length| length as i32));
        }
    }

    pub fn nullable_string(&mut self, what: &'static str, value: Option<&str>) {
        self.length(what, value.map(str::len), true);
        self.out.put_slice(value.unwrap_or_default().as_bytes());
    }

    pub fn string(&mut self, what: &'static str, value: &str) {
        self.nullable_string(what, Some(value));
    }

    pub fn nullable_bytes(&mut self, what: &'static str, value: Option<&[u8]>) {
        self.length(what, value.map(<[u8]>::len), false);
        self.out.put_slice(value.unwrap_or_default());
    }

    /// A byte string that is sent from where it lies, in one or more parts.
    pub fn spliced_bytes(&mut self, what: &'static str, value: Option<&[Part]>) {
        let length = value.map(|parts| parts.iter().map(part_len).sum::<u64>());
        self.length(
            what,
            length.map(|length| usize::try_from(length).unwrap_or(usize::MAX)),
            false,
        );
        for part in value.unwrap_or_default() {
            if part_len(part) > 0 {
                self.spliced_bytes += part_len(part);
                self.spliced.push((self.out.len(), part.clone()));
            }
        }
    }

    pub fn nullable_array<T>(
        &mut self,
        what: &'static str,
        items: Option<&[T]>,
        mut item: impl FnMut(&mut Self, &T),
    ) {
        self.length(what, items.map(<[T]>::len), false);
        for value in items.unwrap_or_default() {
            item(self, value);
        }
    }

    pub fn i32_array(&mut self, what: &'static str, items: &[i32]) {
        self.array(what, items, |writer, item| writer.i32(*item));
    }

    /// The count before an array's items, when these are written one by one.
    pub fn count(&mut self, what: &'static str, count: usize) {
        self.length(what, Some(count), false);
    }

    /// Remembers that the message's version has no way to say `what`, of which there are `count`.
    pub fn cannot_say(&mut self, what: &'static str, count: usize) {
        self.too_long.get_or_insert((what, count));
    }

    pub fn array<T>(&mut self, what: &'static str, items: &[T], item: impl FnMut(&mut Self, &T)) {
        self.nullable_array(what, Some(items), item);
    }

    /// The tagged fields of a flexible structure, in the order of their tags; nothing in the old
    /// spelling. Each is its tag and its value, encoded by [`tagged_field`].
    pub fn tagged_fields(&mut self, fields: &[(u32, Bytes)]) {
        if !self.flexible {
            return;
        }
        self.unsigned_varint(fields.len() as u32);
        for (tag, value) in fields {
            self.unsigned_varint(*tag);
            self.unsigned_varint(value.len() as u32);
            self.out.put_slice(value);
        }
    }

    /// Lets another encoder append to the message.
    pub(in crate::protocol) fn append(
        &mut self,
        encode: impl FnOnce(&mut BytesMut) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        encode(&mut self.out)
    }

    fn check(&self) -> Result<(), Malformed> {
        match self.too_long {
            Some((what, length)) => Err(Malformed::OutOfRange {
                what,
                value: length as i64,
            }),
            None => Ok(()),
        }
    }

    /// Ends a message of [`Writer::frame`]: sets the length, and cuts it where parts were spliced in.
    pub fn finish_frame(mut self) -> Result<Parts, Malformed> {
        self.check()?;
        let length = self.out.len() as u64 + self.spliced_bytes - 4;
        let prefix = i32::try_from(length).map_err(|_| Malformed::OutOfRange {
            what: "frame length",
            value: length as i64,
        })?;
        self.out[..4].copy_from_slice(&prefix.to_be_bytes());
        let mut rest = self.out.freeze();
        let mut cut = 0;
        let mut parts = Parts::new();
        for (at, part) in self.spliced {
            if at > cut {
                parts.push(Part::Bytes(rest.split_to(at - cut)));
                cut = at;
            }
            parts.push(part);
        }
        if !rest.is_empty() {
            parts.push(Part::Bytes(rest));
        }
        Ok(parts)
    }

    /// Ends a message of [`Writer::frame`] that has no spliced parts.
    pub fn finish_whole_frame(self) -> Result<Bytes, Malformed> {
        match self.finish_frame()?.as_slice() {
            [Part::Bytes(bytes)] => Ok(bytes.clone()),
            parts => Err(Malformed::Codec(format!(
                "a frame of one piece was wanted, not of {}",
                parts.len()
            ))),
        }
    }
}

/// Length of a part in bytes.
pub fn part_len(part: &Part) -> u64 {
    match part {
        Part::Bytes(bytes) => bytes.len() as u64,
        Part::File { len, .. } => u64::from(*len),
    }
}

/// The value of one tagged field, for [`Writer::tagged_fields`].
pub fn tagged_field(write: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::new(true);
    write(&mut writer);
    writer.out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spliced_parts_stand_where_they_were_written_and_count_in_the_length() {
        use crate::disk::FileId;
        let file = Part::File {
            file: FileId { dir: 0, number: 1 },
            pos: 4096,
            len: 1000,
        };
        let mut writer = Writer::frame(false);
        writer.i16(7);
        writer.spliced_bytes(
            "records",
            Some(&[file.clone(), Part::Bytes(Bytes::from_static(b"tail"))]),
        );
        writer.spliced_bytes("records", Some(&[]));
        writer.spliced_bytes("records", None);
        let parts = writer.finish_frame().unwrap();
        let length = parts.iter().map(part_len).sum::<u64>();
        assert_eq!(length, 4 + 2 + 4 + 1004 + 4 + 4);
        let Part::Bytes(head) = &parts[0] else {
            panic!("{parts:?}")
        };
        assert_eq!(head[..4], (length as i32 - 4).to_be_bytes());
        assert_eq!(head[4..], [0, 7, 0, 0, 0x03, 0xec]);
        assert_eq!(parts[1], file);
        assert_eq!(parts[2], Part::Bytes(Bytes::from_static(b"tail")));
        assert_eq!(
            parts[3],
            Part::Bytes(Bytes::from_static(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]))
        );
    }

    #[test]
    fn a_string_too_long_for_its_spelling_is_said_at_the_end() {
        let long = "x".repeat(i16::MAX as usize + 1);
        let mut writer = Writer::frame(false);
        writer.string("name", &long);
        assert!(matches!(
            writer.finish_frame(),
            Err(Malformed::OutOfRange {
                what: "name",
                value: 32768
            })
        ));
    }
}
