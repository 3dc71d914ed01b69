//! Admission of answers: what a host does with another broker's answer before the owner sees it.
//!
//! As with requests ([`admit`](super::admit())), decoding and checking records needs nothing of the
//! broker, so it happens on the connection's side.

use bytes::Bytes;

use crate::error::Malformed;
use crate::protocol::fetch::Fetched;
use crate::protocol::{ResponseBody, SentAs, decode_response};

/// An answer, decoded and (for fetch) checked.
#[derive(Clone, Debug)]
pub struct AdmittedAnswer {
    /// Must be that of the request; if it is not, the connection is out of step.
    pub correlation_id: i32,
    pub body: AnswerBody,
}

/// What was answered, in the form that the owner takes it.
#[derive(Clone, Debug)]
pub enum AnswerBody {
    /// To a fetch: batches to append.
    Fetched(Fetched),
    /// To anything else.
    Other(ResponseBody),
}

/// Decodes an answer's frame (without its length prefix) and checks what it carries. An error means
/// that the connection must be closed, and that the request's fate is not known. Bad records are no
/// such error: they are told with their partition.
pub fn admit_answer(frame: &Bytes, sent: SentAs) -> Result<AdmittedAnswer, Malformed> {
    let response = decode_response(sent.api, sent.version, frame.clone())?;
    Ok(AdmittedAnswer {
        correlation_id: response.correlation_id,
        body: match response.body {
            ResponseBody::Fetch(response) => AnswerBody::Fetched(response.check()),
            other => AnswerBody::Other(other),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Part, Parts};
    use crate::error::ErrorCode;
    use crate::protocol::fetch::{
        EpochEndOffset, FetchPartitionResponse, FetchResponse, FetchTopicResponse, FetchedRecords,
    };
    use crate::protocol::leadership::LeaderIdAndEpoch;
    use crate::protocol::{ApiKey, encode_response};
    use crate::record::InvalidBatch;

    const SENT: SentAs = SentAs {
        api: ApiKey::Fetch,
        version: 17,
    };

    /// What a leader of Kafka 3.9 answers: two batches; a diverging epoch; a leadership error.
    fn kafkas_answer() -> Bytes {
        let text = include_str!("../../../tests/fixtures/control-3.9/01-Fetch-v17.txt");
        let hex = text
            .lines()
            .find_map(|line| line.strip_prefix("response "))
            .unwrap();
        let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digits).collect()
    }

    fn fetched(frame: &Bytes) -> Fetched {
        let answer = admit_answer(frame, SENT).unwrap();
        assert_eq!(answer.correlation_id, 77);
        match answer.body {
            AnswerBody::Fetched(fetched) => fetched,
            AnswerBody::Other(other) => panic!("{}", other.api()),
        }
    }

    /// The records of Kafka's answer, as they stand in it.
    fn kafkas_records() -> Bytes {
        let ResponseBody::Fetch(answer) = decode_response(SENT.api, SENT.version, kafkas_answer())
            .unwrap()
            .body
        else {
            panic!("another API")
        };
        match answer.topics[0].partitions[0].records.as_deref() {
            Some([Part::Bytes(bytes)]) => bytes.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// An answer with these records in two partitions, and what a follower sees of the first.
    fn admitted(first: Bytes) -> Result<FetchedRecords, InvalidBatch> {
        let of = |partition, records| FetchPartitionResponse {
            partition,
            records: Some(Parts::from_iter([Part::Bytes(records)])),
            ..FetchPartitionResponse::default()
        };
        let topic = FetchTopicResponse {
            partitions: vec![of(0, first), of(1, kafkas_records())],
            ..FetchTopicResponse::default()
        };
        let response = FetchResponse {
            topics: vec![topic],
            ..FetchResponse::default()
        };
        let parts = encode_response(77, SENT.version, &response.into()).unwrap();
        let bytes = parts.iter().flat_map(|part| match part {
            Part::Bytes(bytes) => bytes.to_vec(),
            Part::File { .. } => panic!("a file range"),
        });
        let frame = Bytes::from_iter(bytes).slice(4..);
        let [first, second] = fetched(&frame).topics.remove(0).partitions.try_into().unwrap();
        assert_eq!(
            second.records.map(|records| records.batches.len()),
            Ok(2),
            "the other partition"
        );
        first.records
    }

    #[test]
    fn a_leaders_answer_comes_as_batches_that_are_slices_of_it() {
        let frame = kafkas_answer();
        let fetched = fetched(&frame);
        assert_eq!((fetched.error_code, fetched.session_id), (ErrorCode::None, 123));
        let [good, diverged, moved] = &fetched.topics[0].partitions[..] else {
            panic!("{fetched:?}")
        };
        assert_eq!((good.high_watermark, good.log_start_offset), (990, 12));
        let batches = &good.records.as_ref().unwrap().batches;
        let offsets: Vec<_> = batches
            .iter()
            .map(|b| (b.header.base_offset, b.header.partition_leader_epoch))
            .collect();
        assert_eq!(offsets, [(1000, 9), (1001, 9)]);
        let range = frame.as_ptr_range();
        assert!(batches.iter().all(|batch| range.contains(&batch.bytes.as_ptr())));
        let end = EpochEndOffset {
            epoch: 2,
            end_offset: 17,
        };
        assert_eq!(diverged.diverging_epoch, Some(end));
        assert_eq!(diverged.records, Ok(FetchedRecords::default()));
        let leader = LeaderIdAndEpoch {
            leader_id: 3,
            leader_epoch: 10,
        };
        assert_eq!(
            (moved.error_code, moved.current_leader),
            (ErrorCode::FencedLeaderEpoch, Some(leader))
        );
        assert_eq!(good.diverging_epoch, None);
    }

    #[test]
    fn a_spoiled_bit_is_told_with_its_partition_and_hurts_no_other() {
        let records = kafkas_records();
        for at in [21, 40, records.len() - 1] {
            let mut spoiled = records.to_vec();
            spoiled[at] ^= 1;
            assert!(
                matches!(admitted(spoiled.into()), Err(InvalidBatch::Crc { .. })),
                "byte {at}"
            );
        }
        let mut spoiled = records.to_vec();
        spoiled[16] = 1;
        assert_eq!(admitted(spoiled.into()), Err(InvalidBatch::OldMagic(1)));
    }

    #[test]
    fn a_batch_that_was_cut_short_at_the_end_is_left_out() {
        let records = kafkas_records();
        let first_bytes = records.len() / 2;
        for end in first_bytes..records.len() {
            let cut = admitted(records.slice(..end)).unwrap();
            assert_eq!(
                (cut.batches.len(), cut.cut_off_bytes),
                (1, (end - first_bytes) as u64)
            );
        }
        let nothing_whole = admitted(records.slice(..first_bytes - 1)).unwrap();
        assert_eq!(nothing_whole.batches, []);
        assert_eq!(nothing_whole.cut_off_bytes, first_bytes as u64 - 1);
    }

    #[test]
    fn an_answer_to_anything_else_is_only_decoded() {
        let frame = Bytes::from_static(&[0, 0, 0, 7, 0, 11]);
        let sent = SentAs {
            api: ApiKey::UpdateMetadata,
            version: 5,
        };
        let answer = admit_answer(&frame, sent).unwrap();
        let AnswerBody::Other(ResponseBody::UpdateMetadata(body)) = answer.body else {
            panic!("{answer:?}")
        };
        assert_eq!(body.error_code, ErrorCode::StaleControllerEpoch);
        assert!(admit_answer(&frame.slice(..5), sent).is_err());
    }
}
