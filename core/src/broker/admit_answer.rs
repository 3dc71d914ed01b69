//! Admission of answers: what a host does with another broker's answer before the owner sees it.
//!
//! As with requests ([`admit`](super::admit())), decoding needs nothing of the broker, so it happens
//! on the connection's side.

use bytes::Bytes;

use crate::error::Malformed;
use crate::protocol::{ApiKey, ResponseBody, decode_response};

/// What a request was sent as, which its answer does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAs {
    pub api: ApiKey,
    pub version: i16,
}

/// An answer, decoded.
#[derive(Clone, Debug)]
pub struct AdmittedAnswer {
    pub correlation_id: i32,
    pub body: ResponseBody,
}

/// Decodes an answer's frame (without its length prefix). An error means that the connection must be
/// closed, and that the request's fate is not known.
pub fn admit_answer(frame: &Bytes, sent: SentAs) -> Result<AdmittedAnswer, Malformed> {
    let response = decode_response(sent.api, sent.version, frame.clone())?;
    Ok(AdmittedAnswer {
        correlation_id: response.correlation_id,
        body: response.body,
    })
}
