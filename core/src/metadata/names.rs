//! Which names a topic may have (`org.apache.kafka.common.internals.Topic`).

/// Longest name: with a partition number and a suffix it must still be a file name.
const MAX_NAME_LENGTH: usize = 249;

/// What is wrong with the name, in Kafka's words; such a name could leave the log directory, or would
/// not fit a metric's name.
pub fn validate_topic_name(name: &str) -> Result<(), String> {
    let is_legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let why = match name {
        "" => "the empty string is not allowed".to_owned(),
        "." | ".." => format!("'{name}' is not allowed"),
        _ if name.encode_utf16().count() > MAX_NAME_LENGTH => {
            format!("the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}")
        }
        _ if !name.bytes().all(is_legal) => {
            format!(
                "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
            )
        }
        _ => return Ok(()),
    };
    Err(format!("Topic name is invalid: {why}"))
}

/// Names with the same key collide: a metric's name cannot tell '.' from '_'.
pub fn collision_key(name: &str) -> String {
    name.replace('.', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_kafka_judges_them() {
        for name in ["a", "A-b_c.d", "...", &"x".repeat(249)] {
            assert_eq!(validate_topic_name(name), Ok(()), "{name}");
        }
        let cases = [
            ("", "Topic name is invalid: the empty string is not allowed"),
            ("..", "Topic name is invalid: '..' is not allowed"),
            (
                "../etc",
                "Topic name is invalid: '../etc' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
            ),
        ];
        for (name, why) in cases {
            assert_eq!(validate_topic_name(name), Err(why.to_owned()));
        }
        for name in ["a b", "ü", "a/b", "a\0", &"x".repeat(250)] {
            assert!(validate_topic_name(name).is_err(), "{name}");
        }
        assert_eq!(collision_key("a.b"), collision_key("a_b"));
    }
}
