//! One record within a batch: a length, then attributes (unused), timestamp and offset as deltas to
//! the batch, key, value and headers (Kafka's `DefaultRecord`).
//!
//! A length of -1 is null, 0 is empty; both come up in real topics (a null value is a tombstone) and
//! are kept apart everywhere.

use bytes::Bytes;

use super::varint::{read_varint, read_varlong, size_of_varlong, write_varint, write_varlong};
use crate::types::{Millis, Offset};

/// A header of a record: a name and perhaps a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// UTF-8 by convention; nobody checks it on the way.
    pub key: Bytes,
    pub value: Option<Bytes>,
}

/// A decoded record. Key, value and headers are slices of the batch (or of its decompressed body).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub offset: Offset,
    pub timestamp: Millis,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Vec<Header>,
}

/// What makes a record's bytes unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRecord {
    #[error("a length or delta is cut short or has too many bytes")]
    Varint,
    #[error("its length of {length} bytes does not fit into the {left} that are left")]
    Length { length: i32, left: u64 },
    #[error("key, value or header of {length} bytes does not fit into the {left} that are left")]
    Field { length: i32, left: u64 },
    #[error("{count} headers cannot be in {left} bytes")]
    HeaderCount { count: i32, left: u64 },
    #[error("a header's key has a negative length")]
    NullHeaderKey,
    #[error("{left} bytes of its length are left over")]
    LeftOver { left: u64 },
}

/// The layout of one record: deltas and where its parts lie. What validation needs, and what the
/// owning [`Record`] is cut from.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRecord<'a> {
    pub timestamp_delta: i64,
    pub offset_delta: i32,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    /// How many headers, and their bytes.
    pub header_count: i32,
    pub headers: &'a [u8],
}

impl<'a> RawRecord<'a> {
    /// Reads the record at `*at` in `body` and moves past it. Headers are walked, so that what comes
    /// back is sound as a whole.
    #[inline]
    pub fn read(body: &'a [u8], at: &mut usize) -> Result<Self, InvalidRecord> {
        let length = read_varint(body, at).ok_or(InvalidRecord::Varint)?;
        let left = body.len() - *at;
        if length < 0 || length as usize > left {
            let left = left as u64;
            return Err(InvalidRecord::Length { length, left });
        }
        let bytes = &body[*at..*at + length as usize];
        *at += length as usize;

        // One byte of attributes, which mean nothing in this format.
        let mut at = 1;
        let timestamp_delta = read_varlong(bytes, &mut at).ok_or(InvalidRecord::Varint)?;
        let offset_delta = read_varint(bytes, &mut at).ok_or(InvalidRecord::Varint)?;
        let key = read_field(bytes, &mut at)?;
        let value = read_field(bytes, &mut at)?;
        let header_count = read_varint(bytes, &mut at).ok_or(InvalidRecord::Varint)?;
        let headers = &bytes[at..];
        if header_count != 0 {
            let left = headers.len() as u64;
            // A header has at least two bytes; Kafka allows as many as there are bytes.
            if header_count < 0 || header_count as usize > headers.len() {
                let count = header_count;
                return Err(InvalidRecord::HeaderCount { count, left });
            }
            at = 0;
            for _ in 0..header_count {
                read_header(headers, &mut at)?;
            }
            if at != headers.len() {
                let left = (headers.len() - at) as u64;
                return Err(InvalidRecord::LeftOver { left });
            }
        } else if !headers.is_empty() {
            let left = headers.len() as u64;
            return Err(InvalidRecord::LeftOver { left });
        }
        Ok(Self {
            timestamp_delta,
            offset_delta,
            key,
            value,
            header_count,
            headers,
        })
    }

    /// The record with slices of `body`, from which this one was read.
    pub fn to_record(self, body: &Bytes, offset: Offset, timestamp: Millis) -> Record {
        let mut headers = Vec::with_capacity(self.header_count.max(0) as usize);
        let mut at = 0;
        for _ in 0..self.header_count {
            // They were walked when the record was read, so this always succeeds.
            let Ok((key, value)) = read_header(self.headers, &mut at) else {
                break;
            };
            headers.push(Header {
                key: body.slice_ref(key),
                value: value.map(|value| body.slice_ref(value)),
            });
        }
        Record {
            offset,
            timestamp,
            key: self.key.map(|key| body.slice_ref(key)),
            value: self.value.map(|value| body.slice_ref(value)),
            headers,
        }
    }

    /// Appends the record's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let length = 1
            + size_of_varlong(self.timestamp_delta)
            + size_of_varlong(i64::from(self.offset_delta))
            + size_of_field(self.key)
            + size_of_field(self.value)
            + size_of_varlong(i64::from(self.header_count))
            + self.headers.len();
        write_varlong(out, length as i64);
        out.push(0);
        write_varlong(out, self.timestamp_delta);
        write_varint(out, self.offset_delta);
        write_field(out, self.key);
        write_field(out, self.value);
        write_varint(out, self.header_count);
        out.extend_from_slice(self.headers);
    }
}

/// Packs headers as they stand at the end of a record, without their count.
pub(super) fn write_headers(out: &mut Vec<u8>, headers: &[Header]) {
    for header in headers {
        write_field(out, Some(&header.key));
        write_field(out, header.value.as_deref());
    }
}

fn write_field(out: &mut Vec<u8>, field: Option<&[u8]>) {
    match field {
        None => write_varint(out, -1),
        Some(bytes) => {
            write_varlong(out, bytes.len() as i64);
            out.extend_from_slice(bytes);
        }
    }
}

fn size_of_field(field: Option<&[u8]>) -> usize {
    field.map_or(1, |bytes| size_of_varlong(bytes.len() as i64) + bytes.len())
}

/// Any negative length is null, as Kafka reads it.
#[inline]
fn read_field<'a>(bytes: &'a [u8], at: &mut usize) -> Result<Option<&'a [u8]>, InvalidRecord> {
    let length = read_varint(bytes, at).ok_or(InvalidRecord::Varint)?;
    if length < 0 {
        return Ok(None);
    }
    let rest = &bytes[*at..];
    match rest.get(..length as usize) {
        Some(field) => {
            *at += length as usize;
            Ok(Some(field))
        }
        None => {
            let left = rest.len() as u64;
            Err(InvalidRecord::Field { length, left })
        }
    }
}

fn read_header<'a>(bytes: &'a [u8], at: &mut usize) -> Result<(&'a [u8], Option<&'a [u8]>), InvalidRecord> {
    let key = read_field(bytes, at)?.ok_or(InvalidRecord::NullHeaderKey)?;
    Ok((key, read_field(bytes, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<(), InvalidRecord> {
        RawRecord::read(bytes, &mut 0).map(|_| ())
    }

    #[test]
    fn null_and_empty_differ() {
        // length 7, attributes, timestamp delta 0, offset delta 0, null key, empty value, no headers
        let body = [12, 0, 0, 0, 1, 0, 0];
        let record = RawRecord::read(&body, &mut 0).unwrap();
        assert_eq!(record.key, None);
        assert_eq!(record.value, Some(&b""[..]));
        let mut again = Vec::new();
        record.write(&mut again);
        assert_eq!(again, body);
    }

    #[test]
    fn lengths_are_checked_against_what_is_there() {
        use InvalidRecord::*;
        assert_eq!(read(&[]), Err(Varint));
        assert_eq!(read(&[1]), Err(Length { length: -1, left: 0 }));
        assert_eq!(read(&[20, 0]), Err(Length { length: 10, left: 1 }));
        assert_eq!(read(&[0]), Err(Varint));
        assert_eq!(read(&[12, 0, 0, 0, 20, 1, 0]), Err(Field { length: 10, left: 2 }));
        assert_eq!(
            read(&[12, 0, 0, 0, 1, 1, 8]),
            Err(HeaderCount { count: 4, left: 0 })
        );
        assert_eq!(
            read(&[12, 0, 0, 0, 1, 1, 1]),
            Err(HeaderCount { count: -1, left: 0 })
        );
        assert_eq!(read(&[14, 0, 0, 0, 1, 1, 0, 9]), Err(LeftOver { left: 1 }));
        assert_eq!(read(&[16, 0, 0, 0, 1, 1, 2, 1, 1]), Err(NullHeaderKey));
    }
}
