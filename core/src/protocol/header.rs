//! What stands before every body.
//!
//! A request's header names the API and its version, and carries a number that the answer repeats.
//! Version 1 adds the client's id, version 2 (flexible APIs) tagged fields; version 0 is that of
//! Kafka's very first requests, of which ControlledShutdown version 0 is left. An answer's header
//! is the number alone (version 0) or with tagged fields (version 1). The client id keeps its old
//! spelling in version 2, so that a broker can read it without knowing the version.
//!
//! Invariant: the answer to ApiVersions always has header version 0. A client that asks for a
//! version its broker does not have must be able to read the refusal.

use bytes::Bytes;
use kafka_wire_core::StrBytes;

use super::api::ApiKey;
use super::primitives::{Reader, Writer};
use crate::error::Malformed;

/// The header of a request, in any version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    pub api: ApiKey,
    pub version: i16,
    pub correlation_id: i32,
    /// Who asks, in the client's own words (`client.id`); null is allowed.
    pub client_id: Option<StrBytes>,
}

impl RequestHeader {
    /// Reads a header and answers the reader of the body behind it. An API or a version that is not
    /// served is an error, before anything else is; but not for ApiVersions, whose client must be
    /// told: of such a header only the first three fields are sure to be there.
    pub fn decode(frame: Bytes) -> Result<(Self, Reader), Malformed> {
        let mut reader = Reader::new(frame, false);
        let code = reader.i16("API key")?;
        let version = reader.i16("API version")?;
        let api = ApiKey::from_code(code).ok_or(Malformed::UnknownApi(code))?;
        let name = api.name();
        let served = api.served().ok_or(Malformed::UnsupportedApi { api: name })?;
        let to_be_told = api == ApiKey::ApiVersions && !served.has(version);
        if !served.has(version) && !to_be_told {
            return Err(served.lacks(version));
        }
        let mut header = Self {
            api,
            version,
            correlation_id: reader.i32("correlation id")?,
            client_id: None,
        };
        match header.decode_client(&mut reader) {
            Err(error) if !to_be_told => Err(error),
            _ => Ok((header, reader)),
        }
    }

    fn decode_client(&mut self, reader: &mut Reader) -> Result<(), Malformed> {
        if self.has_client() {
            self.client_id = reader.nullable_string("client id")?;
        }
        reader.set_flexible(self.api.is_flexible(self.version));
        reader.skip_tagged_fields()
    }

    /// All but the one request that still has header version 0.
    fn has_client(&self) -> bool {
        (self.api, self.version) != (ApiKey::ControlledShutdown, 0)
    }

    /// Writes the header; the writer is then set to the body's spelling.
    pub fn encode(&self, writer: &mut Writer) {
        writer.set_flexible(false);
        writer.i16(self.api.code());
        writer.i16(self.version);
        writer.i32(self.correlation_id);
        if self.has_client() {
            writer.nullable_string("client id", self.client_id.as_deref());
        }
        writer.set_flexible(self.api.is_flexible(self.version));
        writer.tagged_fields(&[]);
    }
}

/// Whether an answer's header has tagged fields (version 1).
fn response_header_is_flexible(api: ApiKey, version: i16) -> bool {
    api != ApiKey::ApiVersions && api.is_flexible(version)
}

/// Reads an answer's header: its correlation id and the reader of the body behind it.
pub fn decode_response_header(frame: Bytes, api: ApiKey, version: i16) -> Result<(i32, Reader), Malformed> {
    let mut reader = Reader::new(frame, response_header_is_flexible(api, version));
    let correlation_id = reader.i32("correlation id")?;
    reader.skip_tagged_fields()?;
    reader.set_flexible(api.is_flexible(version));
    Ok((correlation_id, reader))
}

/// Writes an answer's header; the writer is then set to the body's spelling.
pub fn encode_response_header(writer: &mut Writer, api: ApiKey, version: i16, correlation_id: i32) {
    writer.set_flexible(response_header_is_flexible(api, version));
    writer.i32(correlation_id);
    writer.tagged_fields(&[]);
    writer.set_flexible(api.is_flexible(version));
}
