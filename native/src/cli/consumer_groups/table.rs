//! Columns of text, filled up with blanks as Java's `%-15s` does.

/// What stands for a value that is not there.
pub const MISSING: &str = "-";

/// How many characters, as Java counts them.
pub fn width(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The text and blanks behind it up to the width.
pub fn pad(text: &str, to: usize) -> String {
    let blanks = to.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// The width of a column: of its longest text, and at least so much.
pub fn widest<'a>(texts: impl Iterator<Item = &'a str>, at_least: usize) -> usize {
    texts.map(width).max().unwrap_or(0).max(at_least)
}

/// One line: each text filled up to its width, the last as it is.
pub fn line(cells: &[(&str, usize)], last: &str) -> String {
    let cells: Vec<String> = cells.iter().map(|(text, to)| pad(text, *to)).collect();
    format!("{} {last}", cells.join(" "))
}

/// A number, or what stands for none.
pub fn number(number: Option<i64>) -> String {
    number.map_or_else(|| MISSING.to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_filled_up_and_never_cut() {
        assert_eq!(line(&[("a", 3), ("long", 2), ("ü", 2)], "end"), "a   long ü  end");
        assert_eq!(widest(["a", "abc"].into_iter(), 2), 3);
        assert_eq!(widest([].into_iter(), 2), 2);
    }
}
