//! The words of scripts.

use thiserror::Error;

use super::pattern::Pattern;
use super::query::Query;
use crate::sim::world::client::{Act, AdminTask, ConsumerOptions, ProducerOptions, Sending};
use crate::types::{BrokerId, Millis, Offset, TopicPartition};

/// A script: its lines, and what each of them showed when it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub lines: Vec<Line>,
}

/// One line of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Counted from 1.
    pub number: usize,
    /// As it stands there.
    pub text: String,
    /// `None` for a remark or an empty line.
    pub command: Option<Command>,
    /// The lines that began with `|` behind it, without that.
    pub golden: Vec<String>,
}

/// A line that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column} of the script: {why}")]
pub struct BadScript {
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    pub why: String,
}

/// A broker, by its number or by what it is at that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerRef {
    Id(BrokerId),
    Controller,
    /// The one that leads the partition in the latest epoch.
    Leader(TopicPartition),
    /// The first live one that follows it.
    Follower(TopicPartition),
}

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeRef {
    Broker(BrokerRef),
    Coordination,
    /// A producer or consumer, by its name.
    Client(String),
}

/// What becomes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketFate {
    Drop,
    Delay(Millis),
    Duplicate,
}

/// What must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// A fact like this was among those since the last command that let things happen.
    Fact(Pattern),
    NoFact(Pattern),
    /// The question has this answer.
    Is(Query, Wanted),
    /// The invariant breaks during the command before, in a step that has such a fact.
    Broken(String, Option<Pattern>),
}

/// The answer that a question must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    None,
    Number(i64),
    /// The number of whoever it is then.
    Broker(BrokerRef),
    /// In any order.
    Brokers(Vec<BrokerId>),
}

/// What a line does.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Seed(u64),
    Brokers(BrokerId),
    /// A broker setting, `key=value`, for all.
    Setting(String),
    /// How long packets take.
    Delay(Millis, Millis),
    /// The facts that are shown, by name.
    Show(Vec<String>),

    Topic(AdminTask),
    Admin(AdminTask),
    Producer(String, ProducerOptions),
    Consumer(String, ConsumerSpec),
    /// The application that the client works for does this.
    Act(String, Act),
    /// A client's process ends, and it says nothing.
    Kill(String),
    /// By the producer of that name, or by one that has these options.
    Produce(Sending, Result<String, ProducerOptions>),

    Crash(BrokerRef),
    PowerLoss {
        broker: BrokerRef,
        keeping: bool,
    },
    Restart(Option<BrokerRef>),
    Stop(BrokerRef),
    Pause(BrokerRef),
    Resume(Option<BrokerRef>),
    Cut {
        from: NodeRef,
        to: NodeRef,
        one_way: bool,
    },
    Isolate(NodeRef),
    /// All links, or those between two nodes; `true`: one way.
    Heal(Option<(NodeRef, NodeRef, bool)>),
    SlowDisk(BrokerRef, Millis),
    FullDisk(BrokerRef, u64),
    MendDisk(BrokerRef),
    Skew(BrokerRef, Millis),
    CoordinationCrash,
    CoordinationRestart,
    LoseAnswer(BrokerRef),
    /// The first packet under way, or soon to be, whose name begins so.
    Packet {
        fate: PacketFate,
        what: String,
        from: Option<NodeRef>,
        to: Option<NodeRef>,
    },

    /// Whatever comes of it is right; a packet is not waited for.
    Try(Box<Command>),

    Step(u64),
    /// To the next fact that changes what is seen.
    StepVisible,
    StepUntil(Pattern, Millis),
    Run(Millis),
    Settle,
    Expect(Expectation),
}

/// A consumer, and what it reads without a group from its start on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerSpec {
    pub reads: Option<(TopicPartition, Offset)>,
    pub options: ConsumerOptions,
}

impl Script {
    /// The script of these commands, written out.
    pub fn of(commands: impl IntoIterator<Item = Command>) -> Self {
        let numbered = (1..).zip(commands);
        let line = |(number, command): (usize, Command)| Line {
            number,
            text: command.to_string(),
            command: Some(command),
            golden: Vec::new(),
        };
        Self {
            lines: numbered.map(line).collect(),
        }
    }
}

impl Command {
    /// Whether it must stand before anything happens.
    pub fn is_setup(&self) -> bool {
        matches!(
            self,
            Command::Seed(_) | Command::Brokers(_) | Command::Setting(_) | Command::Delay(..)
        )
    }

    /// Whether it only lets things happen, and does nothing from outside.
    pub fn only_waits(&self) -> bool {
        matches!(
            self,
            Command::Step(_)
                | Command::StepVisible
                | Command::StepUntil(..)
                | Command::Run(_)
                | Command::Settle
                | Command::Expect(_)
                | Command::Show(_)
        )
    }
}
