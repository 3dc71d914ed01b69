//! Numbers as Java's `%.2f` writes them.

/// So many digits after the point; what is no number in Java's words.
pub fn decimal(number: f64, digits: usize) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        let sign = if number < 0.0 { "-" } else { "" };
        format!("{sign}Infinity")
    } else {
        format!("{number:.digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_has_javas_name() {
        assert_eq!(decimal(2.0 / 3.0, 4), "0.6667");
        assert_eq!(decimal(f64::NAN, 1), "NaN");
        assert_eq!(decimal(-1.0 / 0.0, 1), "-Infinity");
    }
}
