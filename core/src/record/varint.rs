//! Variable-length integers: seven bits a byte, lowest first, the high bit says "more follows".
//!
//! Records use the signed kind: zigzag first (0, -1, 1, -2 become 0, 1, 2, 3), so that small numbers
//! of either sign are short. A varint has at most 5 bytes, a varlong at most 10 (Kafka's `ByteUtils`).

/// Reads a zigzag varint at `*at` and moves past it. `None`: it ends early or has more than 5 bytes.
#[inline]
pub fn read_varint(bytes: &[u8], at: &mut usize) -> Option<i32> {
    // Lengths below 64 and small deltas are one byte: nearly all numbers in a batch.
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(unzigzag(u32::from(first)));
    }
    read_long_varint(bytes, at)
}

fn read_long_varint(bytes: &[u8], at: &mut usize) -> Option<i32> {
    let mut value = 0u32;
    for (i, &byte) in bytes.get(*at..)?.iter().take(5).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *at += i + 1;
            return Some(unzigzag(value));
        }
    }
    None
}

/// Reads a zigzag varlong at `*at` and moves past it. `None`: it ends early or has more than 10 bytes.
#[inline]
pub fn read_varlong(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(unzigzag_long(u64::from(first)));
    }
    let mut value = 0u64;
    for (i, &byte) in bytes.get(*at..)?.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *at += i + 1;
            return Some(unzigzag_long(value));
        }
    }
    None
}

pub fn write_varint(out: &mut Vec<u8>, value: i32) {
    write_varlong(out, i64::from(value));
}

pub fn write_varlong(out: &mut Vec<u8>, value: i64) {
    let mut rest = zigzag_long(value);
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Bytes that [`write_varint`] or [`write_varlong`] writes for `value`.
pub fn size_of_varlong(value: i64) -> usize {
    let bits = 64 - (zigzag_long(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

fn unzigzag(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

fn unzigzag_long(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn zigzag_long(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_encodings() {
        for (value, bytes) in [
            (0, &[0u8][..]),
            (-1, &[1]),
            (1, &[2]),
            (63, &[0x7e]),
            (-64, &[0x7f]),
            (64, &[0x80, 1]),
            (i32::MAX, &[0xfe, 0xff, 0xff, 0xff, 0x0f]),
            (i32::MIN, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut out = Vec::new();
            write_varint(&mut out, value);
            assert_eq!(out, bytes, "{value}");
            let mut at = 0;
            assert_eq!(read_varint(&out, &mut at), Some(value));
            assert_eq!(at, out.len());
        }
    }

    #[test]
    fn long_values_and_sizes_agree() {
        for shift in 0..64 {
            for value in [1i64 << shift, -(1i64 << (shift % 63)), (1i64 << (shift % 63)) - 1] {
                let mut out = Vec::new();
                write_varlong(&mut out, value);
                assert_eq!(out.len(), size_of_varlong(value), "{value}");
                let mut at = 0;
                assert_eq!(read_varlong(&out, &mut at), Some(value));
                assert_eq!(at, out.len());
            }
        }
    }

    #[test]
    fn too_long_or_cut_short_is_none() {
        assert_eq!(read_varint(&[0xff; 5], &mut 0), None);
        assert_eq!(read_varint(&[0x80, 0x80, 0x80, 0x80, 0x80, 0], &mut 0), None);
        assert_eq!(read_varint(&[0x80], &mut 0), None);
        assert_eq!(read_varint(&[], &mut 0), None);
        assert_eq!(read_varlong(&[0xff; 10], &mut 0), None);
        assert_eq!(read_varlong(&[0x80, 0x80], &mut 0), None);
        assert_eq!(read_varlong(&[1], &mut 1), None);
    }
}
