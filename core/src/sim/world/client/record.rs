//! The records that applications send.
//!
//! Record number n of a client has the value `client:n`, so that whoever finds it anywhere knows whose
//! it is.

use crate::trace::NodeId;

/// The value of a client's record, filled up to so many bytes.
pub(super) fn value(client: NodeId, number: u64, bytes: usize) -> Vec<u8> {
    let mut value = format!("{client}:{number}").into_bytes();
    value.resize(value.len().max(bytes), b' ');
    value
}

/// Whose record it is, and its number; `None` for a value that no producer of a world writes.
pub fn read_value(value: &[u8]) -> Option<(NodeId, u64)> {
    let text = std::str::from_utf8(value).ok()?.trim_end();
    let (client, number) = text.split_once(':')?;
    Some((client.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_tells_whose_it_is() {
        assert_eq!(read_value(&value(101, 7, 0)), Some((101, 7)));
        assert_eq!(read_value(&value(101, 7, 40)), Some((101, 7)));
        assert_eq!(value(101, 7, 40).len(), 40);
        assert_eq!(read_value(b"something else"), None);
    }
}
