//! How a script is read: lines into commands, by hand, so that an error can say where and what.

use super::command::{BadScript, BrokerRef, Command, Expectation, Line, NodeRef, PacketFate, Script, Wanted};
use super::pattern::Pattern;
use super::query::{NONE, Query};
use crate::sim::world::client::AdminTask;
use crate::types::{BrokerId, Millis, TopicPartition};

/// `step until` waits so long, if it is not told otherwise.
const PATIENCE_MS: Millis = 120_000;

impl Script {
    pub fn parse(text: &str) -> Result<Self, BadScript> {
        let mut script = Self::default();
        for (at, line) in text.lines().enumerate() {
            let number = at + 1;
            if let Some(shown) = line.strip_prefix('|') {
                let Some(last) = script.lines.last_mut() else {
                    let why = "output stands before the first command".to_owned();
                    return Err(BadScript {
                        line: number,
                        column: 1,
                        why,
                    });
                };
                last.golden
                    .push(shown.strip_prefix(' ').unwrap_or(shown).to_owned());
                continue;
            }
            let command = parse_line(line).map_err(|Bad { column, why }| BadScript {
                line: number,
                column,
                why,
            })?;
            script.lines.push(Line {
                number,
                text: line.to_owned(),
                command,
                golden: Vec::new(),
            });
        }
        Ok(script)
    }
}

/// What is wrong, and at which character.
pub(super) struct Bad {
    column: usize,
    pub why: String,
}

/// The words of a line that are not read yet.
pub(super) struct Words<'a> {
    line: &'a str,
    rest: &'a str,
}

/// Reads one line; `None` for a remark or an empty one.
fn parse_line(line: &str) -> Result<Option<Command>, Bad> {
    let code = line.split_once('#').map_or(line, |(code, _)| code).trim_end();
    let mut words = Words::new(code);
    let Some(first) = words.next() else {
        return Ok(None);
    };
    let command = words.command(first)?;
    match words.peek() {
        None => Ok(Some(command)),
        Some(word) => Err(words.bad(word, format!("`{word}` is more than `{first}` takes"))),
    }
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { line, rest: line }
    }

    pub(super) fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    pub(super) fn peek(&self) -> Option<&'a str> {
        Words {
            line: self.line,
            rest: self.rest,
        }
        .next()
    }

    /// Takes the word if it comes next.
    pub(super) fn takes(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        if is_next {
            self.next();
        }
        is_next
    }

    /// An error at a word of this line, or at its end.
    pub(super) fn bad(&self, word: &str, why: impl Into<String>) -> Bad {
        let at = (word.as_ptr() as usize).saturating_sub(self.line.as_ptr() as usize);
        let at = at.min(self.line.len());
        let column = self.line.get(..at).map_or(0, |before| before.chars().count()) + 1;
        Bad {
            column,
            why: why.into(),
        }
    }

    pub(super) fn want(&mut self, what: &str) -> Result<&'a str, Bad> {
        let column = self.line.chars().count() + 1;
        self.next().ok_or_else(|| Bad {
            column,
            why: format!("{what} is missing"),
        })
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, Bad> {
        let word = self.want(what)?;
        word.parse()
            .map_err(|_| self.bad(word, format!("`{word}` is not {what}")))
    }

    /// `500ms`, `3s`.
    pub(super) fn time(&mut self, what: &str) -> Result<Millis, Bad> {
        let word = self.want(what)?;
        time(word).ok_or_else(|| self.bad(word, format!("`{word}` is no time: write 500ms or 3s")))
    }

    pub(super) fn partition(&mut self) -> Result<TopicPartition, Bad> {
        let word = self.want("a partition")?;
        partition(word).ok_or_else(|| self.bad(word, format!("`{word}` is no partition: write topic-0")))
    }

    pub(super) fn broker(&mut self) -> Result<BrokerRef, Bad> {
        let word = self.want("a broker")?;
        broker(word).ok_or_else(|| {
            let why =
                format!("`{word}` is no broker: write its number, controller, leader:t-0 or follower:t-0");
            self.bad(word, why)
        })
    }

    fn node(&mut self) -> Result<NodeRef, Bad> {
        Ok(node(self.want("a node")?))
    }

    fn brokers(&mut self) -> Result<Vec<BrokerId>, Bad> {
        let word = self.want("a list of brokers")?;
        ids(word).ok_or_else(|| self.bad(word, format!("`{word}` is no list of brokers: write 1,2,3")))
    }

    fn pattern(&mut self) -> Result<Pattern, Bad> {
        let word = self.peek().unwrap_or("");
        let text = std::mem::take(&mut self.rest);
        let (text, within) = text
            .split_once(" within ")
            .map_or((text, None), |(t, w)| (t, Some(w)));
        if let Some(within) = within {
            // Left for whoever takes a time.
            self.rest = within;
        }
        Pattern::parse(text).map_err(|why| self.bad(word, why))
    }

    fn pair(&mut self, what: &str) -> Result<(String, String), Bad> {
        let word = self.want(what)?;
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| self.bad(word, format!("`{word}` is not {what}: write key=value")))?;
        Ok((key.to_owned(), value.to_owned()))
    }

    fn command(&mut self, first: &'a str) -> Result<Command, Bad> {
        Ok(match first {
            "seed" => Command::Seed(self.number("a seed")?),
            "brokers" => Command::Brokers(self.number("a number of brokers")?),
            "setting" => {
                let (key, value) = self.pair("a setting")?;
                Command::Setting(format!("{key}={value}"))
            }
            "delay-all" => Command::Delay(self.time("the least delay")?, self.time("the greatest delay")?),
            "show" => {
                let mut names = Vec::new();
                while let Some(name) = self.next() {
                    Pattern::parse(name).map_err(|why| self.bad(name, why))?;
                    names.push(name.to_owned());
                }
                Command::Show(names)
            }
            "topic" => Command::Topic(self.topic()?),
            "delete" => Command::Admin(AdminTask::DeleteTopic {
                name: self.want("a topic")?.to_owned(),
            }),
            "set" => self.set()?,
            "elect" => self.elect()?,
            "reassign" => {
                let partition = self.partition()?;
                let replicas = if self.takes("cancel") {
                    None
                } else {
                    Some(self.brokers()?)
                };
                Command::Admin(AdminTask::Reassign { partition, replicas })
            }
            "producer" => Command::Producer(self.want("a name")?.to_owned(), self.producer_options()?),
            "consumer" => self.consumer()?,
            "produce" => self.produce()?,
            "try" => {
                let word = self.want("a command")?;
                Command::Try(Box::new(self.command(word)?))
            }
            "crash" => Command::Crash(self.broker()?),
            "power-loss" => {
                let broker = self.broker()?;
                let keeping = self.takes("keeping");
                Command::PowerLoss { broker, keeping }
            }
            "restart" if self.takes("all") => Command::Restart(None),
            "restart" => Command::Restart(Some(self.broker()?)),
            "stop" => Command::Stop(self.broker()?),
            "pause" => Command::Pause(self.broker()?),
            "resume" if self.takes("all") => Command::Resume(None),
            "resume" => Command::Resume(Some(self.broker()?)),
            "cut" => {
                let (from, to, one_way) = self.link()?;
                Command::Cut { from, to, one_way }
            }
            "isolate" => Command::Isolate(self.node()?),
            "heal" if self.peek().is_none() => Command::Heal(None),
            "heal" => Command::Heal(Some(self.link()?)),
            "slow-disk" => Command::SlowDisk(self.broker()?, self.time("the time of an operation")?),
            "full-disk" => Command::FullDisk(self.broker()?, self.number("the bytes that are left")?),
            "mend-disk" => Command::MendDisk(self.broker()?),
            "skew" => Command::Skew(self.broker()?, self.time("how far the clock is ahead")?),
            "coordination" => match self.want("crash or restart")? {
                "crash" => Command::CoordinationCrash,
                "restart" => Command::CoordinationRestart,
                word => return Err(self.bad(word, "the coordination service can crash or restart")),
            },
            "lose-answer" => Command::LoseAnswer(self.broker()?),
            "drop" => self.packet(PacketFate::Drop)?,
            "duplicate" => self.packet(PacketFate::Duplicate)?,
            "delay" => {
                let by = self.time("how long")?;
                self.packet(PacketFate::Delay(by))?
            }
            "step" if self.takes("until") => {
                let pattern = self.pattern()?;
                let patience = if self.peek().is_some() {
                    self.time("a time")?
                } else {
                    PATIENCE_MS
                };
                Command::StepUntil(pattern, patience)
            }
            "step" if self.takes("visible") => Command::StepVisible,
            "step" if self.peek().is_none() => Command::Step(1),
            "step" => Command::Step(self.number("a number of steps")?),
            "run" => Command::Run(self.time("a time")?),
            "settle" => Command::Settle,
            "expect" => Command::Expect(self.expectation()?),
            _ => {
                let of_client = self.client_command(first)?;
                return of_client.ok_or_else(|| self.bad(first, format!("`{first}` is no command")));
            }
        })
    }

    fn topic(&mut self) -> Result<AdminTask, Bad> {
        let name = self.want("a name")?.to_owned();
        let (mut partitions, mut replicas) = (1, 1);
        let (mut assignment, mut configs) = (Vec::new(), Vec::new());
        while let Some(word) = self.next() {
            match word {
                "partitions" => partitions = self.number("a number of partitions")?,
                "replicas" => replicas = self.number("a number of replicas")?,
                "on" => assignment.push(self.brokers()?),
                "config" => configs.push(self.pair("a setting")?),
                _ => {
                    let why =
                        format!("`{word}` says nothing of a topic: partitions, replicas, on, config do");
                    return Err(self.bad(word, why));
                }
            }
        }
        Ok(AdminTask::CreateTopic {
            name,
            partitions,
            replicas,
            assignment,
            configs,
        })
    }

    fn set(&mut self) -> Result<Command, Bad> {
        let word = self.want("topic, broker or brokers")?;
        let task = match word {
            "topic" => {
                let topic = self.want("a topic")?.to_owned();
                let (key, value) = self.pair("a setting")?;
                AdminTask::SetTopicConfig { topic, key, value }
            }
            "broker" => {
                let broker = Some(self.number("a broker's number")?);
                let (key, value) = self.pair("a setting")?;
                AdminTask::SetBrokerConfig { broker, key, value }
            }
            "brokers" => {
                let (key, value) = self.pair("a setting")?;
                let broker = None;
                AdminTask::SetBrokerConfig { broker, key, value }
            }
            _ => return Err(self.bad(word, "a setting is of a topic, of a broker or of all brokers")),
        };
        Ok(Command::Admin(task))
    }

    fn elect(&mut self) -> Result<Command, Bad> {
        let word = self.want("preferred or unclean")?;
        let partition = self.partition()?;
        Ok(Command::Admin(match word {
            "preferred" => AdminTask::ElectPreferred { partition },
            "unclean" => AdminTask::ElectUnclean { partition },
            _ => return Err(self.bad(word, "a leader is elected as preferred or unclean")),
        }))
    }

    fn packet(&mut self, fate: PacketFate) -> Result<Command, Bad> {
        let mut what = self.want("the packet's name")?.to_owned();
        if self.takes("answer") {
            what.push_str(" answer");
        }
        let (mut from, mut to) = (None, None);
        while let Some(word) = self.next() {
            match word {
                "from" => from = Some(self.node()?),
                "to" => to = Some(self.node()?),
                _ => return Err(self.bad(word, "a packet goes from a node, to a node")),
            }
        }
        Ok(Command::Packet { fate, what, from, to })
    }

    fn expectation(&mut self) -> Result<Expectation, Bad> {
        if self.takes("fact") {
            return Ok(Expectation::Fact(self.pattern()?));
        }
        if self.takes("no") {
            return Ok(Expectation::NoFact(self.pattern()?));
        }
        if self.takes("broken") {
            let name = self.want("an invariant")?.to_owned();
            let step = self.takes("at").then(|| self.pattern()).transpose()?;
            return Ok(Expectation::Broken(name, step));
        }
        let query = self.query()?;
        let wanted = match &query {
            _ if self.takes(NONE) => Wanted::None,
            Query::Leader(_) | Query::Controller => Wanted::Broker(self.broker()?),
            Query::Isr(_) => Wanted::Brokers(self.brokers()?),
            Query::HighWatermark(..) | Query::LogEnd(..) | Query::Position(..) => {
                Wanted::Number(self.number("an offset")?)
            }
            Query::Acknowledged(_) | Query::Failed(_) | Query::Processed(_) => {
                Wanted::Number(self.number("a number of records")?)
            }
            Query::Requests(_) => Wanted::Number(self.number("a number of requests")?),
            Query::Latency(_) => Wanted::Number(self.number("a time in ms")?),
            Query::Owned(_) | Query::Moved(_) => Wanted::Number(self.number("a number of partitions")?),
        };
        Ok(Expectation::Is(query, wanted))
    }

    /// Two nodes, and whether only one way is meant.
    fn link(&mut self) -> Result<(NodeRef, NodeRef, bool), Bad> {
        let from = self.node()?;
        let one_way = self.takes("->");
        Ok((from, self.node()?, one_way))
    }
}

pub(super) fn time(word: &str) -> Option<Millis> {
    let (number, unit) = match word.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (word.strip_suffix('s')?, 1000),
    };
    number.parse::<Millis>().ok()?.checked_mul(unit)
}

pub(super) fn partition(word: &str) -> Option<TopicPartition> {
    let (topic, number) = word.rsplit_once('-')?;
    (!topic.is_empty()).then_some(())?;
    Some(TopicPartition::new(topic, number.parse().ok()?))
}

fn broker(word: &str) -> Option<BrokerRef> {
    match word.split_once(':') {
        Some(("leader", of)) => partition(of).map(BrokerRef::Leader),
        Some(("follower", of)) => partition(of).map(BrokerRef::Follower),
        _ if word == "controller" => Some(BrokerRef::Controller),
        _ => word.parse().ok().map(BrokerRef::Id),
    }
}

fn node(word: &str) -> NodeRef {
    match broker(word) {
        Some(broker) => NodeRef::Broker(broker),
        None if word == "coordination" => NodeRef::Coordination,
        None => NodeRef::Client(word.to_owned()),
    }
}

fn ids(word: &str) -> Option<Vec<BrokerId>> {
    word.split(',').map(|id| id.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Command {
        let script = Script::parse(line).unwrap_or_else(|bad| panic!("{bad}"));
        script.lines[0].command.clone().unwrap()
    }

    #[test]
    fn lines_become_commands() {
        assert_eq!(command("brokers 3 # and no more"), Command::Brokers(3));
        assert_eq!(command("run 2s"), Command::Run(2000));
        assert_eq!(command("restart all"), Command::Restart(None));
        assert_eq!(
            command("crash leader:my-topic-0"),
            Command::Crash(BrokerRef::Leader(TopicPartition::new("my-topic", 0)))
        );
        assert_eq!(
            command("cut 1 -> coordination"),
            Command::Cut {
                from: NodeRef::Broker(BrokerRef::Id(1)),
                to: NodeRef::Coordination,
                one_way: true,
            }
        );
        let Command::StepUntil(pattern, within) = command("step until IsrChanged isr=1,2 within 5s") else {
            panic!("not a step");
        };
        assert_eq!(
            (pattern.to_string().as_str(), within),
            ("IsrChanged isr=1,2", 5000)
        );
    }

    #[test]
    fn a_bad_line_is_named_with_its_column() {
        for (text, line, column, why) in [
            ("brokers 3\ncrush 1", 2, 1, "`crush` is no command"),
            ("brokers", 1, 8, "a number of brokers is missing"),
            ("run 5", 1, 5, "`5` is no time: write 500ms or 3s"),
            ("crash 1 2", 1, 9, "`2` is more than `crash` takes"),
            ("assign one t", 1, 12, "`t` is no partition: write topic-0"),
            ("produce t-0 1 bytes=x", 1, 15, "`x` is no value of bytes"),
            ("produce t-0 1 ack=1", 1, 15, "`ack=1` is no option of a producer"),
            ("step until Nothing", 1, 12, "there is no fact named Nothing"),
            ("| shown", 1, 1, "output stands before the first command"),
        ] {
            let bad = Script::parse(text).unwrap_err();
            assert_eq!(
                (bad.line, bad.column, bad.why.as_str()),
                (line, column, why),
                "{text}"
            );
        }
    }

    #[test]
    fn a_script_is_written_as_it_was_read() {
        let text = "# a remark\n\nbrokers 1\nrun 1s\n| 12 ms  something\n";
        assert_eq!(Script::parse(text).unwrap().to_string(), text);
    }
}
