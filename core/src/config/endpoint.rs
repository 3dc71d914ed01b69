//! Listener addresses: `NAME://HOST:PORT`.

use std::fmt;

use super::key::BadValue;

/// One address of `listeners` or `advertised.listeners`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name, upper case: `PLAINTEXT` unless named otherwise.
    pub name: String,
    /// Empty: every interface. An IPv6 address stands without its brackets.
    pub host: String,
    /// 0: any free port.
    pub port: u16,
}

impl Endpoint {
    /// Whether it is good for listening only: no client can connect to "every interface".
    pub fn is_wildcard(&self) -> bool {
        matches!(self.host.as_str(), "" | "0.0.0.0" | "::" | "0:0:0:0:0:0:0:0")
    }

    /// Reads `NAME://HOST:PORT`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, address) = text.trim().split_once("://")?;
        let (host, port) = address.rsplit_once(':')?;
        let host = host
            .strip_prefix('[')
            .and_then(|h| h.strip_suffix(']'))
            .unwrap_or(host);
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
        let is_host = host.chars().all(|c| c.is_alphanumeric() || "-._:%".contains(c));
        (is_name && is_host).then_some(())?;
        Some(Self {
            name: name.to_ascii_uppercase(),
            host: host.to_owned(),
            port: port.parse().ok()?,
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, host, port } = self;
        if host.contains(':') {
            write!(f, "{name}://[{host}]:{port}")
        } else {
            write!(f, "{name}://{host}:{port}")
        }
    }
}

/// Reads a list of addresses. Names are unique; each must map to the PLAINTEXT protocol by `protocols`
/// (`listener.security.protocol.map`) or be called so.
pub(super) fn parse_all(key: &str, text: &str, protocols: &str) -> Result<Vec<Endpoint>, BadValue> {
    let bad = |value: &str, why: &str| BadValue {
        key: key.to_owned(),
        value: value.to_owned(),
        why: why.to_owned(),
    };
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let endpoint = Endpoint::parse(part).ok_or_else(|| bad(part, "An address reads NAME://HOST:PORT"))?;
        match protocol_of(&endpoint.name, protocols) {
            Some("PLAINTEXT") => {}
            Some(_) => return Err(bad(part, "Only the security protocol PLAINTEXT is served")),
            None => return Err(bad(part, "Its name is missing in listener.security.protocol.map")),
        }
        if endpoints.iter().any(|other| other.name == endpoint.name) {
            return Err(bad(part, "Each listener must have a different name"));
        }
        endpoints.push(endpoint);
    }
    if endpoints.is_empty() {
        return Err(bad(text, "At least one address is needed"));
    }
    Ok(endpoints)
}

fn protocol_of<'a>(name: &str, protocols: &'a str) -> Option<&'a str> {
    protocols
        .split(',')
        .filter_map(|entry| entry.split_once(':'))
        .find(|(listener, _)| listener.trim().eq_ignore_ascii_case(name))
        .map(|(_, protocol)| protocol.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT_MAP: &str = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT";

    #[test]
    fn addresses_read_and_refused() {
        let map = "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT";
        let both = parse_all("listeners", "PLAINTEXT://:9092, inside://[::1]:9093", map).unwrap();
        assert_eq!(
            both[0],
            Endpoint {
                name: "PLAINTEXT".into(),
                host: String::new(),
                port: 9092
            }
        );
        assert_eq!(
            both[1],
            Endpoint {
                name: "INSIDE".into(),
                host: "::1".into(),
                port: 9093
            }
        );
        for text in [
            "",
            "9092",
            "PLAINTEXT://x",
            "PLAINTEXT://x:70000",
            "SSL://x:1",
            "OTHER://x:1",
            "PLAINTEXT://a b:1",
            "PLAINTEXT://x:1,PLAINTEXT://x:2",
        ] {
            assert!(parse_all("listeners", text, DEFAULT_MAP).is_err(), "{text}");
        }
    }
}
