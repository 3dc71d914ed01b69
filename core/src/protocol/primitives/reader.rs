//! Reads a message's primitive values.
//!
//! Invariants
//! - a length is compared with the bytes left before anything is sliced or allocated
//! - a count is compared with the bytes that so many items need at the least
//! - one message holds at most [`MAX_ITEMS`] array items, all its arrays together; numbers do not
//!   count, since they take no more in memory than on the wire

use bytes::Bytes;
use kafka_wire_core::StrBytes;

use crate::error::Malformed;
use crate::types::Uuid;

/// Most array items in one message. An item that takes three bytes on the wire takes some seventy
/// in memory; this keeps a frame of the greatest size from becoming gigabytes.
pub const MAX_ITEMS: usize = 1 << 18;

/// Reads one message from a frame. Byte strings and strings are slices of the frame, not copies.
#[derive(Debug)]
pub struct Reader {
    frame: Bytes,
    at: usize,
    flexible: bool,
    items_left: usize,
}

impl Reader {
    /// `flexible` chooses the compact spellings and the tagged fields.
    pub fn new(frame: Bytes, flexible: bool) -> Self {
        Self {
            frame,
            at: 0,
            flexible,
            items_left: MAX_ITEMS,
        }
    }

    /// Switches the spelling: a header may differ from its body.
    pub fn set_flexible(&mut self, flexible: bool) {
        self.flexible = flexible;
    }

    /// Bytes not read yet.
    pub fn left(&self) -> usize {
        self.frame.len() - self.at
    }

    /// What is not read yet, as a slice of the frame.
    pub fn rest(self) -> Bytes {
        self.frame.slice(self.at..)
    }

    /// Refuses bytes after the end of the message.
    pub fn finish(&self, what: &'static str) -> Result<(), Malformed> {
        match self.left() {
            0 => Ok(()),
            left => Err(Malformed::TrailingBytes {
                what,
                left: left as u64,
            }),
        }
    }

    fn check_left(&self, what: &'static str, needed: u64) -> Result<(), Malformed> {
        let left = self.left() as u64;
        if needed <= left {
            return Ok(());
        }
        Err(Malformed::Truncated { what, needed, left })
    }

    fn fixed<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let found = self
            .frame
            .get(self.at..)
            .and_then(|left| left.first_chunk::<N>())
            .copied();
        match found {
            Some(bytes) => {
                self.at += N;
                Ok(bytes)
            }
            None => Err(Malformed::Truncated {
                what,
                needed: N as u64,
                left: self.left() as u64,
            }),
        }
    }

    pub fn i8(&mut self, what: &'static str) -> Result<i8, Malformed> {
        self.fixed(what).map(i8::from_be_bytes)
    }

    /// Any byte but 0 is true, as in Kafka.
    pub fn bool(&mut self, what: &'static str) -> Result<bool, Malformed> {
        self.i8(what).map(|byte| byte != 0)
    }

    pub fn i16(&mut self, what: &'static str) -> Result<i16, Malformed> {
        self.fixed(what).map(i16::from_be_bytes)
    }

    pub fn i32(&mut self, what: &'static str) -> Result<i32, Malformed> {
        self.fixed(what).map(i32::from_be_bytes)
    }

    pub fn i64(&mut self, what: &'static str) -> Result<i64, Malformed> {
        self.fixed(what).map(i64::from_be_bytes)
    }

    pub fn uuid(&mut self, what: &'static str) -> Result<Uuid, Malformed> {
        self.fixed(what).map(Uuid)
    }

    /// Seven bits a byte, lowest first; at most five bytes.
    pub fn unsigned_varint(&mut self, what: &'static str) -> Result<u32, Malformed> {
        let mut value = 0u64;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.fixed(what)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| Malformed::OutOfRange {
                    what,
                    value: value as i64,
                });
            }
        }
        Err(Malformed::OutOfRange {
            what,
            value: value as i64,
        })
    }

    /// A length or a count as the spelling has it; `None` is null. `short` is the old spelling of
    /// strings, two bytes.
    fn length(&mut self, what: &'static str, short: bool) -> Result<Option<u32>, Malformed> {
        if self.flexible {
            return Ok(self.unsigned_varint(what)?.checked_sub(1));
        }
        let length = if short {
            i32::from(self.i16(what)?)
        } else {
            self.i32(what)?
        };
        match length {
            -1 => Ok(None),
            _ => u32::try_from(length)
                .map(Some)
                .map_err(|_| Malformed::OutOfRange {
                    what,
                    value: i64::from(length),
                }),
        }
    }

    fn slice(&mut self, what: &'static str, length: u32) -> Result<Bytes, Malformed> {
        self.check_left(what, u64::from(length))?;
        let end = self.at + length as usize;
        let bytes = self.frame.slice(self.at..end);
        self.at = end;
        Ok(bytes)
    }

    pub fn nullable_string(&mut self, what: &'static str) -> Result<Option<StrBytes>, Malformed> {
        let Some(length) = self.length(what, true)? else {
            return Ok(None);
        };
        let bytes = self.slice(what, length)?;
        StrBytes::try_from(bytes)
            .map(Some)
            .map_err(|_| Malformed::NotUtf8 { what })
    }

    pub fn string(&mut self, what: &'static str) -> Result<StrBytes, Malformed> {
        self.nullable_string(what)?.ok_or(null(what))
    }

    pub fn nullable_bytes(&mut self, what: &'static str) -> Result<Option<Bytes>, Malformed> {
        match self.length(what, false)? {
            Some(length) => self.slice(what, length).map(Some),
            None => Ok(None),
        }
    }

    /// An array whose items take at least `item_bytes` (1 or more) each on the wire.
    pub fn nullable_array<T>(
        &mut self,
        what: &'static str,
        item_bytes: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<Vec<T>>, Malformed> {
        let Some(count) = self.length(what, false)? else {
            return Ok(None);
        };
        self.check_left(what, u64::from(count) * item_bytes as u64)?;
        let count = count as usize;
        self.items_left = self.items_left.checked_sub(count).ok_or(Malformed::OutOfRange {
            what,
            value: count as i64,
        })?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(Some(items))
    }

    /// Like [`nullable_array`](Self::nullable_array), for arrays that may not be null.
    pub fn array<T>(
        &mut self,
        what: &'static str,
        item_bytes: usize,
        item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        self.nullable_array(what, item_bytes, item)?.ok_or(null(what))
    }

    /// An array of four-byte numbers that may not be null.
    pub fn i32_array(&mut self, what: &'static str) -> Result<Vec<i32>, Malformed> {
        let count = self.length(what, false)?.ok_or(null(what))?;
        self.check_left(what, u64::from(count) * 4)?;
        (0..count).map(|_| self.i32(what)).collect()
    }

    /// The tagged fields that end a flexible structure; nothing in the old spelling. `known` reads
    /// the field's value and says true, or leaves it and says false: then it is skipped.
    pub fn tagged_fields(
        &mut self,
        mut known: impl FnMut(u32, &mut Reader) -> Result<bool, Malformed>,
    ) -> Result<(), Malformed> {
        if !self.flexible {
            return Ok(());
        }
        let what = "tagged field";
        let count = self.unsigned_varint(what)?;
        let mut next = 0u64;
        for _ in 0..count {
            let tag = self.unsigned_varint(what)?;
            if u64::from(tag) < next {
                return Err(Malformed::OutOfRange {
                    what,
                    value: i64::from(tag),
                });
            }
            next = u64::from(tag) + 1;
            let size = self.unsigned_varint(what)?;
            let mut field = Reader {
                frame: self.slice(what, size)?,
                at: 0,
                flexible: true,
                items_left: self.items_left,
            };
            if known(tag, &mut field)? {
                field.finish(what)?;
                self.items_left = field.items_left;
            }
        }
        Ok(())
    }

    /// Skips every tagged field.
    pub fn skip_tagged_fields(&mut self) -> Result<(), Malformed> {
        self.tagged_fields(|_, _| Ok(false))
    }
}

/// Null where the protocol allows none.
fn null(what: &'static str) -> Malformed {
    Malformed::OutOfRange { what, value: -1 }
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};

    use super::*;

    fn reader(bytes: &'static [u8], flexible: bool) -> Reader {
        Reader::new(Bytes::from_static(bytes), flexible)
    }

    #[test]
    fn null_and_empty_differ_in_both_spellings() {
        let read = |bytes, flexible| reader(bytes, flexible).nullable_string("s").unwrap();
        assert_eq!(read(&[0xff, 0xff], false), None);
        assert_eq!(read(&[0, 0], false), Some("".into()));
        assert_eq!(read(&[0], true), None);
        assert_eq!(read(&[1], true), Some("".into()));
        assert!(reader(&[0], true).string("s").is_err(), "null where none may be");
    }

    #[test]
    fn a_count_that_the_bytes_cannot_hold_is_refused_before_the_first_item() {
        let mut read = 0;
        for (bytes, flexible) in [
            (&[0x7f, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6][..], false),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3, 4, 5], true),
        ] {
            let refused = reader(bytes, flexible).array("items", 1, |_| {
                read += 1;
                Ok(())
            });
            assert!(matches!(refused, Err(Malformed::Truncated { what: "items", .. })));
        }
        assert_eq!(read, 0);
    }

    #[test]
    fn a_message_has_a_bounded_number_of_items_in_all_its_arrays_together() {
        let half = MAX_ITEMS / 2 + 1;
        let mut frame = BytesMut::new();
        for _ in 0..2 {
            frame.put_i32(half as i32);
            frame.put_bytes(0, half);
        }
        let mut reader = Reader::new(frame.freeze(), false);
        assert!(reader.array("first", 1, |reader| reader.i8("item")).is_ok());
        let second = reader.array("second", 1, |reader| reader.i8("item"));
        assert!(matches!(
            second,
            Err(Malformed::OutOfRange { what: "second", .. })
        ));
    }

    #[test]
    fn varints_end_after_five_bytes() {
        assert_eq!(reader(&[0xac, 0x02], false).unsigned_varint("v"), Ok(300));
        assert_eq!(
            reader(&[0xff, 0xff, 0xff, 0xff, 0x0f], false).unsigned_varint("v"),
            Ok(u32::MAX)
        );
        assert!(
            reader(&[0xff, 0xff, 0xff, 0xff, 0x1f], false)
                .unsigned_varint("v")
                .is_err()
        );
        assert!(reader(&[0x80; 9], false).unsigned_varint("v").is_err());
        assert!(reader(&[0x80], false).unsigned_varint("v").is_err());
    }

    #[test]
    fn unknown_tagged_fields_are_skipped_and_known_ones_must_fill_their_size() {
        // Two fields: tag 1 of two bytes, tag 5 of one.
        let bytes = &[2, 1, 2, 0, 9, 5, 1, 42, 77];
        let mut found = 0;
        let mut all = reader(bytes, true);
        all.tagged_fields(|tag, field| {
            if tag == 1 {
                found = field.i16("value")?;
            }
            Ok(tag == 1)
        })
        .unwrap();
        assert_eq!((found, all.left()), (9, 1));

        let short = reader(bytes, true).tagged_fields(|tag, field| {
            if tag == 1 {
                field.i8("value")?;
            }
            Ok(tag == 1)
        });
        assert!(matches!(short, Err(Malformed::TrailingBytes { left: 1, .. })));
        assert!(
            reader(&[2, 5, 0, 5, 0], true).skip_tagged_fields().is_err(),
            "a tag twice"
        );
    }
}
