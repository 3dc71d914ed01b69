//! Sends a request and tells its answer as text, without what differs from run to run.

use std::collections::BTreeMap;
use std::time::Duration;

use highwater_core::protocol::{RequestBody, ResponseBody, decode_response, encode_request};
use highwater_core::types::Uuid;
use highwater_tests::requests::topics;
use highwater_tests::wire::{WireClient, header};

/// Fields that are of one run, or of one machine.
const MASKED: [&str; 9] = [
    "broker_epoch",
    "cluster_id",
    "log_dir",
    "port",
    "producer_id",
    "session_id",
    "topic_id",
    "total_bytes",
    "usable_bytes",
];
/// COORDINATOR_LOAD_IN_PROGRESS and COORDINATOR_NOT_AVAILABLE.
const NOT_YET: [&str; 2] = ["error_code: 14", "error_code: 15"];
/// Kafka answers within this time, or never.
const PATIENCE: Duration = Duration::from_secs(5);

/// A client with one connection for each request, and the ids of the topics.
pub struct Asker {
    bootstrap: String,
    is_kafka: bool,
    ids: BTreeMap<String, Uuid>,
}

impl Asker {
    pub fn connect(bootstrap: &str, is_kafka: bool) -> Self {
        Self {
            bootstrap: bootstrap.to_owned(),
            is_kafka,
            ids: BTreeMap::new(),
        }
    }

    /// The id of a topic that was waited for.
    pub fn id(&self, topic: &str) -> Uuid {
        self.ids[topic]
    }

    /// Asks; the request's bytes and the answer.
    pub fn ask(&self, number: i32, version: i16, body: &RequestBody) -> (String, String) {
        let frame = encode_request(&header(body.api(), version, number), body);
        let frame = frame.expect("a request that can be encoded");
        let answer = loop {
            let answer = self.answer_to(version, body, &frame);
            // A broker that has just started cannot do all at once.
            if !NOT_YET.iter().any(|code| answer.contains(code)) {
                break answer;
            }
        };
        // The number depends on what is asked before.
        let hex: String = frame[12..].iter().map(|byte| format!("{byte:02x}")).collect();
        (self.without_ids(hex), answer)
    }

    fn answer_to(&self, version: i16, body: &RequestBody, frame: &[u8]) -> String {
        let mut client = WireClient::connect(&self.bootstrap);
        if self.is_kafka {
            client.wait_at_most(PATIENCE);
        }
        client.send_raw(frame);
        match client.try_read_frame() {
            Ok(answer) => {
                let answer =
                    decode_response(body.api(), version, answer).expect("an answer that can be read");
                told(&format!("{:?}", in_order(answer.body)))
            }
            Err(why) => why.to_owned(),
        }
    }

    fn without_ids(&self, mut hex: String) -> String {
        for (topic, id) in &self.ids {
            let id: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
            hex = hex.replace(&id, &format!("<id of {topic}>"));
        }
        hex
    }

    /// Waits until the broker knows these topics and no others: Kafka is told of them a moment later.
    pub fn wait_for(&mut self, wanted: &[&str]) {
        let mut client = WireClient::connect(&self.bootstrap);
        loop {
            let found = topics(&mut client);
            if found
                .iter()
                .filter(|(name, _)| wanted.contains(&name.as_str()))
                .count()
                == wanted.len()
            {
                self.ids = found.into_iter().collect();
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// The answer with settings by name: Kafka's come in the order of a hash map.
fn in_order(mut answer: ResponseBody) -> ResponseBody {
    match &mut answer {
        ResponseBody::DescribeConfigs(answer) => {
            let results = answer.results.iter_mut();
            results.for_each(|result| result.configs.sort_by(|a, b| a.name.cmp(&b.name)));
        }
        ResponseBody::CreateTopics(answer) => {
            let settings = answer
                .topics
                .iter_mut()
                .filter_map(|topic| topic.configs.as_mut());
            settings.for_each(|settings| settings.sort_by(|a, b| a.name.cmp(&b.name)));
        }
        _ => {}
    }
    answer
}

/// What the derived `Debug` says on one line, as lines: one field each, and masked.
fn told(debug: &str) -> String {
    let mut lines = Lines::default();
    let mut rest = debug;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(", unknown_tagged_fields: ") {
            rest = after_value(after);
            continue;
        }
        if let Some(after) = rest.strip_prefix("Uuid(") {
            let (id, after) = after.split_once(')').unwrap_or((after, ""));
            let is_zero = id.chars().all(|c| !c.is_ascii_hexdigit() || c == '0');
            lines
                .current
                .push_str(if is_zero { "Uuid(0)" } else { "Uuid(*)" });
            rest = after;
            continue;
        }
        let quoted = if next == '"' { quoted(rest) } else { 0 };
        if quoted > 0 {
            lines.current.push_str(&rest[..quoted]);
            rest = &rest[quoted..];
            continue;
        }
        match next {
            '[' | '{' if !rest[1..].starts_with([']', '}']) => lines.open(next),
            ']' | '}' if !lines.current.ends_with(['[', '{']) => lines.close(next),
            ',' => lines.end(),
            ' ' if lines.current.is_empty() => {}
            other => lines.current.push(other),
        }
        rest = &rest[next.len_utf8()..];
    }
    lines.end();
    lines.done.trim_end().to_owned()
}

/// Bytes of the quoted text that this begins with.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// What follows the value in braces that this begins with.
fn after_value(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' if depth == 0 => return &text[at..],
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => return &text[at..],
            _ => {}
        }
    }
    ""
}

/// Lines, each as far in as it is deep.
#[derive(Default)]
struct Lines {
    done: String,
    depth: usize,
    current: String,
}

impl Lines {
    fn open(&mut self, bracket: char) {
        self.current.push(bracket);
        self.end();
        self.depth += 1;
    }

    fn close(&mut self, bracket: char) {
        self.end();
        self.depth -= 1;
        self.current.push(bracket);
    }

    fn end(&mut self) {
        let line = std::mem::take(&mut self.current);
        if line.is_empty() {
            return;
        }
        let line = match line.split_once(": ") {
            Some((field, value)) if MASKED.contains(&field) && !is_plain(value) => format!("{field}: *"),
            _ => line,
        };
        self.done.push_str(&"  ".repeat(self.depth));
        self.done.push_str(&line);
        self.done.push('\n');
    }
}

/// None, nothing and zero are told as they are.
fn is_plain(value: &str) -> bool {
    [
        "None",
        "0",
        "-1",
        "\"\"",
        "Some(\"\")",
        "Uuid(0)",
        "AAAAAAAAAAAAAAAAAAAAAA",
    ]
    .contains(&value)
}
