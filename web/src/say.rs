//! Numbers and times, for people.

use highwater_core::sim::host::EPOCH_MS;
use highwater_core::types::Millis;

/// `12345` as `12,345`.
pub fn number(value: impl TryInto<i128>) -> String {
    let value = value.try_into().unwrap_or_default();
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

/// A count with its noun: `1 batch`, `2 batches`.
pub fn count(many: usize, noun: &str) -> String {
    let nouns = match (many, noun.strip_suffix("entry")) {
        (1, _) => noun.to_owned(),
        (_, Some(kind)) => format!("{kind}entries"),
        (_, None) if noun.ends_with("ch") => format!("{noun}es"),
        (_, None) => format!("{noun}s"),
    };
    format!("{} {nouns}", number(many as i128))
}

/// A point in time by the run's clock, which begins at 0: `12.500 s`.
pub fn time(at_ms: Millis) -> String {
    let since = at_ms - EPOCH_MS;
    format!("{}.{:03} s", since.div_euclid(1000), since.rem_euclid(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(12_345_678), "12,345,678");
        assert_eq!(number(-1234), "-1,234");
        assert_eq!(count(1, "batch"), "1 batch");
        assert_eq!(count(2, "batch"), "2 batches");
        assert_eq!(count(1200, "index entry"), "1,200 index entries");
    }

    #[test]
    fn times_count_from_the_start() {
        assert_eq!(time(EPOCH_MS), "0.000 s");
        assert_eq!(time(EPOCH_MS + 12_034), "12.034 s");
    }
}
