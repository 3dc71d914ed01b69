//! Reads the text of a `.properties` file by the rules of `java.util.Properties`.
//!
//! `key=value`, `key: value` and `key value` are the same; `#` and `!` begin a comment; a line that
//! ends in an odd number of backslashes goes on in the next, less that line's leading blanks; a
//! backslash before any character takes it as it is, but `\t \n \r \f` and `\uXXXX`.

/// One setting and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Line of its first character, from 1.
    pub line: u32,
    pub key: String,
    pub value: String,
}

/// Every setting in the order of the text; a key may come twice, the last one counts. The error is
/// the line of a broken `\u` escape.
pub fn parse(text: &str) -> Result<Vec<Property>, u32> {
    let mut properties = Vec::new();
    for (line, logical) in logical_lines(text) {
        let (key, value) = split(&logical);
        properties.push(Property {
            line,
            key: unescape(key).ok_or(line)?,
            value: unescape(value).ok_or(line)?,
        });
    }
    Ok(properties)
}

/// Lines with their continuations joined, comments and blank lines left out.
fn logical_lines(text: &str) -> Vec<(u32, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(u32, String)> = None;
    for (number, natural) in (1..).zip(text.replace("\r\n", "\n").split(['\n', '\r'])) {
        let natural = natural.trim_start_matches(BLANKS);
        let (first, mut logical) = match open.take() {
            Some(open) => open,
            None if natural.is_empty() || natural.starts_with(['#', '!']) => continue,
            None => (number, String::new()),
        };
        let backslashes = natural.len() - natural.trim_end_matches('\\').len();
        if backslashes % 2 == 1 {
            logical.push_str(&natural[..natural.len() - 1]);
            open = Some((first, logical));
        } else {
            logical.push_str(natural);
            lines.push((first, logical));
        }
    }
    lines.extend(open);
    lines.retain(|(_, logical)| !logical.is_empty());
    lines
}

const BLANKS: [char; 3] = [' ', '\t', '\x0c'];

/// The key ends at the first `=`, `:` or blank that no backslash protects.
fn split(logical: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = logical.find(|c: char| {
        let ends = !escaped && (c == '=' || c == ':' || BLANKS.contains(&c));
        escaped = c == '\\' && !escaped;
        ends
    });
    let (key, rest) = logical.split_at(end.unwrap_or(logical.len()));
    let rest = rest.trim_start_matches(BLANKS);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim_start_matches(BLANKS))
}

fn unescape(text: &str) -> Option<String> {
    let mut units = Vec::new();
    let mut chars = text.chars();
    let mut buffer = [0; 2];
    while let Some(c) = chars.next() {
        let c = match (c, if c == '\\' { chars.next() } else { None }) {
            (_, Some('t')) => '\t',
            (_, Some('n')) => '\n',
            (_, Some('r')) => '\r',
            (_, Some('f')) => '\x0c',
            (_, Some('u')) => {
                let digits = chars
                    .as_str()
                    .get(..4)
                    .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
                units.push(u16::from_str_radix(digits, 16).ok()?);
                chars = chars.as_str()[4..].chars();
                continue;
            }
            (_, Some(other)) => other,
            ('\\', None) => continue,
            (plain, None) => plain,
        };
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(u32, String, String)> {
        parse(text)
            .unwrap()
            .into_iter()
            .map(|p| (p.line, p.key, p.value))
            .collect()
    }

    #[test]
    fn every_way_to_write_a_setting() {
        let text = "# comment = no\n! nor this\n\n a=1\nb : 2\nc 3\nd\ne==5\nf = 6 \\\n   # still f\ng\\ h\\=i=j\\u0041\\tk\\\\\r\nl=\\\n";
        let expected = [
            (4, "a", "1"),
            (5, "b", "2"),
            (6, "c", "3"),
            (7, "d", ""),
            (8, "e", "=5"),
            (9, "f", "6 # still f"),
            (11, "g h=i", "jA\tk\\"),
            (12, "l", ""),
        ];
        assert_eq!(
            pairs(text),
            expected.map(|(n, k, v)| (n, k.to_owned(), v.to_owned()))
        );
    }

    #[test]
    fn a_broken_escape_names_its_line() {
        assert_eq!(parse("a=1\nb=\\u12"), Err(2));
        assert_eq!(parse("a=\\u00é0"), Err(1));
    }
}
