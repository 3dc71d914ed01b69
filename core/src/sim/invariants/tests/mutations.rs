//! Each invariant can fail: a mistake in the core, and a script that shows it at the step where it is made.
//!
//! The same script without the mistake breaks nothing, so that it is the mistake which is found.

use super::ALL;
use crate::mutation::{self, Mutation};
use crate::sim::script::{Player, Script};

/// A mistake and how it is found.
struct Case {
    mutation: Mutation,
    /// In what its last line expects, the invariant and the step.
    script: &'static str,
}

/// Three brokers that notice quickly what is lost, and a topic that all of them hold.
const SETUP: &str = "brokers 3
setting zookeeper.session.timeout.ms=2000
setting replica.lag.time.max.ms=1000
setting replica.fetch.wait.max.ms=100
setting log.retention.check.interval.ms=300
";

const CASES: &[Case] = &[
    Case {
        mutation: Mutation::RetentionPassesHighWatermark,
        script: "topic t on 1,2,3 config min.insync.replicas=1 config retention.ms=100
run 100ms
cut 1 2
cut 1 3
produce t-0 1 acks=1
run 900ms
expect broken offsets-in-order at LogStartMoved at=1 to=1",
    },
    Case {
        mutation: Mutation::FollowerTakesHighWatermarkUnseen,
        script: "topic t on 1,2,3 config min.insync.replicas=1
crash 3
produce t-0 5 acks=all
run 5s
restart 3
run 5s
expect broken offsets-in-order at HighWatermarkMoved at=3 to=5",
    },
    Case {
        mutation: Mutation::EpochForgotten,
        script: "topic t on 1,2,3 config min.insync.replicas=1
crash 1
step until LeadershipTaken at=2 epoch=1
produce t-0 1 acks=all
step until RecordsAcknowledged
crash 2
step until LeadershipTaken at=3 epoch=2
produce t-0 1 acks=1
run 2s
expect broken epochs-never-fall at BatchWritten at=3 log_end=2",
    },
    Case {
        mutation: Mutation::DivergenceUnseen,
        script: "topic t on 1,2,3 config min.insync.replicas=1
produce t-0 1 acks=all
settle
cut 1 2
cut 1 3
produce t-0 1 acks=1
step until RecordsAcknowledged acks=1
crash 1
heal
step until LeadershipTaken at=2
produce t-0 2 every 200ms acks=1
run 2s
restart 1
run 5s
expect broken one-record-for-an-offset at BatchWritten at=1 log_end=3",
    },
    Case {
        mutation: Mutation::EpochNotRaised,
        script: "topic t on 1,2 config min.insync.replicas=1
produce t-0 1 acks=all
settle
crash 1
crash 2
run 5s
restart 2
run 5s
expect broken one-leader-for-an-epoch at LeadershipTaken at=2 epoch=0",
    },
    Case {
        mutation: Mutation::RemovedStayInIsr,
        script: "topic t on 1,2 config min.insync.replicas=1
produce t-0 1 acks=all
reassign t-0 1,3
run 5s
expect broken isr-within-replicas at CoordinationChanged",
    },
    Case {
        mutation: Mutation::UncleanLeaderOutsideIsr,
        script: "topic t on 1,2,3 config min.insync.replicas=1 config unclean.leader.election.enable=true
crash 3
crash 2
step until LeadershipTaken isr=1
produce t-0 2 acks=all
step until RecordsAcknowledged
crash 1
restart 2
run 10s
expect broken leader-in-isr at CoordinationChanged",
    },
    Case {
        mutation: Mutation::HighWatermarkFalls,
        script: "topic t on 1,2,3 config min.insync.replicas=1
produce t-0 1 acks=all
settle
produce t-0 1 acks=all
step until HighWatermarkMoved at=1 to=2
cut 1 2
cut 1 3
crash 1
run 5s
expect broken high-watermark-never-falls at HighWatermarkMoved at=2 from=1",
    },
    Case {
        mutation: Mutation::LeaderCountsItselfOnly,
        script: "topic t on 1,2,3 config min.insync.replicas=1
run 100ms
cut 1 2
cut 1 3
produce t-0 1 acks=1
step until RecordsAcknowledged
crash 1
heal
run 5s
expect broken committed-stays at LeadershipTaken at=2 epoch=1",
    },
    Case {
        mutation: Mutation::UncleanElectionUntold,
        script: "topic t on 1,2,3 config min.insync.replicas=1 config unclean.leader.election.enable=true
crash 3
crash 2
step until LeadershipTaken isr=1
produce t-0 2 acks=all
step until RecordsAcknowledged
crash 1
restart 2
run 10s
expect broken committed-stays at LeadershipTaken at=2",
    },
    // Both logs end at 2, so nobody sees that they differ but who compares them at rest.
    Case {
        mutation: Mutation::DivergenceUnseen,
        script: "setting auto.leader.rebalance.enable=false
topic t on 1,2,3 config min.insync.replicas=1
produce t-0 1 acks=all
settle
cut 1 2
cut 1 3
produce t-0 1 acks=1
step until RecordsAcknowledged acks=1
crash 1
heal
step until LeadershipTaken at=2
produce t-0 1 acks=1
run 2s
restart 1
run 3s
settle
expect broken committed-stays",
    },
    Case {
        mutation: Mutation::AcknowledgedTooEarly,
        script: "topic t on 1,2,3 config min.insync.replicas=1
run 100ms
cut 1 2
cut 1 3
produce t-0 1 acks=all
run 500ms
expect broken promise-kept at RecordsAcknowledged acks=-1",
    },
    Case {
        mutation: Mutation::ConsumerReadsToLogEnd,
        script: "topic t on 1,2,3 config min.insync.replicas=1
consumer reader t-0
run 1s
cut 1 2
cut 1 3
produce t-0 1 acks=1
run 900ms
expect broken read-below-high-watermark at RecordsReturned to=1",
    },
    Case {
        mutation: Mutation::AppendCutShort,
        script: "topic t on 1,2,3 config min.insync.replicas=1
run 100ms
cut 1 2
cut 1 3
produce t-0 1 acks=1
run 500ms
expect broken disk-as-written at BatchWritten at=1 log_end=1",
    },
    Case {
        mutation: Mutation::CutTooShort,
        script: "topic t on 1,2,3 config min.insync.replicas=1
produce t-0 1 acks=all
settle
cut 1 2
cut 1 3
produce t-0 1 acks=1
step until RecordsAcknowledged acks=1
crash 1
heal
step until LeadershipTaken at=2
produce t-0 1 acks=1
run 2s
restart 1
step until LogTruncated at=1
run 3ms
expect broken disk-as-written",
    },
    Case {
        mutation: Mutation::EpochNotPatched,
        script: "topic t on 1,2,3 config min.insync.replicas=1
produce t-0 1 acks=all
run 500ms
expect broken epoch-cache-true at BatchWritten at=1",
    },
    Case {
        mutation: Mutation::EpochEntryLost,
        script: "topic t on 1,2,3 config min.insync.replicas=1
produce t-0 1 acks=all
settle
crash 1
step until LeadershipTaken at=2
produce t-0 1 acks=1
run 2s
expect broken epoch-cache-true at BatchWritten at=2 log_end=2",
    },
    Case {
        mutation: Mutation::IndexEntryMisplaced,
        script: "topic t on 1,2,3 config min.insync.replicas=1 config index.interval.bytes=0
produce t-0 3 every 200ms acks=all
settle
expect broken index-points-right at BatchWritten at=1 log_end=3",
    },
    Case {
        mutation: Mutation::TimeEntryMisplaced,
        script: "topic t on 1,2,3 config min.insync.replicas=1 config index.interval.bytes=0
produce t-0 3 every 200ms acks=all
settle
expect broken index-points-right at BatchWritten at=1 log_end=3",
    },
    Case {
        mutation: Mutation::DuplicateAccepted,
        script: "topic t on 1,2,3 config min.insync.replicas=2
producer safe acks=all
produce t-0 2 by safe
drop Produce answer
run 2s
expect broken sequences-contiguous at BatchWritten at=1 log_end=4",
    },
    Case {
        mutation: Mutation::EverybodyGetsEverything,
        script: "setting offsets.topic.num.partitions=1
topic t on 1,2 on 2,1
consumer one group.id=g
consumer two group.id=g
subscribe one t
subscribe two t
run 10s
expect broken one-owner-in-a-generation at PartitionsAssigned",
    },
    Case {
        mutation: Mutation::PartitionLeftOut,
        script: "setting offsets.topic.num.partitions=1
topic t on 1,2 on 2,1
consumer one group.id=g
subscribe one t
settle
expect broken every-partition-owned",
    },
    Case {
        mutation: Mutation::CommittedTooFar,
        script: "setting offsets.topic.num.partitions=1
topic t on 1,2,3
produce t-0 3 acks=all
consumer one group.id=g auto.offset.reset=earliest auto.commit.interval.ms=1000
subscribe one t
run 10s
expect broken committed-within-what-was-read at CommitSent",
    },
    Case {
        mutation: Mutation::LaterCommitForgotten,
        script: "setting offsets.topic.num.partitions=1
topic t on 1,2,3
consumer one group.id=g auto.offset.reset=earliest auto.commit.interval.ms=1000
subscribe one t
produce t-0 1 acks=all
run 10s
produce t-0 1 acks=all
run 5s
close one
consumer two group.id=g
subscribe two t
run 10s
expect broken committed-offset-stays at PositionSet why=Committed",
    },
    Case {
        mutation: Mutation::RecordSwallowed,
        script: "topic t on 1,2,3
consumer reader t-0
produce t-0 3 acks=all
run 900ms
expect broken position-passes-nothing-over at RecordsReturned count=2",
    },
    Case {
        mutation: Mutation::IsrNeverGrows,
        script: "topic t on 1,2,3 config min.insync.replicas=1
crash 3
run 4s
restart 3
settle
expect broken all-caught-up",
    },
    Case {
        mutation: Mutation::FollowerHearsNoHighWatermark,
        script: "topic t on 1,2,3 config min.insync.replicas=1
produce t-0 1 acks=all
settle
expect broken all-caught-up",
    },
];

/// What is wrong with the facts themselves is found by the comparison of the view with what is, and of each
/// fact with its cause, not by an invariant.
const OF_THE_FACTS: &[Mutation] = &[Mutation::TruncationUntold, Mutation::CauseLost];

impl Case {
    fn script(&self) -> Script {
        Script::parse(&format!("{SETUP}{}\n", self.script)).unwrap_or_else(|bad| panic!("{bad}"))
    }

    /// What its last line expects to break.
    fn invariant(&self) -> &'static str {
        let last = self.script.lines().last().unwrap();
        let expected = last.strip_prefix("expect broken ").expect(last);
        expected.split(' ').next().unwrap()
    }

    fn name(&self) -> String {
        format!("{} by {:?}", self.invariant(), self.mutation)
    }
}

#[test]
fn each_invariant_breaks_by_a_mistake_at_the_step_of_that_mistake() {
    let mut wrong = Vec::new();
    for case in CASES {
        match mutation::with(case.mutation, || Player::play(&case.script())) {
            Ok(played) => println!(
                "{}: {}",
                case.name(),
                played.lines.last().unwrap().golden.join(" ")
            ),
            Err(failure) => wrong.push(format!("{}: {failure}", case.name())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_the_mistake_the_same_script_breaks_nothing() {
    let mut wrong = Vec::new();
    for case in CASES {
        let failure = Player::play(&case.script()).expect_err(&case.name());
        if failure.why != format!("{} did not break", case.invariant()) {
            wrong.push(format!("{}: {failure}", case.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_invariant_and_no_mistake_is_left_out() {
    let has_none = |name: &&str| !CASES.iter().any(|case| case.invariant() == *name);
    let names = ALL.iter().map(|invariant| invariant.name);
    assert_eq!(names.filter(has_none).collect::<Vec<_>>(), [""; 0]);
    let unused = |mutation: &&Mutation| {
        !CASES.iter().any(|case| case.mutation == **mutation) && !OF_THE_FACTS.contains(mutation)
    };
    let unused: Vec<_> = mutation::ALL.iter().filter(unused).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn a_step_is_named_and_no_other_will_do() {
    let case = &CASES[0];
    let elsewhere = case.script.replace("at LogStartMoved", "at LogTruncated");
    let script = Script::parse(&format!("{SETUP}{elsewhere}\n")).unwrap();
    let failure = mutation::with(case.mutation, || Player::play(&script)).unwrap_err();
    assert!(
        failure.why.contains("which has no LogTruncated"),
        "{}",
        failure.why
    );
    let too_late = case.script.replace("expect", "run 1ms\nexpect");
    let script = Script::parse(&format!("{SETUP}{too_late}\n")).unwrap();
    let failure = mutation::with(case.mutation, || Player::play(&script)).unwrap_err();
    assert_eq!(failure.invariant, Some(case.invariant()));
}

#[test]
fn a_fact_that_is_not_told_shows_in_the_view() {
    let cut = CASES.iter().find(|case| case.mutation == Mutation::CutTooShort);
    let play = |script: &Script| Player::new().comparing().play_all(script).unwrap_err();
    let failure = mutation::with(Mutation::TruncationUntold, || play(&cut.unwrap().script()));
    assert!(failure.why.starts_with("the facts tell"), "{failure}");
}

#[test]
fn a_fact_without_a_cause_shows() {
    let text = format!("{SETUP}topic t on 1,2,3\nproduce t-0 1 acks=all\nsettle\n");
    let script = Script::parse(&text).unwrap();
    let play = || Player::new().comparing().play_all(&script);
    let failure = mutation::with(Mutation::CauseLost, play).unwrap_err();
    assert!(failure.why.contains("it follows from nothing"), "{failure}");
    assert!(failure.why.contains("written up to LEO 1"), "{failure}");
    play().unwrap();
}
