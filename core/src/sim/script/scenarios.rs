//! Every scenario, played on WebAssembly: it shows and says there what stands in its files.
//!
//! Natively `tests/tests/scenarios.rs` plays them, and needs no list; here nothing can read a folder.
//! `cargo xtask tidy` (rule `scenarios`) finds one that is missing.

use super::{Player, Script};
use crate::sim::{Story, Teller};

fn is_told_as_it_stands(script: &str, story: &str) {
    let teller = Teller::new(Story::parse(story).unwrap()).unwrap();
    let mut player = Player::new().telling(teller);
    let played = player.play_all(&Script::parse(script).unwrap()).unwrap();
    assert_eq!(played.to_string(), script);
    let teller = player.teller().unwrap();
    let said: Vec<Vec<String>> = (0..teller.told().len()).map(|at| teller.golden(at)).collect();
    assert_eq!(Story::with_golden(story, &said), story);
}

macro_rules! scenarios {
    ($($test:ident: $name:literal,)*) => { $(
        #[test]
        fn $test() {
            is_told_as_it_stands(
                include_str!(concat!("../../../../tests/scenarios/", $name)),
                include_str!(concat!("../../../../tests/scenarios/", $name, ".story")),
            );
        }
    )* };
}

scenarios! {
    acks_all_before_answer: "acks/all_before_answer",
    acks_all_before_append: "acks/all_before_append",
    acks_all_before_replication: "acks/all_before_replication",
    acks_all_survives_the_leader: "acks/all_survives_the_leader",
    acks_idempotent_before_answer: "acks/idempotent_before_answer",
    acks_none_after_append: "acks/none_after_append",
    acks_none_after_replication: "acks/none_after_replication",
    acks_none_asks_nobody: "acks/none_asks_nobody",
    acks_none_before_append: "acks/none_before_append",
    acks_one_before_answer: "acks/one_before_answer",
    acks_one_before_append: "acks/one_before_append",
    acks_one_before_replication: "acks/one_before_replication",
    acks_one_is_lost_with_the_leader: "acks/one_is_lost_with_the_leader",
    book_all_is_the_isr: "book/all_is_the_isr",
    book_batch_size: "book/batch_size",
    book_by_key: "book/by_key",
    book_commit_order: "book/commit_order",
    book_first_offset: "book/first_offset",
    book_follower_dies: "book/follower_dies",
    book_follower_returns: "book/follower_returns",
    book_given_up_and_sent_again: "book/given_up_and_sent_again",
    book_last_in_sync: "book/last_in_sync",
    book_linger: "book/linger",
    book_loss_all_at_once: "book/loss_all_at_once",
    book_loss_min_insync_one: "book/loss_min_insync_one",
    book_loss_one_replica: "book/loss_one_replica",
    book_loss_unclean: "book/loss_unclean",
    book_nobody_in_sync: "book/nobody_in_sync",
    book_one_follower: "book/one_follower",
    book_one_record: "book/one_record",
    book_one_replica: "book/one_replica",
    book_session_ends: "book/session_ends",
    book_shared_out: "book/shared_out",
    book_sticks: "book/sticks",
    book_third_comes: "book/third_comes",
    book_when_acknowledged: "book/when_acknowledged",
    brokers_answer_lost: "brokers/answer_lost",
    brokers_bounce: "brokers/bounce",
    brokers_clean_stop: "brokers/clean_stop",
    brokers_coordination_restarts: "brokers/coordination_restarts",
    brokers_full_disk: "brokers/full_disk",
    brokers_power_loss_of_a_member: "brokers/power_loss_of_a_member",
    brokers_session_lost: "brokers/session_lost",
    brokers_slow_disk: "brokers/slow_disk",
    brokers_topic_again: "brokers/topic_again",
    choice_available: "choice/available",
    choice_consistent: "choice/consistent",
    controller_fail_over: "controller/fail_over",
    controller_paused_comes_back: "controller/paused_comes_back",
    controller_race: "controller/race",
    election_preferred_leader: "election/preferred_leader",
    election_reassignment: "election/reassignment",
    election_reassignment_given_up: "election/reassignment_given_up",
    election_unclean_off_waits: "election/unclean_off_waits",
    election_unclean_on_loses: "election/unclean_on_loses",
    election_unclean_on_request: "election/unclean_on_request",
    election_who_leads: "election/who_leads",
    election_who_leads_unclean: "election/who_leads_unclean",
    groups_by_hand: "groups/by_hand",
    groups_commits_after_processing: "groups/commits_after_processing",
    groups_commits_before_processing: "groups/commits_before_processing",
    groups_cooperative_sticky: "groups/cooperative_sticky",
    groups_coordinator_dies: "groups/coordinator_dies",
    groups_offset_reset: "groups/offset_reset",
    groups_range: "groups/range",
    groups_rebalance_triggers: "groups/rebalance_triggers",
    groups_round_robin: "groups/round_robin",
    groups_static_member_bounce: "groups/static_member_bounce",
    groups_sticky: "groups/sticky",
    groups_zombie_member: "groups/zombie_member",
    isr_earlier_life_counts: "isr/earlier_life_counts",
    isr_earlier_life_is_refused: "isr/earlier_life_is_refused",
    producer_batch_is_born: "producer/batch_is_born",
    producer_explicit_partition: "producer/explicit_partition",
    producer_full_buffer: "producer/full_buffer",
    producer_interceptors: "producer/interceptors",
    producer_linger_and_batch_size: "producer/linger_and_batch_size",
    producer_retry_with_idempotence: "producer/retry_with_idempotence",
    producer_retry_without_idempotence: "producer/retry_without_idempotence",
    producer_spread: "producer/spread",
    replication_duplicate_is_stored_once: "replication/duplicate_is_stored_once",
    replication_fetch_waits_for_bytes: "replication/fetch_waits_for_bytes",
    replication_follower_crashes_and_returns: "replication/follower_crashes_and_returns",
    replication_high_watermark_one_round_behind: "replication/high_watermark_one_round_behind",
    replication_high_watermark_waits_for_the_slowest: "replication/high_watermark_waits_for_the_slowest",
    replication_leo_hw_and_isr: "replication/leo_hw_and_isr",
    replication_one_of_two_in_sync: "replication/one_of_two_in_sync",
    replication_packet_comes_twice: "replication/packet_comes_twice",
    replication_retried_batch_waits: "replication/retried_batch_waits",
    replication_slow_follower_leaves_and_returns: "replication/slow_follower_leaves_and_returns",
    replication_too_few_in_sync_refuses: "replication/too_few_in_sync_refuses",
    truncation_fast_leader_changes: "truncation/fast_leader_changes",
    truncation_follower_crashes: "truncation/follower_crashes",
    truncation_high_watermark_diverges: "truncation/high_watermark_diverges",
    truncation_high_watermark_loses: "truncation/high_watermark_loses",
    truncation_leader_crashes: "truncation/leader_crashes",
    truncation_leader_epoch_keeps: "truncation/leader_epoch_keeps",
    truncation_leader_epoch_meets: "truncation/leader_epoch_meets",
}
