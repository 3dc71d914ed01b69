//! Settings of clients as the tools take them: a file of properties, and over it `key=value` pairs.

use highwater_core::config::{Settings, properties};

use super::Failure;
use crate::output::complain;

/// What stands in the file, if one is named, and over it the pairs, the last one counting.
pub fn settings(file: Option<&str>, pairs: &[String]) -> Result<Settings, Failure> {
    let mut settings = match file {
        Some(file) => load(file)?,
        None => Settings::new(),
    };
    settings.extend(pairs.iter().map(|pair| key_and_value(pair)));
    Ok(settings)
}

fn load(file: &str) -> Result<Settings, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let lines = properties::parse(&text).map_err(|line| format!("{file} line {line}: a malformed escape"))?;
    let pairs = lines.into_iter().map(|property| (property.key, property.value));
    Ok(pairs.collect())
}

/// `key=value`; without `=` the value is empty, as Kafka's tools read it.
fn key_and_value(pair: &str) -> (String, String) {
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    (key.to_owned(), value.to_owned())
}

/// Says which settings nobody knows: most often a key was mistyped.
pub fn tell_unknown(unused: &[String]) {
    for key in unused {
        complain!("highwater: unknown setting '{key}' is ignored");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_count_more_than_the_file_and_later_ones_more_than_earlier() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a = 1\n# no\nb: 2\n").unwrap();
        let pairs = ["b=3", "c", "d=x=y", "b=4"].map(str::to_owned);
        let read = settings(file.path().to_str(), &pairs).unwrap();
        let expected = [("a", "1"), ("b", "4"), ("c", ""), ("d", "x=y")];
        assert_eq!(read, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        let error = settings(Some("no/such.properties"), &[]).unwrap_err();
        assert!(error.to_string().starts_with("cannot read no/such.properties: "));
    }
}
