//! What the controller says: LeaderAndIsr, StopReplica, UpdateMetadata (Kafka 3.9's `ReplicaManager`
//! and `MetadataCache`).
//!
//! They are carried out one after the other, in the order in which they came, partition by partition in
//! short steps. One that names a topic whose settings are not known yet waits until they are read,
//! and those behind it wait too: a log is never begun with the wrong settings.
//!
//! Invariants
//! - a word of an older controller is answered STALE_CONTROLLER_EPOCH, one to an older life of this
//!   broker STALE_BROKER_EPOCH; neither changes anything
//! - a partition that the cluster has known before is never begun anew while a log directory that may
//!   hold it is offline

use std::collections::VecDeque;

use super::configs::Owner;
use crate::broker::State;
use crate::broker::caller::Caller;
use crate::broker::work::Step;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::protocol::ResponseBody;
use crate::protocol::control::{
    LeaderAndIsrPartitionError, LeaderAndIsrRequest, LeaderAndIsrResponse, LeaderAndIsrTopicError,
    StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse, UpdateMetadataRequest,
    UpdateMetadataResponse,
};
use crate::trace::EventId;
use crate::types::{TopicPartition, Uuid};

/// A controller's word.
#[derive(Clone, Debug)]
pub(in crate::broker) enum Word {
    LeaderAndIsr(LeaderAndIsrRequest),
    StopReplica(StopReplicaRequest),
    UpdateMetadata(UpdateMetadataRequest),
}

impl Word {
    fn controller(&self) -> (i32, i32, i64) {
        match self {
            Word::LeaderAndIsr(word) => (word.controller_id, word.controller_epoch, word.broker_epoch),
            Word::StopReplica(word) => (word.controller_id, word.controller_epoch, word.broker_epoch),
            Word::UpdateMetadata(word) => (word.controller_id, word.controller_epoch, word.broker_epoch),
        }
    }

    fn refused(&self, code: ErrorCode) -> ResponseBody {
        match self {
            Word::LeaderAndIsr(_) => LeaderAndIsrResponse {
                error_code: code,
                topics: Vec::new(),
            }
            .into(),
            Word::StopReplica(_) => StopReplicaResponse {
                error_code: code,
                partitions: Vec::new(),
            }
            .into(),
            Word::UpdateMetadata(_) => UpdateMetadataResponse { error_code: code }.into(),
        }
    }
}

/// Who is told how it went.
#[derive(Clone, Copy, Debug)]
pub(in crate::broker) enum Speaker {
    /// Another broker's controller.
    Caller(Caller),
    /// The controller in this broker.
    Own,
}

/// A word that is being carried out.
#[derive(Clone, Debug)]
pub(in crate::broker) struct WordUnderWay {
    speaker: Speaker,
    word: Word,
    answer: ResponseBody,
    topic: usize,
    partition: usize,
    /// That it was said.
    cause: EventId,
}

/// Words that wait for their turn.
#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct Words {
    waiting: VecDeque<(Speaker, Word, EventId)>,
    /// One is in the hands of the steps.
    under_way: bool,
    /// Settings were asked for, for the first that waits.
    asked: bool,
}

impl Words {
    /// Whether something that the controller said is not carried out yet.
    pub fn is_busy(&self) -> bool {
        self.under_way || !self.waiting.is_empty()
    }
}

impl State {
    pub(in crate::broker) fn controller_says(&mut self, cx: &mut Cx, speaker: Speaker, word: Word) {
        self.cluster.words.waiting.push_back((speaker, word, cx.cause));
        self.words_go_on(cx);
    }

    /// Begins the next word, if it may begin.
    pub(in crate::broker) fn words_go_on(&mut self, cx: &mut Cx) {
        while !self.cluster.words.under_way {
            let Some((_, word, _)) = self.cluster.words.waiting.front() else {
                return self.give_answers(cx);
            };
            let missing = self.missing_settings(word);
            if !missing.is_empty() && self.cluster.lost.is_none() {
                if !std::mem::replace(&mut self.cluster.words.asked, true) {
                    for portion in super::session::in_portions(&missing) {
                        self.read_configs(portion);
                    }
                }
                return;
            }
            self.cluster.words.asked = false;
            if let Some((speaker, word, said)) = self.cluster.words.waiting.pop_front() {
                cx.cause = said;
                self.begin_word(cx, speaker, word);
            }
        }
    }

    /// What the last session was asked for will not be answered.
    pub(super) fn words_ask_anew(&mut self, cx: &mut Cx) {
        self.cluster.words.asked = false;
        self.words_go_on(cx);
    }

    /// The topic that the first waiting word speaks of, by name: its settings are being read.
    pub(super) fn awaited_topic(&self, name: &str) -> Option<Uuid> {
        let (_, word, _) = self.cluster.words.waiting.front()?;
        let Word::LeaderAndIsr(word) = word else {
            return None;
        };
        let topic = word.topics.iter().find(|topic| &*topic.name == name)?;
        Some(topic.topic_id)
    }

    fn missing_settings(&self, word: &Word) -> Vec<Owner> {
        let Word::LeaderAndIsr(word) = word else {
            return Vec::new();
        };
        let unknown = word
            .topics
            .iter()
            .filter(|topic| !self.cluster.configs.knows(&topic.name, topic.topic_id));
        unknown.map(|topic| Owner::Topic(topic.name.clone())).collect()
    }

    fn begin_word(&mut self, cx: &mut Cx, speaker: Speaker, word: Word) {
        let (id, epoch, broker_epoch) = word.controller();
        let stale = if epoch < self.cluster.controller_epoch {
            Some(ErrorCode::StaleControllerEpoch)
        } else if broker_epoch >= 0 && broker_epoch < self.cluster.broker_epoch {
            Some(ErrorCode::StaleBrokerEpoch)
        } else {
            None
        };
        if let Some(code) = stale {
            let answer = word.refused(code);
            return self.word_answered(cx, speaker, answer);
        }
        self.cluster.controller_epoch = epoch;
        self.cluster.controller_id = id;
        let answer = match &word {
            Word::LeaderAndIsr(_) => LeaderAndIsrResponse {
                error_code: ErrorCode::None,
                topics: Vec::new(),
            }
            .into(),
            word => word.refused(ErrorCode::None),
        };
        self.cluster.words.under_way = true;
        let under_way = WordUnderWay {
            speaker,
            word,
            answer,
            topic: 0,
            partition: 0,
            cause: cx.cause,
        };
        self.run_or_queue(cx, Step::Word(Box::new(under_way)));
    }

    /// Carries out up to `budget` partitions; true when the word is done.
    pub(in crate::broker) fn word_step(
        &mut self,
        cx: &mut Cx,
        under_way: &mut WordUnderWay,
        budget: &mut usize,
    ) -> bool {
        while *budget > 0 {
            if !self.word_partition(cx, under_way) {
                return true;
            }
            *budget -= 1;
        }
        false
    }

    /// The next partition of the word; false when there is none.
    fn word_partition(&mut self, cx: &mut Cx, under_way: &mut WordUnderWay) -> bool {
        let (topic_at, at) = (under_way.topic, under_way.partition);
        cx.cause = under_way.cause;
        under_way.partition += 1;
        let next_topic = |under_way: &mut WordUnderWay| {
            under_way.topic += 1;
            under_way.partition = 0;
            true
        };
        match (&under_way.word, &mut under_way.answer) {
            (Word::LeaderAndIsr(word), ResponseBody::LeaderAndIsr(answer)) => {
                let Some(topic) = word.topics.get(topic_at) else {
                    return false;
                };
                if at == 0 {
                    answer.topics.push(LeaderAndIsrTopicError {
                        name: topic.name.clone(),
                        topic_id: topic.topic_id,
                        partitions: Vec::with_capacity(topic.partitions.len()),
                    });
                }
                let Some(partition) = topic.partitions.get(at) else {
                    return next_topic(under_way);
                };
                let outcome = self.lead_or_follow(cx, &topic.name, topic.topic_id, partition);
                if let Some(rows) = answer.topics.last_mut() {
                    rows.partitions.push(LeaderAndIsrPartitionError {
                        partition_index: partition.partition_index,
                        error_code: outcome.err().map_or(ErrorCode::None, |refused| refused.code),
                    });
                }
            }
            (Word::StopReplica(word), ResponseBody::StopReplica(answer)) => {
                let Some(topic) = word.topics.get(topic_at) else {
                    return false;
                };
                let Some(partition) = topic.partitions.get(at) else {
                    return next_topic(under_way);
                };
                let outcome = self.stop_replica(cx, &topic.name, partition);
                answer.partitions.push(StopReplicaPartitionError {
                    partition: TopicPartition::new(topic.name.clone(), partition.partition_index),
                    error_code: outcome.err().map_or(ErrorCode::None, |refused| refused.code),
                });
            }
            (Word::UpdateMetadata(word), _) => {
                if topic_at == 0 && at == 0 {
                    self.brokers_told(cx, word);
                }
                let Some(topic) = word.topics.get(topic_at) else {
                    return false;
                };
                let Some(partition) = topic.partitions.get(at) else {
                    return next_topic(under_way);
                };
                self.partition_told(cx, &topic.name, topic.topic_id, partition);
            }
            _ => return false,
        }
        true
    }

    /// The word is carried out. The next begins when the owner has its turn again.
    pub(in crate::broker) fn word_done(&mut self, cx: &mut Cx, under_way: WordUnderWay) {
        self.cluster.words.under_way = false;
        match &under_way.word {
            Word::LeaderAndIsr(_) => self.fetchers_go_on(cx),
            Word::StopReplica(_) => {}
            Word::UpdateMetadata(word) => self.metadata_updated(cx, word),
        }
        self.word_answered(cx, under_way.speaker, under_way.answer);
    }

    fn word_answered(&mut self, cx: &mut Cx, speaker: Speaker, answer: ResponseBody) {
        match speaker {
            Speaker::Caller(caller) => self.out.answer(&caller, answer),
            Speaker::Own => self.own_word_answered(cx, answer),
        }
    }
}
