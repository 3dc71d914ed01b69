//! Sends a request and tells its answer as text, without what differs from run to run.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use highwater_core::protocol::messages::{DescribeGroupsRequest, message};
use highwater_core::protocol::{RequestBody, ResponseBody, StrBytes, decode_response, encode_request};
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
/// COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR.
const NOT_YET: [&str; 3] = ["error_code: 14", "error_code: 15", "error_code: 16"];
/// Kafka answers within this time, or never.
const PATIENCE: Duration = Duration::from_secs(5);

/// A client with one connection for each request, the ids of the topics, and those that members of groups were given.
pub struct Asker {
    bootstrap: String,
    is_kafka: bool,
    ids: BTreeMap<String, Uuid>,
    /// By what the cases call the members.
    members: BTreeMap<&'static str, String>,
    /// Connections whose request was not answered yet.
    waiting: Vec<WireClient>,
}

impl Asker {
    pub fn connect(bootstrap: &str, is_kafka: bool) -> Self {
        Self {
            bootstrap: bootstrap.to_owned(),
            is_kafka,
            ids: BTreeMap::new(),
            members: BTreeMap::new(),
            waiting: Vec::new(),
        }
    }

    /// The id that a member was given last; nobody's before that.
    pub fn member(&self, name: &str) -> &str {
        self.members.get(name).map_or("nobody", String::as_str)
    }

    /// The id of a topic that was waited for.
    pub fn id(&self, topic: &str) -> Uuid {
        self.ids[topic]
    }

    /// Asks; the request's bytes and the answer. The member that a JoinGroup is told of is called `member` from now on.
    pub fn ask(
        &mut self,
        number: i32,
        version: i16,
        body: &RequestBody,
        member: Option<&'static str>,
    ) -> (String, String) {
        let (frame, hex) = self.encoded(number, version, body);
        let answer = loop {
            let answer = self.answer_to(version, body, &frame, member);
            // A broker that has just started cannot do all at once.
            if !NOT_YET.iter().any(|code| answer.contains(code)) {
                break answer;
            }
        };
        (hex, answer)
    }

    /// The request's frame, and its bytes as the file of answers has them.
    fn encoded(&self, number: i32, version: i16, body: &RequestBody) -> (Bytes, String) {
        let frame = encode_request(&header(body.api(), version, number), body);
        let frame = frame.expect("a request that can be encoded");
        // The number depends on what is asked before.
        let hex: String = frame[12..].iter().map(|byte| format!("{byte:02x}")).collect();
        (frame, self.without_ids(hex))
    }

    /// Asks what is answered only after more was asked; the request's bytes.
    pub fn ask_on(&mut self, number: i32, version: i16, body: &RequestBody) -> String {
        let (frame, hex) = self.encoded(number, version, body);
        let mut client = WireClient::connect(&self.bootstrap);
        client.send_raw(&frame);
        self.waiting.push(client);
        if let RequestBody::JoinGroup(joins) = body {
            self.wait_for_rebalance(&joins.group_id);
        }
        hex
    }

    /// The answer to the first such request.
    pub fn late_answer(&mut self, version: i16, body: &RequestBody) -> String {
        let mut client = self.waiting.remove(0);
        let frame = client.read_frame().expect("an answer");
        let answer = decode_response(body.api(), version, frame).expect("an answer that can be read");
        self.tell(answer.body)
    }

    fn answer_to(
        &mut self,
        version: i16,
        body: &RequestBody,
        frame: &[u8],
        member: Option<&'static str>,
    ) -> String {
        let mut client = WireClient::connect(&self.bootstrap);
        if self.is_kafka {
            client.wait_at_most(PATIENCE);
        }
        client.send_raw(frame);
        match client.try_read_frame() {
            Ok(answer) => {
                let answer =
                    decode_response(body.api(), version, answer).expect("an answer that can be read");
                if let (Some(name), ResponseBody::JoinGroup(joined)) = (member, &answer.body) {
                    self.members.insert(name, joined.member_id.to_string());
                }
                self.tell(answer.body)
            }
            Err(why) => why.to_owned(),
        }
    }

    fn tell(&self, answer: ResponseBody) -> String {
        let mut text = format!("{:?}", in_order(answer));
        for (name, id) in self.members.iter().filter(|(_, id)| !id.is_empty()) {
            text = text.replace(id, &format!("<member {name}>"));
        }
        told(&text)
    }

    fn without_ids(&self, mut hex: String) -> String {
        for (name, id) in self.members.iter().filter(|(_, id)| !id.is_empty()) {
            let id: String = id.bytes().map(|byte| format!("{byte:02x}")).collect();
            hex = hex.replace(&id, &format!("<member {name}>"));
        }
        for (topic, id) in &self.ids {
            let id: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
            hex = hex.replace(&id, &format!("<id of {topic}>"));
        }
        hex
    }

    /// Waits until the group gathers its members.
    fn wait_for_rebalance(&self, group: &StrBytes) {
        let mut client = WireClient::connect(&self.bootstrap);
        let describe = message(|body: &mut DescribeGroupsRequest| body.groups = vec![group.clone()]);
        let describe = RequestBody::DescribeGroups(describe);
        loop {
            let answer = format!("{:?}", client.ask(5, &describe));
            if answer.contains("PreparingRebalance") {
                return;
            }
            std::thread::yield_now();
        }
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

/// The answer with settings by name, and the like: Kafka's come in the order of a hash map.
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
        ResponseBody::JoinGroup(answer) => answer.members.sort_by(|a, b| a.metadata.cmp(&b.metadata)),
        ResponseBody::DescribeGroups(answer) => {
            let groups = answer.groups.iter_mut();
            groups.for_each(|group| {
                group.members.sort_by_key(|member| {
                    (
                        member.member_metadata.clone(),
                        Reverse(member.member_assignment.clone()),
                    )
                });
            });
        }
        ResponseBody::ListGroups(answer) => answer.groups.sort_by(|a, b| a.group_id.cmp(&b.group_id)),
        ResponseBody::DeleteGroups(answer) => answer.results.sort_by(|a, b| a.group_id.cmp(&b.group_id)),
        ResponseBody::OffsetDelete(answer) => {
            for topic in &mut answer.topics {
                topic
                    .partitions
                    .sort_by_key(|partition| partition.partition_index);
            }
        }
        ResponseBody::OffsetFetch(answer) => {
            answer.topics.sort_by(|a, b| a.name.cmp(&b.name));
            for topic in &mut answer.topics {
                topic
                    .partitions
                    .sort_by_key(|partition| partition.partition_index);
            }
            for group in &mut answer.groups {
                group.topics.sort_by(|a, b| a.name.cmp(&b.name));
                for topic in &mut group.topics {
                    topic
                        .partitions
                        .sort_by_key(|partition| partition.partition_index);
                }
            }
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
