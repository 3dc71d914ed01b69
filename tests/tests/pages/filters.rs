//! What is another each time a command is run, and is not compared: named, so that a page says which it needs.

/// The lines with what the filters take out replaced by the filters' names.
pub fn filtered(lines: &[String], names: &[String]) -> Vec<String> {
    let filter = |line: &String| names.iter().fold(line.clone(), |line, name| filter(name)(&line));
    lines.iter().map(filter).collect()
}

fn filter(name: &str) -> fn(&str) -> String {
    match name {
        "numbers" => numbers,
        "ids" => ids,
        "spaces" => spaces,
        other => panic!("there is no filter `{other}`: there are numbers, ids and spaces"),
    }
}

/// Runs of digits, with what may stand within a number: times, sizes, rates.
fn numbers(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_ascii_digit() {
            out.push(letter);
            continue;
        }
        out.push('N');
        while letters
            .next_if(|next| next.is_ascii_digit() || ".:".contains(*next))
            .is_some()
        {}
    }
    out
}

/// Words of 22 letters, as ids of topics and clusters are written, and of the five groups of a UUID.
fn ids(line: &str) -> String {
    let is_id = |word: &str| {
        let of_topic = word.len() == 22
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        let groups: Vec<usize> = word.split('-').map(str::len).collect();
        let is_uuid = groups.ends_with(&[4, 4, 4, 12]) && word.contains(|c: char| c.is_ascii_digit());
        of_topic || is_uuid
    };
    let words = line.split_inclusive([' ', '\t', ',']);
    let words = words.map(|word| {
        let plain = word.trim_end_matches([' ', '\t', ',']);
        if is_id(plain) {
            format!("ID{}", &word[plain.len()..])
        } else {
            word.to_owned()
        }
    });
    words.collect()
}

/// The width of columns.
fn spaces(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_filter_takes_out_its_own() {
    assert_eq!(numbers("at 12:30, 1.5 MB of x7"), "at N, N MB of xN");
    assert_eq!(ids("TopicId: MkU3OEVBNTcwNTJENDM2Qg x"), "TopicId: ID x");
    assert_eq!(spaces("a   b\t c "), "a b c");
}
