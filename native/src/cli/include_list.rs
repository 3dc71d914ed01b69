//! Which topics an option means: a regular expression that fits the whole name, with `,` read as `|`
//! (`TopicFilter.IncludeList`).
//!
//! It is no Java expression: one that looks around or back is refused.

use regex::Regex;

use super::Failure;

/// The topics that an option means.
#[derive(Debug)]
pub struct IncludeList {
    whole: Regex,
}

impl IncludeList {
    /// Reads what a user gave; quotes that came with it are dropped, and blanks anywhere.
    pub fn parse(given: &str) -> Result<Self, Failure> {
        let text = given.trim().replace(',', "|").replace(' ', "");
        let text = text.trim_matches(['"', '\'']);
        // By itself first: in parentheses ")(" would be an expression.
        let whole = Regex::new(text).and_then(|_| Regex::new(&format!(r"\A(?:{text})\z")));
        let whole = whole.map_err(|_| format!("{text} is an invalid regex."))?;
        Ok(Self { whole })
    }

    pub fn allows(&self, topic: &str) -> bool {
        self.whole.is_match(topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_fits_the_whole_name() {
        let allows = |list: &str, topic: &str| IncludeList::parse(list).unwrap().allows(topic);
        assert!(allows("a.*", "abc"));
        assert!(!allows("b", "abc"));
        assert!(
            allows("a|abc", "abc"),
            "the first that fits in part is not the end"
        );
        assert!(allows("x, abc", "abc"));
        assert!(allows("'a.c'", "abc"));
        assert!(!allows("", "abc"));
        for wrong in ["*", "a)(b", "[a", "(?=a)b"] {
            let error = IncludeList::parse(wrong).unwrap_err().to_string();
            assert!(error.ends_with("is an invalid regex."), "{error}");
        }
    }
}
