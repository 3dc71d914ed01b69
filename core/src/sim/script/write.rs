//! Commands as text: what a reader did is a script, and each command is written as it would be read.
//!
//! Invariant: a command that is written and read again is the same command.

use std::fmt;

use super::clients::write_produce;
use super::command::{BrokerRef, Command, Expectation, NodeRef, PacketFate, Script, Wanted};
use super::query::{NONE, list};
use crate::sim::world::client::AdminTask;
use crate::types::Millis;

impl fmt::Display for Script {
    /// The script as a text, with what each line showed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{}", line.text)?;
            for golden in &line.golden {
                writeln!(f, "| {golden}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "seed {seed}"),
            Self::Brokers(count) => write!(f, "brokers {count}"),
            Self::Setting(setting) => write!(f, "setting {setting}"),
            Self::Delay(least, most) => write!(f, "delay-all {} {}", Time(*least), Time(*most)),
            Self::Show(names) => {
                write!(f, "show")?;
                names.iter().try_for_each(|name| write!(f, " {name}"))
            }
            Self::Topic(task) | Self::Admin(task) => task_as_text(task, f),
            Self::Producer(name, options) => write!(f, "producer {name}{options}"),
            Self::Consumer(name, spec) => write!(f, "consumer {name}{spec}"),
            Self::Act(name, act) => {
                write!(f, "{} {name}", act.verb())?;
                act.write_rest(f)
            }
            Self::Kill(name) => write!(f, "kill {name}"),
            Self::Produce(sending, by) => write_produce(f, sending, by),
            Self::Try(command) => write!(f, "try {command}"),
            Self::Step(1) => write!(f, "step"),
            Self::Step(steps) => write!(f, "step {steps}"),
            Self::StepVisible => write!(f, "step visible"),
            Self::StepUntil(pattern, within) => write!(f, "step until {pattern} within {}", Time(*within)),
            Self::Run(ms) => write!(f, "run {}", Time(*ms)),
            Self::Settle => write!(f, "settle"),
            Self::Expect(expectation) => write!(f, "expect {expectation}"),
            fault => fault_as_text(fault, f),
        }
    }
}

fn fault_as_text(fault: &Command, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match fault {
        Command::Crash(broker) => write!(f, "crash {broker}"),
        Command::PowerLoss { broker, keeping } => {
            write!(f, "power-loss {broker}{}", if *keeping { " keeping" } else { "" })
        }
        Command::Restart(None) => write!(f, "restart all"),
        Command::Restart(Some(broker)) => write!(f, "restart {broker}"),
        Command::Stop(broker) => write!(f, "stop {broker}"),
        Command::Pause(broker) => write!(f, "pause {broker}"),
        Command::Resume(None) => write!(f, "resume all"),
        Command::Resume(Some(broker)) => write!(f, "resume {broker}"),
        Command::Cut { from, to, one_way } => write!(f, "cut {from} {}{to}", arrow(*one_way)),
        Command::Isolate(node) => write!(f, "isolate {node}"),
        Command::Heal(None) => write!(f, "heal"),
        Command::Heal(Some((from, to, one_way))) => write!(f, "heal {from} {}{to}", arrow(*one_way)),
        Command::SlowDisk(broker, ms) => write!(f, "slow-disk {broker} {}", Time(*ms)),
        Command::FullDisk(broker, bytes) => write!(f, "full-disk {broker} {bytes}"),
        Command::MendDisk(broker) => write!(f, "mend-disk {broker}"),
        Command::Skew(broker, ms) => write!(f, "skew {broker} {}", Time(*ms)),
        Command::CoordinationCrash => write!(f, "coordination crash"),
        Command::CoordinationRestart => write!(f, "coordination restart"),
        Command::LoseAnswer(broker) => write!(f, "lose-answer {broker}"),
        Command::Packet { fate, what, from, to } => {
            match fate {
                PacketFate::Drop => write!(f, "drop {what}")?,
                PacketFate::Delay(ms) => write!(f, "delay {} {what}", Time(*ms))?,
                PacketFate::Duplicate => write!(f, "duplicate {what}")?,
            }
            from.iter().try_for_each(|node| write!(f, " from {node}"))?;
            to.iter().try_for_each(|node| write!(f, " to {node}"))
        }
        // Everything else is written by `Display` itself.
        _ => Ok(()),
    }
}

fn task_as_text(task: &AdminTask, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match task {
        AdminTask::CreateTopic {
            name,
            partitions,
            replicas,
            assignment,
            configs,
        } => {
            write!(f, "topic {name}")?;
            if assignment.is_empty() {
                write!(f, " partitions {partitions} replicas {replicas}")?;
            }
            let mut assigned = assignment.iter();
            assigned.try_for_each(|brokers| write!(f, " on {}", list(brokers)))?;
            let mut configs = configs.iter();
            configs.try_for_each(|(key, value)| write!(f, " config {key}={value}"))
        }
        AdminTask::DeleteTopic { name } => write!(f, "delete {name}"),
        AdminTask::SetTopicConfig { topic, key, value } => write!(f, "set topic {topic} {key}={value}"),
        AdminTask::SetBrokerConfig { broker, key, value } => match broker {
            Some(broker) => write!(f, "set broker {broker} {key}={value}"),
            None => write!(f, "set brokers {key}={value}"),
        },
        AdminTask::ElectPreferred { partition } => write!(f, "elect preferred {partition}"),
        AdminTask::ElectUnclean { partition } => write!(f, "elect unclean {partition}"),
        AdminTask::Reassign {
            partition,
            replicas: None,
        } => write!(f, "reassign {partition} cancel"),
        AdminTask::Reassign {
            partition,
            replicas: Some(replicas),
        } => write!(f, "reassign {partition} {}", list(replicas)),
    }
}

fn arrow(one_way: bool) -> &'static str {
    if one_way { "-> " } else { "" }
}

/// A time as scripts have it: whole seconds as such.
pub(super) struct Time(pub(super) Millis);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms != 0 && ms % 1000 == 0 => write!(f, "{}s", ms / 1000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

impl fmt::Display for BrokerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Controller => write!(f, "controller"),
            Self::Leader(partition) => write!(f, "leader:{partition}"),
            Self::Follower(partition) => write!(f, "follower:{partition}"),
        }
    }
}

impl fmt::Display for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broker(broker) => broker.fmt(f),
            Self::Coordination => write!(f, "coordination"),
            Self::Client(name) => write!(f, "{name}"),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fact(pattern) => write!(f, "fact {pattern}"),
            Self::NoFact(pattern) => write!(f, "no {pattern}"),
            Self::Is(query, wanted) => write!(f, "{query} {wanted}"),
            Self::Broken(name, step) => {
                write!(f, "broken {name}")?;
                step.iter().try_for_each(|step| write!(f, " at {step}"))
            }
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "{NONE}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Broker(broker) => broker.fmt(f),
            Self::Brokers(brokers) => write!(f, "{}", list(brokers)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command, every task, every kind of name and every option at least once.
    const ALL: &str = "seed 7
brokers 3
setting replica.lag.time.max.ms=1000
delay-all 1ms 2s
show IsrChanged BatchWritten
topic a partitions 2 replicas 3
topic b on 1,2,3 on 2,3,1 config min.insync.replicas=2 config x=y
delete a
set topic b x=z
set broker 1 a=b
set brokers a=b
elect preferred b-0
elect unclean b-1
reassign b-0 1,2
reassign b-0 cancel
producer safe acks=all linger.ms=20 bytes=100 interceptors=stamps,fails,watches
producer plain
consumer reader b-0 from 5
consumer one group.id=g session.timeout.ms=6000 commits=before takes=200ms
consumer two commits=after
subscribe one b c
unsubscribe one
assign two b-0 b-1
seek two b-0 7
seek two b-0 earliest
seek two b-1 latest
commit one
busy one
poll one
close one
kill two
produce b-0 3 by safe every 20ms
produce b 12 by safe keys 3 every 2s
produce b-0 1 acks=1
produce b 5 keys 2 bytes=9
flush safe
crash 1
power-loss controller
power-loss 2 keeping
restart all
restart follower:b-0
stop leader:b-0
pause 1
resume all
resume 1
cut 1 2
cut 1 -> coordination
isolate reader
heal
heal 1 2
heal 1 -> safe
slow-disk 1 0ms
full-disk 1 100
mend-disk 1
skew 1 1500ms
coordination crash
coordination restart
lose-answer 1
drop Fetch answer from 1 to 2
delay 50ms Produce
duplicate Produce from safe
try restart 1
step
step 5
step visible
step until HighWatermarkMoved at!=1 to>=3 from<=2 partition=b-0 within 5s
run 3s
settle
expect fact IsrChanged isr=1,2
expect no IsrChanged
expect leader b-0 none
expect leader b-0 follower:b-1
expect isr b-0 1,2
expect hw leader:b-0 b-0 3
expect leo 1 b-0 3
expect controller 1
expect controller none
expect acknowledged all 3
expect failed safe 0
expect requests safe 2
expect latency safe 9
expect position reader b-0 3
expect position reader b-0 none
expect processed all 3
expect owned one 2
expect moved g 2
expect broken committed-stays
expect broken committed-stays at LeadershipTaken at=3
";

    #[test]
    fn a_command_is_written_as_it_is_read() {
        let script = Script::parse(ALL).unwrap();
        for line in &script.lines {
            assert_eq!(line.command.as_ref().unwrap().to_string(), line.text);
        }
    }

    #[test]
    fn a_script_of_commands_is_the_same_when_it_is_read_again() {
        let read = Script::parse(ALL).unwrap();
        let commands = read.lines.iter().filter_map(|line| line.command.clone());
        let written = Script::of(commands);
        assert_eq!(written.to_string(), ALL);
        assert_eq!(Script::parse(&written.to_string()).unwrap(), written);
    }
}
