//! Groups whose members are different clients: ours, Java's, librdkafka (confluent-kafka), franz-go and
//! kafka-python. Records are written all along, members come and go, and every record is processed once;
//! cooperative members do not stop for a rebalance.
//!
//! `HIGHWATER_SEED` names the order of joins and leaves; `HIGHWATER_SKIP=java,go` leaves clients out. The
//! members' programs are in `tests/clients/`; ours is this very program, called as `member`.

mod churn;
mod cooperative;
mod coordinator;
mod diary;
mod member;
mod own;
mod slow_leader;
mod writer;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use member::Client::{self, FranzGo, Highwater, Java, KafkaPython, Librdkafka};

const SEED: u64 = 5;
/// Further ones in the long run.
const SEEDS_OF_THE_LONG_RUN: std::ops::Range<u64> = 100..104;

/// Without kafka-python, which forgets its share when the answer to its SyncGroup comes while it does not poll:
/// where members commit in the middle of a rebalance that may be, and only the long run takes the risk.
const CLIENTS: [Client; 4] = [Highwater, Java, Librdkafka, FranzGo];
const ALL: [Client; 5] = [Highwater, Java, Librdkafka, FranzGo, KafkaPython];

fn seed() -> u64 {
    let named = std::env::var("HIGHWATER_SEED").ok();
    named.and_then(|seed| seed.parse().ok()).unwrap_or(SEED)
}

fn play(assignor: &'static str, clients: &[Client], killed: Option<Client>, seed: u64) {
    let mut clients = clients.to_vec();
    clients.retain(|client| !client.is_skipped());
    let killed = killed.filter(|client| clients.contains(client));
    churn::play(assignor, &clients, killed, seed);
}

fn long_run() {
    for seed in SEEDS_OF_THE_LONG_RUN {
        for assignor in ["range", "roundrobin", "cooperative-sticky"] {
            play(assignor, &ALL, None, seed);
        }
        let victim = ALL[seed as usize % ALL.len()];
        play("range", &ALL, Some(victim), seed);
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((own::COMMAND, rest)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return own::main(rest);
    }
    let mut arguments = Arguments::from_args();
    // One virtual machine of Java at a time.
    arguments.test_threads = Some(1);
    let test = |name: &str, run: fn()| {
        let run = move || {
            run();
            Ok(())
        };
        Trial::test(name, run)
    };
    let cooperative = [Java, Librdkafka];
    let trials = vec![
        test("every_record_once_by_range", || play("range", &ALL, None, seed())),
        test("every_record_once_by_round_robin", || {
            play("roundrobin", &ALL, None, seed() + 1);
        }),
        test("every_record_once_by_cooperative_sticky", || {
            play("cooperative-sticky", &CLIENTS, None, seed() + 2);
        }),
        test("who_is_killed_repeats_only_what_it_had_not_committed", || {
            play("range", &CLIENTS, Some(Librdkafka), seed() + 3);
        }),
        test("cooperative_members_read_on_while_their_group_rebalances", || {
            cooperative::reads_on_while_others_join([Java, Librdkafka]);
        })
        .with_ignored_flag(cooperative.iter().any(|client| client.is_skipped())),
        test("many_orders_with_kafka_python_too", long_run).with_ignored_flag(true),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}
