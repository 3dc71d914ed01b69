//! The id under which records are numbered: given, refused, given later.

use super::script::*;
use crate::error::ErrorCode;

#[test]
fn nothing_goes_out_before_there_is_an_id_and_a_passing_refusal_is_waited_out() {
    let mut script = Script::new(&[(1, 0)], &[("linger.ms", "0")]);
    script.id_errors = vec![ErrorCode::CoordinatorLoadInProgress; 2];
    let id = script.send(0, &["a"])[0];
    script.advance(50);
    assert!(script.open.is_empty());
    script.advance(1_000);
    let header = batches(&script.open[0])[0].header;
    assert_eq!((header.producer_id, header.base_sequence), (PRODUCER_ID, 0));
    assert_eq!(script.next_values(), ["a"]);
    assert!(script.ended[&id].is_ok());
}

#[test]
fn whoever_may_not_number_records_loses_those_that_wait_and_asks_again() {
    let mut script = Script::new(&[(1, 0)], &[("linger.ms", "0")]);
    script.id_errors = vec![
        ErrorCode::CoordinatorNotAvailable,
        ErrorCode::ClusterAuthorizationFailed,
    ];
    let lost = script.send(0, &["lost"])[0];
    script.advance(300);
    let error = script.ended[&lost].clone().unwrap_err();
    assert_eq!(error.code(), ErrorCode::ClusterAuthorizationFailed);
    script.send(0, &["next"]);
    script.advance(1_000);
    assert_eq!(script.next_values(), ["next"]);
}

#[test]
fn a_refusal_for_good_ends_everything() {
    let mut script = Script::new(&[(1, 0)], &[("linger.ms", "0")]);
    script.id_errors = vec![ErrorCode::UnsupportedVersion];
    for value in ["a", "b"] {
        let id = script.send(0, &[value])[0];
        script.advance(300);
        let error = script.ended[&id].clone().unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnsupportedVersion);
    }
    assert!(script.all_memory_is_back());
}
