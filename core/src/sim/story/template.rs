//! Sentences with `{fields}`.

/// Puts values in the place of `{fields}`; `Err` names a field that has none.
pub fn fill(template: &str, field: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| "a brace is not closed".to_owned())?;
        text.push_str(&field(name).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// The fields that stand in a template.
pub fn fields(template: &str) -> impl Iterator<Item = &str> {
    let parts = template.split('{').skip(1);
    parts.filter_map(|part| part.split_once('}').map(|(field, _)| field))
}

/// The words of a template; a field belongs to the word that it stands in, blanks and all.
pub fn words(template: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut in_field = false;
    for c in template.chars() {
        match c {
            '{' => in_field = true,
            '}' => in_field = false,
            _ => {}
        }
        if c.is_whitespace() && !in_field {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A value as a sentence has it: `1,2,3` becomes `1, 2 and 3`.
pub fn in_prose(value: &str) -> String {
    let is_number = |part: &str| part.parse::<i64>().is_ok();
    match value.rsplit_once(',') {
        Some((before, last)) if value.split(',').all(is_number) => {
            format!("{} and {last}", before.replace(',', ", "))
        }
        _ => value.to_owned(),
    }
}

/// A count with what is counted: `1 record`, `3 records`.
pub fn counted(count: &str, noun: &str) -> String {
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_filled_or_named() {
        let field = |name: &str| (name == "a").then(|| "7".to_owned());
        assert_eq!(fill("x {a} y {a}", field), Ok("x 7 y 7".to_owned()));
        assert_eq!(fill("{b}", field), Err("b".to_owned()));
        assert!(fill("{a", field).is_err());
    }

    #[test]
    fn a_template_has_fields_and_words() {
        let template = "row:{leader t-0} has {count record} now";
        assert_eq!(
            fields(template).collect::<Vec<_>>(),
            ["leader t-0", "count record"]
        );
        assert_eq!(
            words(template),
            ["row:{leader t-0}", "has", "{count record}", "now"]
        );
    }

    #[test]
    fn lists_and_counts_read_well() {
        assert_eq!(in_prose("1,2,3"), "1, 2 and 3");
        assert_eq!(in_prose("1,2"), "1 and 2");
        assert_eq!(in_prose("a,b"), "a,b");
        assert_eq!(counted("1", "record"), "1 record");
        assert_eq!(counted("0", "record"), "0 records");
    }
}
