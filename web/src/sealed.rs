//! The form that links have: `name=value` between `&`, and last a checksum over all before it.

use highwater_core::record::crc::crc32c;

/// The text with its checksum.
pub fn seal(text: &str) -> String {
    let sum = crc32c(text.as_bytes());
    format!("{text}&sum={sum:08x}")
}

/// The first part of that name in a text, sealed or not.
pub fn part<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = text.split('&').filter_map(|part| part.split_once('='));
    parts.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The parts of a link whose checksum fits.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a>(&'a str);

impl<'a> Parts<'a> {
    /// `Err` says what is wrong with the link.
    pub fn open(text: &'a str) -> Result<Self, String> {
        let (body, sum) = text.rsplit_once("&sum=").ok_or("it has no checksum")?;
        if format!("{:08x}", crc32c(body.as_bytes())) != sum {
            return Err("its checksum does not fit, a part is missing or changed".to_owned());
        }
        Ok(Self(body))
    }

    pub fn find(self, name: &str) -> Option<&'a str> {
        part(self.0, name)
    }

    pub fn get(self, name: &str) -> Result<&'a str, String> {
        self.find(name).ok_or_else(|| format!("it has no `{name}`"))
    }
}

/// Every cut and every changed letter of the link is refused.
#[cfg(test)]
pub fn assert_damage_is_noticed<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) {
    for at in 0..text.len() {
        assert!(read(&text[..at]).is_err(), "cut at {at}");
        let mut changed = text.to_owned().into_bytes();
        changed[at] ^= 1;
        let changed = String::from_utf8(changed).unwrap();
        assert!(read(&changed).is_err(), "changed at {at}");
    }
}
