//! Admission: what a connection does with a frame before the owner sees it.
//!
//! Decoding and checking records takes most of a request's time and needs nothing of the broker but
//! a few rules, so it happens on the connection's side, against a snapshot of those rules. The
//! owner only decides. When the rules have changed in between, the owner checks again, once.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::{ErrorCode, Malformed};
use crate::ordered::OrderedMap;
use crate::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use crate::protocol::{ApiKey, RequestBody, StrBytes, decode_request};
use crate::record::{
    BatchHeader, BatchRefused, Codec, Validated, ValidationRules, Workspace, validate_produced,
};
use crate::types::{Millis, PartitionIndex, Uuid};

/// First version of Produce that may carry zstd.
const FIRST_WITH_ZSTD: i16 = 7;

/// What the batches of one topic are checked against.
#[derive(Clone, Debug)]
pub struct TopicRules {
    pub name: Arc<str>,
    pub id: Uuid,
    pub validation: ValidationRules,
}

/// The rules for admitting requests: a snapshot, replaced as a whole when a topic or a configuration changes.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    by_name: OrderedMap<Arc<str>, Arc<TopicRules>>,
    by_id: OrderedMap<Uuid, Arc<TopicRules>>,
}

impl Admission {
    pub(super) fn new(topics: impl Iterator<Item = Arc<TopicRules>>) -> Self {
        let by_name: OrderedMap<_, _> = topics.map(|rules| (rules.name.clone(), rules)).collect();
        let by_id = by_name.values().map(|rules| (rules.id, rules.clone())).collect();
        Self { by_name, by_id }
    }

    fn rules(&self, name: &str, id: Uuid) -> Option<&Arc<TopicRules>> {
        if id.is_zero() {
            self.by_name.get(name)
        } else {
            self.by_id.get(&id)
        }
    }
}

/// A request, decoded and (for produce) validated.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub api: ApiKey,
    pub version: i16,
    pub correlation_id: i32,
    /// Who asks, in the client's own words.
    pub client_id: Option<StrBytes>,
    /// Where from, as Java writes an address (`/127.0.0.1`): the host knows, if anybody wants it.
    pub client_host: Option<Arc<str>>,
    /// Produces may be handled behind unanswered produces of their connection; anything else waits.
    pub is_produce: bool,
    /// False for a produce with acks=0: its answer has no part and only frees its place.
    pub expects_answer: bool,
    /// Length of the frame that the request keeps alive, for the memory budget.
    pub frame_bytes: u64,
    pub(super) body: Body,
}

/// What was asked, in the form that the owner takes it.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Produce(AdmittedProduce),
    /// Boxed, since some requests are much larger than what a produce is in memory.
    Other(Box<RequestBody>),
}

/// A produce request whose batches were checked.
#[derive(Clone, Debug)]
pub(super) struct AdmittedProduce {
    pub transactional_id: Option<StrBytes>,
    pub acks: i16,
    pub timeout_ms: i32,
    pub topics: Vec<AdmittedTopic>,
}

#[derive(Clone, Debug)]
pub(super) struct AdmittedTopic {
    pub name: StrBytes,
    pub id: Uuid,
    pub partitions: Vec<AdmittedPartition>,
}

#[derive(Clone, Debug)]
pub(super) struct AdmittedPartition {
    pub index: PartitionIndex,
    /// As they came, for the case that the rules have changed.
    records: Bytes,
    /// What the check found, and by which rules; `None` when the topic was not known.
    checked: Option<(Arc<TopicRules>, Result<Validated, BatchRefused>)>,
}

impl AdmittedPartition {
    /// Whether the records are said to belong to a transaction.
    pub(super) fn is_transactional(&self) -> bool {
        BatchHeader::parse(&self.records).is_some_and(|header| header.is_transactional())
    }

    /// The batch as the topic's present rules see it: as checked, or checked again.
    pub(super) fn settle(
        self,
        rules: &Arc<TopicRules>,
        version: i16,
        now: Millis,
        workspace: &mut Workspace,
    ) -> Result<Validated, BatchRefused> {
        match self.checked {
            Some((by, outcome)) if Arc::ptr_eq(&by, rules) => outcome,
            _ => check(&self.records, rules, version, now, workspace),
        }
    }
}

/// A produce of so many bytes whose batches have to be unpacked is long work.
const LONG_BYTES: usize = 256 << 10;

/// Whether to admit the frame is long work, by its looks: a large produce with a compressed batch.
fn takes_long(frame: &Bytes) -> bool {
    let is_large_produce =
        frame.len() >= LONG_BYTES && frame.first_chunk() == Some(&ApiKey::Produce.code().to_be_bytes());
    if !is_large_produce {
        return false;
    }
    let Ok(RequestBody::Produce(produce)) = decode_request(frame.clone()).map(|request| request.body) else {
        return false;
    };
    let mut partitions = produce.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.any(|partition| {
        let records = partition.records.as_deref().unwrap_or_default();
        let codec = BatchHeader::parse(records).and_then(|header| header.codec());
        codec.is_some_and(|codec| codec != Codec::None)
    })
}

/// What the batches of a frame may come to, when unpacked, before that is long work.
const LONG_UNPACKED_BYTES: usize = 1 << 20;

/// Admits a frame like [`admit`], but not when that turns out to be long work: `None`, and the frame is to
/// be admitted apart. How far a small batch unpacks is only known by doing it.
pub fn admit_if_short(
    frame: &Bytes,
    rules: &Admission,
    now: Millis,
    workspace: &mut Workspace,
) -> Result<Option<Admitted>, Malformed> {
    if takes_long(frame) {
        return Ok(None);
    }
    workspace.allow(LONG_UNPACKED_BYTES);
    let admitted = admit(frame, rules, now, workspace);
    let is_over = workspace.is_over();
    workspace.allow(usize::MAX);
    admitted.map(|admitted| (!is_over).then_some(admitted))
}

/// Decodes a frame (without its length prefix) and checks what it carries.
///
/// An error means that the connection must be closed; the error's text is the reason. A request
/// that is well formed but wrong (unknown topic, bad batch) is admitted and answered with Kafka's error.
/// The workspace is the caller's own, one per thread or connection.
pub fn admit(
    frame: &Bytes,
    rules: &Admission,
    now: Millis,
    workspace: &mut Workspace,
) -> Result<Admitted, Malformed> {
    let frame_bytes = frame.len() as u64;
    let request = decode_request(frame.clone())?;
    let header = request.header;
    let (body, expects_answer) = match request.body {
        RequestBody::Produce(produce) => {
            let expects_answer = produce.acks != 0;
            let admitted = admit_produce(produce, header.version, rules, now, workspace);
            (Body::Produce(admitted), expects_answer)
        }
        other => (Body::Other(Box::new(other)), true),
    };
    Ok(Admitted {
        api: header.api,
        version: header.version,
        correlation_id: header.correlation_id,
        client_id: header.client_id,
        client_host: None,
        is_produce: header.api == ApiKey::Produce,
        expects_answer,
        frame_bytes,
        body,
    })
}

fn admit_produce(
    request: ProduceRequest,
    version: i16,
    admission: &Admission,
    now: Millis,
    workspace: &mut Workspace,
) -> AdmittedProduce {
    let mut admit_topic = |topic: ProduceTopic| {
        let rules = admission.rules(&topic.name, topic.topic_id);
        let admit_partition = |ProducePartition { index, records }: ProducePartition| {
            let records = records.unwrap_or_default();
            let checked = rules.map(|rules| {
                let outcome = check(&records, rules, version, now, workspace);
                (rules.clone(), outcome)
            });
            AdmittedPartition {
                index,
                records,
                checked,
            }
        };
        AdmittedTopic {
            partitions: topic.partitions.into_iter().map(admit_partition).collect(),
            name: topic.name,
            id: topic.topic_id,
        }
    };
    AdmittedProduce {
        transactional_id: request.transactional_id,
        acks: request.acks,
        timeout_ms: request.timeout_ms,
        topics: request.topics.into_iter().map(&mut admit_topic).collect(),
    }
}

fn check(
    records: &Bytes,
    rules: &TopicRules,
    version: i16,
    now: Millis,
    workspace: &mut Workspace,
) -> Result<Validated, BatchRefused> {
    let sent_as = BatchHeader::parse(records).and_then(|header| header.codec());
    if version < FIRST_WITH_ZSTD && sent_as == Some(Codec::Zstd) {
        return Err(BatchRefused::new(
            ErrorCode::UnsupportedCompressionType,
            format!("zstd needs Produce version {FIRST_WITH_ZSTD}, not {version}"),
        ));
    }
    validate_produced(records, &rules.validation, now, workspace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{RequestHeader, encode_request};
    use crate::record::BatchBuilder;

    /// A produce to topic `t` with a batch for each of these many zeros.
    fn frame(codec: Codec, zeros: &[usize]) -> Bytes {
        let batch = |&zeros: &usize| {
            let mut builder = BatchBuilder::new(codec);
            builder.append(1, None, Some(&vec![0; zeros]), &[]);
            builder.build()
        };
        let partition = |(index, records)| ProducePartition {
            index,
            records: Some(records),
        };
        let produce = ProduceRequest {
            transactional_id: None,
            acks: 1,
            timeout_ms: 0,
            topics: vec![ProduceTopic {
                name: "t".into(),
                topic_id: Uuid::ZERO,
                partitions: (0..).zip(zeros.iter().map(batch)).map(partition).collect(),
            }],
        };
        let header = RequestHeader {
            api: ApiKey::Produce,
            version: 12,
            correlation_id: 1,
            client_id: None,
        };
        let frame = encode_request(&header, &RequestBody::Produce(produce)).unwrap();
        frame.slice(4..)
    }

    fn rules() -> Admission {
        let rules = TopicRules {
            name: "t".into(),
            id: Uuid([1; 16]),
            validation: ValidationRules::default(),
        };
        Admission::new(std::iter::once(Arc::new(rules)))
    }

    fn all_fit(admitted: &Admitted) -> bool {
        let Body::Produce(produce) = &admitted.body else {
            return false;
        };
        let mut partitions = produce.topics.iter().flat_map(|topic| &topic.partitions);
        partitions.all(|partition| matches!(partition.checked, Some((_, Ok(_)))))
    }

    #[test]
    fn a_small_batch_that_unpacks_far_is_left_for_later() {
        let (rules, mut workspace) = (rules(), Workspace::default());
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            for (zeros, is_short) in [
                (&[1000][..], true),
                (&[500_000, 500_000], true),
                (&[3_000_000], false),
                (&[500_000, 500_000, 500_000], false),
                (&[1000], true),
            ] {
                let frame = frame(codec, zeros);
                let admitted = admit_if_short(&frame, &rules, 1, &mut workspace).unwrap();
                assert_eq!(
                    admitted.as_ref().map(all_fit),
                    is_short.then_some(true),
                    "{codec:?} {zeros:?}"
                );
                assert!(
                    all_fit(&admit(&frame, &rules, 1, &mut workspace).unwrap()),
                    "{codec:?} {zeros:?}"
                );
            }
        }
    }

    #[test]
    fn a_large_frame_is_left_for_later_only_if_it_must_be_unpacked() {
        let (rules, mut workspace) = (rules(), Workspace::default());
        let plain = frame(Codec::None, &[900_000]);
        assert!(plain.len() >= LONG_BYTES);
        assert!(
            admit_if_short(&plain, &rules, 1, &mut workspace)
                .unwrap()
                .is_some()
        );
        let packed = frame(Codec::Gzip, &vec![0; 8000]);
        assert!(packed.len() >= LONG_BYTES);
        assert!(
            admit_if_short(&packed, &rules, 1, &mut workspace)
                .unwrap()
                .is_none()
        );
    }
}
