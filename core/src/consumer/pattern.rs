//! Topics by pattern: a regular expression that must match a whole name, as Java's
//! `Pattern.matcher(name).matches()`.
//!
//! The engine takes time linear in the name whatever the pattern is; so it has no look-around and no
//! back references, which Java has.

use regex_lite::Regex;

use super::error::ConsumerError;
use crate::full::OnlyInFull;

#[derive(Clone, Debug)]
pub struct TopicPattern {
    text: String,
    whole: Regex,
    _only_in_full: OnlyInFull,
}

impl TopicPattern {
    /// # Errors
    /// It is no regular expression, or the build has no groups, whose members alone subscribe.
    pub fn new(text: &str) -> Result<Self, ConsumerError> {
        let refused = |why: String| ConsumerError::InvalidPattern {
            pattern: text.to_owned(),
            why,
        };
        let Some(only_in_full) = OnlyInFull::get() else {
            return Err(refused("this build has no groups".to_owned()));
        };
        if text.is_empty() {
            return Err(refused("it is empty".to_owned()));
        }
        // Alone first: a pattern with a stray bracket must not become sound by what is put around it.
        Regex::new(text).map_err(|error| refused(error.to_string()))?;
        let whole = Regex::new(&format!("^(?:{text})$")).map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            text: text.to_owned(),
            whole,
            _only_in_full: only_in_full,
        })
    }

    pub fn matches(&self, topic: &str) -> bool {
        self.whole.is_match(topic)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        let pattern = TopicPattern::new("orders|pay.*").unwrap();
        for (topic, expected) in [
            ("orders", true),
            ("orders2", false),
            ("payments", true),
            ("repay", false),
            ("pay", true),
        ] {
            assert_eq!(pattern.matches(topic), expected, "{topic}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_said_in_one_line() {
        for wrong in ["", "(", "a)(b", "[", "*", "a(?=b)", r"(a)\1"] {
            let line = TopicPattern::new(wrong).unwrap_err().to_string();
            assert!(
                line.contains(&format!("'{wrong}'")) && !line.contains('\n'),
                "{line}"
            );
        }
    }
}
