//! What command line tools print, in a form that can be compared: Apache Kafka's and ours, of this broker
//! and of another.

/// What was said, without stack traces and without who says it.
pub fn in_few_words(said: &str) -> Vec<String> {
    let repeats = |line: &&str| {
        line.starts_with("\tSuppressed: ")
            || line.starts_with("Error while executing config command with args ")
    };
    let lines = said.lines().filter(|line| !repeats(line));
    let lines = lines.filter_map(|line| comparable(line, "BOOTSTRAP"));
    let mut lines: Vec<String> = lines.map(|line| without_speaker(&line)).collect();
    lines.dedup();
    lines
}

/// The message alone: ours come without the names of Java's exceptions.
fn without_speaker(line: &str) -> String {
    const SPEAKERS: [&str; 6] = [
        "highwater: ",
        "Executing consumer group command failed due to ",
        "Error while executing topic command : ",
        "Error occurred: ",
        "Error: ",
        "Caused by: ",
    ];
    let mut rest = without_exceptions(line.trim_end());
    while let Some(said) = SPEAKERS.iter().find_map(|speaker| rest.strip_prefix(speaker)) {
        rest = said.to_owned();
    }
    rest
}

/// Leaves out each `package.NameException: `.
fn without_exceptions(line: &str) -> String {
    let is_name = |word: &str| word.contains('.') && word.ends_with("Exception:");
    let words: Vec<&str> = line.split(' ').filter(|word| !is_name(word)).collect();
    words.join(" ")
}

/// The line without what differs from run to run. `None` for an empty line, one of a stack
/// trace, and one that a tool logs.
pub fn comparable(line: &str, bootstrap: &str) -> Option<String> {
    // What a new KRaft cluster sets for all its brokers: see the page of differences.
    const SET_BY_KRAFT: &str = "DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1";
    let is_of_stack = line.starts_with("\tat ") || line.starts_with("\t... ");
    let is_logged = line.contains("] ERROR org.apache.kafka.");
    if line.is_empty() || is_of_stack || is_logged || line.ends_with(&format!("={{{SET_BY_KRAFT}}}")) {
        return None;
    }
    let (host, port) = bootstrap.split_once(':').unwrap_or((bootstrap, ""));
    let mut line = line.replace(bootstrap, "BOOTSTRAP");
    line = line.replace(&format!("{host} {port} "), "HOST PORT ");
    line = masked(&line, "TopicId: ", |c| !c.is_whitespace());
    line = masked(&line, " records sent, ", |_| true);
    line = line.replace(&format!("{SET_BY_KRAFT}, "), "");
    line = line.replace("Configs: min.insync.replicas=1,", "Configs: ");
    let gap = if line.starts_with("$ ") { "\n" } else { "" };
    Some(format!("{gap}{line}\n"))
}

/// The line with `*` for what follows the words, as long as it is `part` of the value.
fn masked(line: &str, words: &str, part: impl Fn(char) -> bool) -> String {
    match line.split_once(words) {
        None => line.to_owned(),
        Some((before, value)) => format!("{before}{words}*{}", value.trim_start_matches(part)),
    }
}
