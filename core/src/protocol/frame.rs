//! The four bytes before every request and answer: how many bytes follow.
//!
//! They are the first thing that a stranger's bytes are taken for, so this is where a stranger is
//! told apart: the letters of an HTTP request or the first bytes of a TLS handshake, read as a
//! length, lie far above any sensible limit.

use thiserror::Error;

/// Bytes of the length itself.
pub const LENGTH_BYTES: usize = 4;
/// The shortest frame that can be a request: API key, version, correlation id.
pub const SHORTEST_REQUEST_BYTES: i32 = 8;
/// The shortest frame that can be an answer: the correlation id.
pub const SHORTEST_ANSWER_BYTES: i32 = 4;

/// A length that no request, or no answer, has; the connection is closed with this as its line. The text names
/// the likely cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadFrame {
    #[error("this is an HTTP request ({}), and this port speaks Kafka's protocol", ascii(.0))]
    Http([u8; 4]),
    #[error(
        "this is a TLS handshake, and this listener is PLAINTEXT: set security.protocol=PLAINTEXT in the client"
    )]
    Tls,
    #[error("this is SSH, and this port speaks Kafka's protocol")]
    Ssh,
    #[error("this is a PROXY protocol header, which this listener does not take: turn it off in the proxy")]
    Proxy,
    #[error(
        "a frame cannot have the negative length {0}: this is no Kafka client, or its stream is out of step"
    )]
    Negative(i32),
    #[error("a frame of {length} bytes is too short for a request: this is no Kafka client")]
    TooShort { length: i32 },
    #[error(
        "a frame of {length} bytes is larger than socket.request.max.bytes ({most}): \
         raise it, send smaller requests, or this is no Kafka client"
    )]
    TooLarge { length: i32, most: i32 },
    #[error("an answer cannot have {0} bytes: what listens there is no Kafka broker")]
    NoAnswer(i32),
}

fn ascii(bytes: &[u8; 4]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default().trim_end()
}

/// How many bytes follow the length `prefix`; `most` is `socket.request.max.bytes`.
pub fn request_length(prefix: [u8; LENGTH_BYTES], most: i32) -> Result<usize, BadFrame> {
    let length = i32::from_be_bytes(prefix);
    // Whatever the limit: no client sends 1195725856 bytes, which is what "GET " would be.
    if let Some(stranger) = guess(prefix) {
        return Err(stranger);
    }
    match length {
        _ if length < 0 => Err(BadFrame::Negative(length)),
        _ if length > most => Err(BadFrame::TooLarge { length, most }),
        _ if length < SHORTEST_REQUEST_BYTES => Err(BadFrame::TooShort { length }),
        _ => Ok(length as usize),
    }
}

/// How many bytes of an answer follow the length `prefix`, at most `most`.
pub fn answer_length(prefix: [u8; LENGTH_BYTES], most: i32) -> Result<usize, BadFrame> {
    let length = i32::from_be_bytes(prefix);
    if (SHORTEST_ANSWER_BYTES..=most).contains(&length) {
        Ok(length as usize)
    } else {
        Err(BadFrame::NoAnswer(length))
    }
}

/// Which other protocol begins like this.
fn guess(prefix: [u8; LENGTH_BYTES]) -> Option<BadFrame> {
    match &prefix {
        b"GET " | b"POST" | b"PUT " | b"HEAD" | b"DELE" | b"OPTI" | b"PATC" | b"CONN" | b"TRAC" | b"PRI " => {
            Some(BadFrame::Http(prefix))
        }
        // A TLS record of type handshake (22), version 3.x.
        [0x16, 0x03, 0..=4, _] => Some(BadFrame::Tls),
        b"SSH-" => Some(BadFrame::Ssh),
        b"PROX" => Some(BadFrame::Proxy),
        // Version 2 of the PROXY protocol begins with two line ends.
        b"\r\n\r\n" => Some(BadFrame::Proxy),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: i32 = 104_857_600;

    #[test]
    fn a_length_within_the_limit_passes() {
        assert_eq!(request_length([0, 0, 0, 8], MOST), Ok(8));
        assert_eq!(request_length(MOST.to_be_bytes(), MOST), Ok(MOST as usize));
    }

    #[test]
    fn an_answer_has_a_correlation_id_and_a_limit() {
        assert_eq!(answer_length([0, 0, 0, 4], MOST), Ok(4));
        assert_eq!(answer_length(MOST.to_be_bytes(), MOST), Ok(MOST as usize));
        for length in [-1, 0, 3, MOST + 1, i32::from_be_bytes(*b"HTTP")] {
            assert_eq!(
                answer_length(length.to_be_bytes(), MOST),
                Err(BadFrame::NoAnswer(length))
            );
        }
    }

    #[test]
    fn strangers_are_named() {
        let line = |prefix: &[u8; 4]| request_length(*prefix, MOST).unwrap_err().to_string();
        assert!(line(b"GET ").contains("HTTP request (GET)"));
        assert_eq!(request_length(*b"GET ", i32::MAX), Err(BadFrame::Http(*b"GET ")));
        assert!(line(b"POST").contains("HTTP request (POST)"));
        assert!(line(&[0x16, 3, 1, 2]).contains("TLS handshake"));
        assert!(line(b"SSH-").contains("SSH"));
        assert!(line(b"\r\n\r\n").contains("PROXY"));
        assert!(line(&[0xff; 4]).contains("negative length -1"));
        assert!(line(&[0x80, 0, 0, 0]).contains("negative length -2147483648"));
        assert!(
            line(&[0x7f, 0xff, 0xff, 0xff])
                .contains("2147483647 bytes is larger than socket.request.max.bytes")
        );
        assert!(line(&[0, 0, 0, 0]).contains("too short"));
        assert!(line(&[0, 0, 0, 7]).contains("too short"));
    }
}
