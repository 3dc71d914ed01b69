//! A record from a line of text (Kafka's `LineMessageReader`): the value alone, or with key and headers
//! before it, each with a separator behind.

use bytes::Bytes;
use highwater_core::config::Settings;
use highwater_core::producer::{Data, ProducerRecord};
use regex::Regex;

use crate::cli::Failure;

/// What a line is read by.
#[derive(Debug)]
pub struct LineReader {
    topic: String,
    parse_key: bool,
    key_separator: String,
    parse_headers: bool,
    headers_delimiter: String,
    headers_separator: Regex,
    headers_key_separator: String,
    ignore_error: bool,
    /// What stands for null.
    null_marker: Option<String>,
}

impl LineReader {
    /// By the settings of the reader.
    pub fn new(topic: &str, settings: &Settings) -> Result<Self, Failure> {
        let flag = |key: &str| {
            let text = settings.get(key).map_or("", String::as_str);
            text.trim().eq_ignore_ascii_case("true")
        };
        let text =
            |key: &str, otherwise: &str| settings.get(key).map_or(otherwise, String::as_str).to_owned();
        let headers_separator = text("headers.separator", ",");
        let reader = Self {
            topic: text("topic", topic),
            parse_key: flag("parse.key"),
            key_separator: text("key.separator", "\t"),
            parse_headers: flag("parse.headers"),
            headers_delimiter: text("headers.delimiter", "\t"),
            headers_separator: Regex::new(&headers_separator)
                .map_err(|_| format!("headers.separator: {headers_separator} is an invalid regex."))?,
            headers_key_separator: text("headers.key.separator", ":"),
            ignore_error: flag("ignore.error"),
            null_marker: settings.get("null.marker").cloned(),
        };
        reader.check(&headers_separator)?;
        Ok(reader)
    }

    /// What separates one thing may separate no other.
    fn check(&self, headers_separator: &str) -> Result<(), Failure> {
        let (delimiter, key_separator) = (&*self.headers_delimiter, &*self.headers_key_separator);
        let pairs = [
            (
                ("headers.delimiter", delimiter),
                ("headers.separator", headers_separator),
            ),
            (
                ("headers.delimiter", delimiter),
                ("headers.key.separator", key_separator),
            ),
            (
                ("headers.separator", headers_separator),
                ("headers.key.separator", key_separator),
            ),
        ];
        let marker = self.null_marker.as_deref();
        let with_marker = [
            ("key.separator", &*self.key_separator),
            ("headers.separator", headers_separator),
            ("headers.delimiter", delimiter),
            ("headers.key.separator", key_separator),
        ];
        let equal = pairs.iter().find(|(a, b)| a.1 == b.1).map(|(a, b)| (a.0, b.0));
        let marked = with_marker.iter().find(|(_, text)| marker == Some(*text));
        match equal.or(marked.map(|(key, _)| ("null.marker", *key))) {
            Some((one, other)) => Err(format!("{one} and {other} may not be equal").into()),
            None => Ok(()),
        }
    }

    /// The record that a line makes; lines are counted from 1.
    pub fn read(&self, line: &str, number: u64) -> Result<ProducerRecord, String> {
        let (headers, rest) = match self.parse_headers {
            true => self.split(line, line, &self.headers_delimiter, "headers delimiter", number)?,
            false => (None, line),
        };
        let (key, value) = match self.parse_key {
            true => self.split(line, rest, &self.key_separator, "key separator", number)?,
            false => (None, rest),
        };
        let mut record = ProducerRecord::new(self.topic.as_str(), self.data(Some(value)));
        record.key = self.data(key);
        if let Some(headers) = headers.filter(|headers| !self.is_null(headers)) {
            for pair in self.headers(headers) {
                let (key, value) = self.header(pair, number)?;
                record = record.header(key, value);
            }
        }
        Ok(record)
    }

    /// What stands before the separator, and what behind it.
    fn split<'a>(
        &self,
        line: &str,
        rest: &'a str,
        separator: &str,
        name: &str,
        number: u64,
    ) -> Result<(Option<&'a str>, &'a str), String> {
        match rest.split_once(separator) {
            Some((before, behind)) => Ok((Some(before), behind)),
            None if self.ignore_error => Ok((None, rest)),
            None => Err(format!("No {name} found on line number {number}: '{line}'")),
        }
    }

    /// The headers of a list; empty ones at its end are none, as with Java's `split`.
    fn headers<'a>(&self, list: &'a str) -> Vec<&'a str> {
        let mut pairs: Vec<&str> = self.headers_separator.split(list).collect();
        while pairs.len() > 1 && pairs.last() == Some(&"") {
            pairs.pop();
        }
        pairs
    }

    fn header(&self, pair: &str, number: u64) -> Result<(Bytes, Option<Bytes>), String> {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        match pair.split_once(&self.headers_key_separator) {
            Some((key, _)) if self.is_null(key) => Err(format!(
                "Header keys should not be equal to the null marker '{key}' as they can't be null"
            )),
            Some((key, value)) => Ok((bytes(key), (!self.is_null(value)).then(|| bytes(value)))),
            None if self.ignore_error => Ok((bytes(pair), None)),
            None => Err(format!(
                "No header key separator found in pair '{pair}' on line number {number}"
            )),
        }
    }

    fn is_null(&self, text: &str) -> bool {
        self.null_marker.as_deref() == Some(text)
    }

    fn data(&self, text: Option<&str>) -> Data {
        let text = text.filter(|text| !self.is_null(text));
        text.map_or(Data::Null, |text| {
            Data::Bytes(Bytes::copy_from_slice(text.as_bytes()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(settings: &[(&str, &str)]) -> Result<LineReader, String> {
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        LineReader::new("t", &settings.collect()).map_err(|failure| failure.to_string())
    }

    fn bytes(text: &'static str) -> Data {
        Data::Bytes(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn a_line_is_a_value_unless_it_is_told_otherwise() {
        let record = reader(&[]).unwrap().read("k\tv", 1).unwrap();
        assert_eq!((record.key, record.value), (Data::Null, bytes("k\tv")));
        let record = reader(&[("parse.key", "true")])
            .unwrap()
            .read("k\tv\tw", 1)
            .unwrap();
        assert_eq!((record.key, record.value), (bytes("k"), bytes("v\tw")));
    }

    #[test]
    fn headers_come_first_and_a_marker_stands_for_null() {
        let settings = [
            ("parse.key", "true"),
            ("parse.headers", "true"),
            ("null.marker", "NULL"),
        ];
        let reader = reader(&settings).unwrap();
        let line = reader.read("h:1,,i:2\tk\tv", 1).unwrap_err();
        assert_eq!(line, "No header key separator found in pair '' on line number 1");
        let record = reader.read("h:1,i:NULL,,\tNULL\tNULL", 1).unwrap();
        assert_eq!((record.key, record.value), (Data::Null, Data::Null));
        let headers: Vec<_> = record
            .headers
            .iter()
            .map(|h| (&h.key[..], h.value.as_deref()))
            .collect();
        assert_eq!(headers, [(&b"h"[..], Some(&b"1"[..])), (b"i", None)]);
        assert!(reader.read("NULL\tk\tv", 1).unwrap().headers.is_empty());
        let line = reader.read("NULL:1\tk\tv", 1).unwrap_err();
        assert!(
            line.starts_with("Header keys should not be equal to the null marker 'NULL'"),
            "{line}"
        );
    }

    #[test]
    fn a_line_without_a_separator_is_named() {
        let strict = reader(&[("parse.key", "true")]).unwrap();
        assert_eq!(
            strict.read("v", 7).unwrap_err(),
            "No key separator found on line number 7: 'v'"
        );
        let lenient = reader(&[("parse.key", "true"), ("ignore.error", "true")]).unwrap();
        let record = lenient.read("v", 7).unwrap();
        assert_eq!((record.key, record.value), (Data::Null, bytes("v")));
    }

    #[test]
    fn what_separates_one_thing_separates_no_other() {
        let line = reader(&[("headers.separator", "\t")]).unwrap_err();
        assert_eq!(line, "headers.delimiter and headers.separator may not be equal");
        let line = reader(&[("null.marker", ":")]).unwrap_err();
        assert_eq!(line, "null.marker and headers.key.separator may not be equal");
    }
}
