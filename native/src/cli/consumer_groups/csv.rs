//! Offsets as lines of text, for `--export` and `--from-file`: `topic,partition,offset`, or with more
//! groups than one `group,topic,partition,offset`.

use std::collections::BTreeMap;

use highwater_core::types::TopicPartition;

use crate::cli::Failure;

/// The new offsets of each group.
pub type Plan = BTreeMap<String, BTreeMap<TopicPartition, i64>>;

/// The plan as text, a line an offset. `with_group`: there may be more than one group.
pub fn write(plan: &Plan, with_group: bool) -> String {
    let mut text = String::new();
    for (group, offsets) in plan {
        for (partition, offset) in offsets {
            if with_group {
                text += &format!("{},", quoted(group));
            }
            text += &format!("{},{},{offset}\n", quoted(&partition.topic), partition.partition);
        }
    }
    text
}

/// Reads the text of `file`. Lines without a group are of the only one that is asked for.
pub fn read(file: &str, text: &str, only_group: Option<&str>) -> Result<Plan, Failure> {
    let mut plan = Plan::new();
    let mut without_group = None;
    for (number, line) in (1..).zip(text.lines()) {
        let bad = || {
            let form = match only_group {
                Some(_) => "topic,partition,offset",
                None => "group,topic,partition,offset",
            };
            format!("{file} line {number}: '{line}' does not read {form}")
        };
        let fields = fields(line).ok_or_else(bad)?;
        let is_short = fields.len() == 3 && only_group.is_some();
        // The first line decides for all.
        let short = *without_group.get_or_insert(is_short);
        let (group, rest) = match (only_group, fields.split_first()) {
            (Some(group), _) if short => (group, fields.as_slice()),
            (_, Some((group, rest))) => (group.as_str(), rest),
            _ => return Err(bad().into()),
        };
        let [topic, index, offset] = rest else {
            return Err(bad().into());
        };
        let index = index.trim().parse().map_err(|_| bad())?;
        let offset = offset.trim().parse().map_err(|_| bad())?;
        let of_group = plan.entry(group.to_owned()).or_default();
        of_group.insert(TopicPartition::new(topic.as_str(), index), offset);
    }
    Ok(plan)
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// `None`: a quote is open, or something follows one that was closed.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => read_quoted(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => return after.is_empty().then_some(fields),
        }
    }
}

/// A field whose quote is open, and what follows it.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        field += before;
        match after.strip_prefix('"') {
            Some(more) => {
                field.push('"');
                rest = more;
            }
            None => return Some((field, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rows: &[(&str, &str, i32, i64)]) -> Plan {
        let mut plan = Plan::new();
        for (group, topic, index, offset) in rows {
            let of_group = plan.entry((*group).to_owned()).or_default();
            of_group.insert(TopicPartition::new(*topic, *index), *offset);
        }
        plan
    }

    #[test]
    fn what_is_written_is_read() {
        let one = plan(&[("g", "t", 0, 5), ("g", "t", 1, 7)]);
        assert_eq!(write(&one, false), "t,0,5\nt,1,7\n");
        assert_eq!(read("f", "t,0,5\nt,1,7\n", Some("g")).unwrap(), one);
        let two = plan(&[("g", "t", 0, 5), ("a,\"b\"", "t", 1, 7)]);
        let text = "\"a,\"\"b\"\"\",t,1,7\ng,t,0,5\n";
        assert_eq!(write(&two, true), text);
        assert_eq!(read("f", text, None).unwrap(), two);
        assert_eq!(
            read("f", text, Some("g")).unwrap(),
            two,
            "the group is named all the same"
        );
    }

    #[test]
    fn a_bad_line_is_named() {
        for text in [
            "t,0",
            "t,0,x",
            "t,x,0",
            "t,0,1,2,3",
            "\"t,0,1",
            "",
            "t,0,1\ng,t,0,1",
        ] {
            let read = read("f", &format!("{text}\n"), Some("g"));
            let line = read.unwrap_err().to_string();
            assert!(
                line.starts_with("f line ") && line.ends_with("does not read topic,partition,offset"),
                "{line}"
            );
        }
        assert!(read("f", "t,0,1\n", None).is_err(), "nobody says of which group");
    }
}
