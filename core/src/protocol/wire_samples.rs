//! Frames that Apache Kafka 4.4 and its clients exchanged, and what the brokers of Apache Kafka 3.9
//! say to each other: each is decoded and encoded back to the same bytes. The APIs that are served
//! go through the doors that a broker and a client use; the others prove the codec crate, for the day
//! when they are served.

use bytes::{Bytes, BytesMut};
use kafka_wire::{KafkaRequest, KafkaResponse, RequestHeader as WireRequestHeader, ResponseHeader};
use kafka_wire_core::{ApiVersion, DecodeLimits, Decoder, KafkaDecode, KafkaEncode};

use super::*;
use crate::disk::{Part, Parts};

macro_rules! samples {
    ($constant:ident from $folder:literal: $($name:literal,)*) => {
        /// File name and text of every sample of the folder.
        const $constant: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../tests/fixtures/", $folder, $name)))),*];
    };
}

samples! {
    SAMPLES from "wire/":
    "00-Produce-v10.txt",
    "00-Produce-v13.txt",
    "00-Produce-v7.txt",
    "01-Fetch-v11.txt",
    "01-Fetch-v18.txt",
    "02-ListOffsets-v11.txt",
    "02-ListOffsets-v2.txt",
    "03-Metadata-v13.txt",
    "03-Metadata-v4.txt",
    "08-OffsetCommit-v10.txt",
    "08-OffsetCommit-v7.txt",
    "08-OffsetCommit-v9.txt",
    "09-OffsetFetch-v10.txt",
    "09-OffsetFetch-v7.txt",
    "09-OffsetFetch-v9.txt",
    "10-FindCoordinator-v2.txt",
    "10-FindCoordinator-v6.txt",
    "11-JoinGroup-v5.txt",
    "11-JoinGroup-v9.txt",
    "12-Heartbeat-v3.txt",
    "13-LeaveGroup-v1.txt",
    "13-LeaveGroup-v5.txt",
    "14-SyncGroup-v3.txt",
    "14-SyncGroup-v5.txt",
    "15-DescribeGroups-v6.txt",
    "16-ListGroups-v5.txt",
    "18-ApiVersions-v3.txt",
    "18-ApiVersions-v5.txt",
    "19-CreateTopics-v7.txt",
    "20-DeleteTopics-v6.txt",
    "21-DeleteRecords-v2.txt",
    "22-InitProducerId-v4.txt",
    "22-InitProducerId-v5.txt",
    "24-AddPartitionsToTxn-v5.txt",
    "26-EndTxn-v5.txt",
    "27-WriteTxnMarkers-v2.txt",
    "32-DescribeConfigs-v4.txt",
    "35-DescribeLogDirs-v5.txt",
    "37-CreatePartitions-v3.txt",
    "42-DeleteGroups-v3.txt",
    "43-ElectLeaders-v2.txt",
    "44-IncrementalAlterConfigs-v1.txt",
    "46-ListPartitionReassignments-v0.txt",
    "47-OffsetDelete-v0.txt",
    "55-DescribeQuorum-v2.txt",
    "60-DescribeCluster-v2.txt",
    "61-DescribeProducers-v0.txt",
    "65-DescribeTransactions-v0.txt",
    "66-ListTransactions-v2.txt",
    "68-ConsumerGroupHeartbeat-v1.txt",
    "69-ConsumerGroupDescribe-v1.txt",
    "75-DescribeTopicPartitions-v0.txt",
    "76-ShareGroupHeartbeat-v1.txt",
    "83-InitializeShareGroupState-v0.txt",
}

samples! {
    BETWEEN_BROKERS from "control-3.9/":
    "01-Fetch-v12.txt",
    "01-Fetch-v13.txt",
    "01-Fetch-v14.txt",
    "01-Fetch-v15.txt",
    "01-Fetch-v16.txt",
    "01-Fetch-v17.txt",
    "04-LeaderAndIsr-v0.txt",
    "04-LeaderAndIsr-v1.txt",
    "04-LeaderAndIsr-v2.txt",
    "04-LeaderAndIsr-v3.txt",
    "04-LeaderAndIsr-v4.txt",
    "04-LeaderAndIsr-v5.txt",
    "04-LeaderAndIsr-v6.txt",
    "04-LeaderAndIsr-v7.txt",
    "05-StopReplica-v0.txt",
    "05-StopReplica-v1.txt",
    "05-StopReplica-v2.txt",
    "05-StopReplica-v3.txt",
    "05-StopReplica-v4.txt",
    "06-UpdateMetadata-v0.txt",
    "06-UpdateMetadata-v1.txt",
    "06-UpdateMetadata-v2.txt",
    "06-UpdateMetadata-v3.txt",
    "06-UpdateMetadata-v4.txt",
    "06-UpdateMetadata-v5.txt",
    "06-UpdateMetadata-v6.txt",
    "06-UpdateMetadata-v7.txt",
    "06-UpdateMetadata-v8.txt",
    "07-ControlledShutdown-v0.txt",
    "07-ControlledShutdown-v1.txt",
    "07-ControlledShutdown-v2.txt",
    "07-ControlledShutdown-v3.txt",
    "23-OffsetForLeaderEpoch-v3.txt",
    "23-OffsetForLeaderEpoch-v4.txt",
    "56-AlterPartition-v2.txt",
    "56-AlterPartition-v3.txt",
}

pub(super) struct Sample {
    file: &'static str,
    name: &'static str,
    api: ApiKey,
    pub version: i16,
    pub requests: Vec<Bytes>,
    pub responses: Vec<Bytes>,
}

fn unhex(text: &str) -> Bytes {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

/// What Kafka 3.9's brokers say in each version of `api`.
pub(super) fn between_brokers(api: ApiKey) -> impl Iterator<Item = Sample> {
    of(BETWEEN_BROKERS).filter(move |sample| sample.api == api)
}

fn samples() -> impl Iterator<Item = Sample> {
    of(SAMPLES).chain(of(BETWEEN_BROKERS))
}

fn of(texts: &'static [(&str, &str)]) -> impl Iterator<Item = Sample> {
    texts.iter().map(|&(file, text)| {
        let mut name = file.trim_end_matches(".txt").split('-');
        let code: i16 = name.next().unwrap().parse().unwrap();
        let api_name = name.next().unwrap();
        let version = name.next().unwrap().trim_start_matches('v').parse().unwrap();
        let of_kind = |kind: &str| {
            let frames = text.lines().filter_map(|line| line.split_once(' '));
            frames
                .filter(|(found, _)| *found == kind)
                .map(|(_, hex)| unhex(hex))
                .collect()
        };
        Sample {
            file,
            name: api_name,
            api: ApiKey::from_code(code).unwrap(),
            version,
            requests: of_kind("request"),
            responses: of_kind("response"),
        }
    })
}

/// The bytes of an answer that has no file ranges.
fn joined(parts: &Parts) -> Bytes {
    let mut all = BytesMut::new();
    for part in parts {
        match part {
            Part::Bytes(bytes) => all.extend_from_slice(bytes),
            Part::File { .. } => panic!("a file range"),
        }
    }
    all.freeze()
}

fn with_length(frame: &Bytes) -> Vec<u8> {
    [&(frame.len() as i32).to_be_bytes(), &frame[..]].concat()
}

#[test]
fn served_requests_come_back_as_the_same_bytes() {
    let mut seen = 0;
    for sample in samples().filter(|sample| sample.api.served().is_some()) {
        for frame in &sample.requests {
            let request = decode_request(frame.clone()).unwrap_or_else(|e| panic!("{}: {e}", sample.file));
            assert_eq!(
                (request.header.api, request.header.version),
                (sample.api, sample.version)
            );
            assert_eq!(request.body.api(), sample.api);
            let back = encode_request(&request.header, &request.body).unwrap();
            assert_eq!(back, with_length(frame), "{}", sample.file);
            seen += 1;
        }
    }
    assert!(seen >= 60, "{seen} requests");
}

#[test]
fn served_answers_come_back_as_the_same_bytes() {
    let mut seen = 0;
    for sample in samples().filter(|sample| sample.api.served().is_some()) {
        for frame in &sample.responses {
            let response = decode_response(sample.api, sample.version, frame.clone())
                .unwrap_or_else(|e| panic!("{}: {e}", sample.file));
            assert_eq!(response.body.api(), sample.api);
            let back = encode_response(response.correlation_id, sample.version, &response.body).unwrap();
            assert_eq!(joined(&back), with_length(frame), "{}", sample.file);
            seen += 1;
        }
    }
    assert!(seen >= 90, "{seen} answers");
}

/// Decodes header and body with the codec crate alone and encodes them back.
fn round_trip<Q: KafkaRequest, S: KafkaResponse>(sample: &Sample) -> usize {
    let version = ApiVersion::new(sample.version);
    let flexible = i16::from(Q::is_flexible(version));
    for frame in &sample.requests {
        same_bytes::<WireRequestHeader, Q>(sample, frame, ApiVersion::new(1 + flexible));
    }
    for frame in &sample.responses {
        same_bytes::<ResponseHeader, S>(sample, frame, ApiVersion::new(flexible));
    }
    sample.requests.len() + sample.responses.len()
}

fn same_bytes<H: KafkaDecode + KafkaEncode, B: KafkaDecode + KafkaEncode>(
    sample: &Sample,
    frame: &Bytes,
    header_version: ApiVersion,
) {
    let version = ApiVersion::new(sample.version);
    let mut decoder = Decoder::new(frame.clone(), DecodeLimits::default()).unwrap();
    let header = H::decode(&mut decoder, header_version).unwrap();
    let body = B::decode(&mut decoder, version).unwrap_or_else(|e| panic!("{}: {e}", sample.file));
    decoder.finish().unwrap();
    let mut back = BytesMut::new();
    header.encode_into(&mut back, header_version).unwrap();
    body.encode_into(&mut back, version).unwrap();
    assert_eq!(back, frame, "{}", sample.file);
}

macro_rules! not_served {
    ($sample:expr; $($name:ident => $check:expr,)*) => {
        match $sample.name { $(stringify!($name) => $check,)* other => panic!("no codec for {other}") }
    };
}

#[test]
fn the_codec_crate_keeps_the_bytes_of_the_other_apis() {
    let mut seen = 0;
    for sample in &samples()
        .filter(|sample| sample.api.served().is_none())
        .collect::<Vec<_>>()
    {
        seen += not_served! { sample;
        AddPartitionsToTxn => round_trip::<kafka_wire::AddPartitionsToTxnRequest, kafka_wire::AddPartitionsToTxnResponse>(sample),
        EndTxn => round_trip::<kafka_wire::EndTxnRequest, kafka_wire::EndTxnResponse>(sample),
        WriteTxnMarkers => round_trip::<kafka_wire::WriteTxnMarkersRequest, kafka_wire::WriteTxnMarkersResponse>(sample),
        DescribeQuorum => round_trip::<kafka_wire::DescribeQuorumRequest, kafka_wire::DescribeQuorumResponse>(sample),
        DescribeProducers => round_trip::<kafka_wire::DescribeProducersRequest, kafka_wire::DescribeProducersResponse>(sample),
        DescribeTransactions => round_trip::<kafka_wire::DescribeTransactionsRequest, kafka_wire::DescribeTransactionsResponse>(sample),
        ListTransactions => round_trip::<kafka_wire::ListTransactionsRequest, kafka_wire::ListTransactionsResponse>(sample),
        ShareGroupHeartbeat => round_trip::<kafka_wire::ShareGroupHeartbeatRequest, kafka_wire::ShareGroupHeartbeatResponse>(sample),
        InitializeShareGroupState => round_trip::<kafka_wire::InitializeShareGroupStateRequest, kafka_wire::InitializeShareGroupStateResponse>(sample),
        };
    }
    assert!(seen >= 20, "{seen} frames");
}
