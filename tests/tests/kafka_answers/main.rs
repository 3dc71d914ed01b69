//! Requests whose answers Apache Kafka 4.4 was asked for once, asked of our broker: field by field the
//! same.
//!
//! `tests/fixtures/kafka-answers/kafka.txt` holds each request as the bytes of its frame and each answer
//! of Kafka as text, without what differs from run to run. Where ours is another, the page of
//! differences has a row for it ([`ROWS`]), and `ours.txt` beside it holds our answer.
//!
//! `HIGHWATER_BLESS=1` writes `ours.txt`. With `HIGHWATER_BOOTSTRAP=HOST:PORT` too it is a recorder:
//! it asks that broker, which has to be a new Apache Kafka of node number 1 with
//! `auto.create.topics.enable=false`, `offsets.topic.replication.factor=1` and
//! `group.initial.rebalance.delay.ms=0`, and writes `kafka.txt`.

mod cases;
mod client;
mod group_requests;
mod requests;
mod rows;

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::path::PathBuf;

use highwater_core::protocol::RequestBody;
use highwater_tests::broker::TestBroker;

use cases::{Answered, all};
use client::Asker;
use rows::ROWS;

/// The answers by name of the case, with the request that each was given to.
type Answers = BTreeMap<String, (String, String)>;

#[test]
fn answers_are_those_of_kafka_but_for_the_rows_of_differences() {
    let external = std::env::var("HIGHWATER_BOOTSTRAP").ok();
    let blesses = std::env::var_os("HIGHWATER_BLESS").is_some();
    let broker = external.is_none();
    let broker = broker.then(|| {
        TestBroker::start(&[
            "auto.create.topics.enable=false",
            "offsets.topic.replication.factor=1",
            "group.initial.rebalance.delay.ms=0",
        ])
    });
    let bootstrap = external.clone().or(broker.as_ref().map(TestBroker::address));
    let answers = ask_all(
        &bootstrap.expect("a broker was started or named"),
        external.is_some(),
    );
    if external.is_some() && blesses {
        return write("kafka.txt", &answers, |_| true);
    }
    let is_listed = |name: &str| ROWS.iter().any(|(case, _)| *case == name);
    let kafkas = read("kafka.txt");
    if blesses {
        write("ours.txt", &answers, is_listed);
    }
    let differing = read("ours.txt");
    let page = std::fs::read_to_string(fixture("../../../book/src/differences.md")).expect("read the page");
    for (case, row) in ROWS {
        assert!(kafkas.contains_key(*case), "no case {case}");
        assert!(
            page.contains(&format!("\n| {row} |")),
            "no row {row:?} on the page of differences"
        );
    }
    let mut wrong = String::new();
    for (name, (request, answer)) in &answers {
        let Some((asked, kafkas)) = kafkas.get(name) else {
            let _ = writeln!(wrong, "# {name}\nwas not asked of Kafka");
            continue;
        };
        assert_eq!(
            request, asked,
            "{name}: the request is another by now; ask Kafka again"
        );
        let expected = match is_listed(name) {
            true => differing.get(name).map_or("", |(_, answer)| answer),
            false => kafkas,
        };
        if is_listed(name) && answer == kafkas {
            let _ = writeln!(wrong, "# {name}\nis no difference any more");
        } else if answer != expected {
            let _ = writeln!(wrong, "# {name}\n{}", difference(expected, answer));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert_eq!(answers.len(), kafkas.len(), "every case of the file is asked");
}

/// A request whose answer comes only after another was asked.
struct Late {
    /// That one's number.
    after: i32,
    name: String,
    request: String,
    version: i16,
    body: RequestBody,
}

fn ask_all(bootstrap: &str, is_kafka: bool) -> Answers {
    let mut asker = Asker::connect(bootstrap, is_kafka);
    let mut answers = Answers::new();
    let mut late: VecDeque<Late> = VecDeque::new();
    for (number, case) in (1..).zip(all()) {
        let body = (case.ask)(&asker);
        let name = format!("{} {}: {}", body.api(), case.version, case.name);
        let mut take = |name: String, asked| {
            assert!(
                answers.insert(name.clone(), asked).is_none(),
                "{name} is there twice"
            );
        };
        match case.answered {
            Answered::AtOnce => take(name, asker.ask(number, case.version, &body, case.member)),
            Answered::After(more) => {
                let request = asker.ask_on(number, case.version, &body);
                late.push_back(Late {
                    after: number + more,
                    name,
                    request,
                    version: case.version,
                    body,
                });
            }
        }
        if let Some(due) = late.pop_front_if(|first| first.after == number) {
            let answer = asker.late_answer(due.version, &due.body);
            take(due.name, (due.request, answer));
        }
        if let Some(topics) = case.settle {
            asker.wait_for(topics);
        }
    }
    answers
}

/// Lines of the one and the other where they part.
fn difference(kafkas: &str, ours: &str) -> String {
    let mut text = String::new();
    let (kafkas, ours): (Vec<_>, Vec<_>) = (kafkas.lines().collect(), ours.lines().collect());
    for at in 0..kafkas.len().max(ours.len()) {
        let (kafkas, ours) = (kafkas.get(at), ours.get(at));
        if kafkas != ours {
            let _ = writeln!(text, "- {}\n+ {}", kafkas.unwrap_or(&""), ours.unwrap_or(&""));
        }
    }
    text
}

fn fixture(name: &str) -> PathBuf {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/kafka-answers");
    fixtures.join(name)
}

fn write(name: &str, answers: &Answers, wanted: impl Fn(&str) -> bool) {
    let mut text = String::new();
    for (name, (request, answer)) in answers.iter().filter(|(name, _)| wanted(name)) {
        let _ = write!(text, "# {name}\n< {request}\n{answer}\n");
    }
    std::fs::write(fixture(name), text).expect("write the answers");
}

fn read(name: &str) -> Answers {
    let text = std::fs::read_to_string(fixture(name)).expect("read the answers");
    let cases = text.split("# ").skip(1).map(|case| {
        let (name, rest) = case.split_once("\n< ").expect("a name and a request");
        let (request, answer) = rest.split_once('\n').expect("a request and an answer");
        (
            name.to_owned(),
            (request.to_owned(), answer.trim_end_matches('\n').to_owned()),
        )
    });
    cases.collect()
}
