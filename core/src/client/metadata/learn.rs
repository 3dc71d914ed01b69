//! What an answer changes in what a client knows.

use super::*;

impl Metadata {
    /// Takes in an answer. One without brokers comes from a broker that starts, and counts as none.
    pub(in crate::client) fn learn(&mut self, cx: &mut ClientCx, asked: AskedFor, answer: &MetadataResponse) {
        if answer.brokers.is_empty() {
            return self.failed(cx, "the answer names no broker");
        }
        self.last_refresh_ms = cx.now;
        self.failures = 0;
        self.failing_since = None;
        self.updates += 1;
        self.without_news += 1;
        self.needs_partial = asked.version < self.added;
        if !asked.partial {
            self.needs_full = false;
            self.last_full_ms = Some(cx.now);
        }
        self.cluster_id = answer.cluster_id.as_deref().map(Arc::from);
        self.controller = (answer.controller_id >= 0).then_some(answer.controller_id);
        self.learn_brokers(answer);
        let told = cx.cause;
        self.learn_topics(cx, asked, answer);
        self.not_before = cx.now
            + self
                .retry_backoff
                .backoff_ms(self.without_news.saturating_sub(1), cx.rng);
        cx.cause = told;
        let topics = || {
            self.topics
                .iter()
                .map(|(name, topic)| (name.clone(), topic.partition_count()))
        };
        let known = cx.emit(|| {
            Fact::Client(ClientFact::MetadataUpdated {
                brokers: self.brokers.keys().copied().collect(),
                topics: topics().collect(),
            })
        });
        if self.is_update_wanted() {
            self.cause = known;
        }
        cx.cause = known;
    }

    fn learn_brokers(&mut self, answer: &MetadataResponse) {
        self.bootstrapping = false;
        self.brokers.clear();
        for broker in &answer.brokers {
            // A port that is none cannot be connected to; such a broker is as good as not named.
            let Ok(port) = u16::try_from(broker.port) else {
                continue;
            };
            let broker = Broker {
                id: broker.node_id,
                host: (&*broker.host).into(),
                port,
                rack: broker.rack.as_deref().map(Arc::from),
            };
            self.brokers.insert(broker.id, broker);
        }
    }

    /// Topics that were asked for are as the answer says; those that were not are as before.
    fn learn_topics(&mut self, cx: &mut ClientCx, asked: AskedFor, answer: &MetadataResponse) {
        let mut before = std::mem::take(&mut self.topics);
        if !asked.partial {
            self.errors.clear();
        }
        for told in &answer.topics {
            let Some(name) = told.name.as_deref() else {
                continue;
            };
            let name: Arc<str> = name.into();
            let old = before.remove(&name);
            self.new.remove(&name);
            self.errors.remove(&name);
            if !self.retains(&name, cx.now) {
                continue;
            }
            match ErrorCode::from_code(told.error_code).unwrap_or(ErrorCode::UnknownServerError) {
                ErrorCode::None => {
                    let topic = self.learn_topic(cx, &name, old, told);
                    self.topics.insert(name, topic);
                }
                code => {
                    self.needs_full |= is_invalid_metadata(code);
                    let topic = name.clone();
                    cx.emit(|| Fact::Client(ClientFact::TopicRefused { topic, code }));
                    self.errors.insert(name, code);
                }
            }
        }
        if asked.partial {
            before.retain(|name, _| self.retains(name, cx.now));
            before.append(&mut self.topics);
            self.topics = before;
        }
        let (wants_all, wanted) = (self.wants_all, &self.wanted);
        self.epochs
            .retain(|partition, _| wants_all || wanted.contains_key(&partition.topic));
        self.errors
            .retain(|topic, _| wants_all || wanted.contains_key(topic));
    }

    fn learn_topic(
        &mut self,
        cx: &mut ClientCx,
        name: &Arc<str>,
        old: Option<TopicMetadata>,
        told: &MetadataResponseTopic,
    ) -> TopicMetadata {
        let old = old.unwrap_or_default();
        let id = Uuid::from(told.topic_id);
        let is_another = !id.is_zero() && id != old.id;
        // Partitions are numbered without gaps: no index is believed beyond as many as were told.
        let count = told.partitions.len();
        let mut partitions = vec![None; count];
        for found in &told.partitions {
            let Some(place) = usize::try_from(found.partition_index)
                .ok()
                .and_then(|at| partitions.get_mut(at))
            else {
                continue;
            };
            let code = ErrorCode::from_code(found.error_code).unwrap_or(ErrorCode::UnknownServerError);
            self.needs_full |= is_invalid_metadata(code);
            let partition = TopicPartition::new(name.clone(), found.partition_index);
            let new = PartitionMetadata {
                leader: (found.leader_id >= 0).then_some(found.leader_id),
                leader_epoch: (found.leader_epoch >= 0).then_some(found.leader_epoch),
                replicas: found.replica_nodes.clone(),
                isr: found.isr_nodes.clone(),
                offline: found.offline_replicas.clone(),
            };
            let seen = self.epochs.get(&partition).copied();
            *place = match (new.leader_epoch, seen) {
                (Some(told), Some(known)) if told < known && !is_another => {
                    cx.emit(|| {
                        Fact::Client(ClientFact::StaleLeaderIgnored {
                            partition,
                            told,
                            known,
                        })
                    });
                    old.partitions
                        .get(found.partition_index as usize)
                        .cloned()
                        .flatten()
                }
                (Some(told), _) => {
                    if self.epochs.insert(partition, told) != Some(told) {
                        self.without_news = 0;
                    }
                    Some(new)
                }
                (None, _) => {
                    self.epochs.remove(&partition);
                    self.without_news = 0;
                    Some(new)
                }
            };
        }
        TopicMetadata {
            id,
            internal: told.is_internal,
            partitions,
        }
    }

    /// Whether the topic is still wanted; one that nobody used for long is forgotten.
    fn retains(&mut self, topic: &str, now: Millis) -> bool {
        if self.wants_all || self.new.contains(topic) {
            return true;
        }
        match self.wanted.get(topic) {
            Some(until) if *until > now => true,
            Some(_) => {
                self.wanted.remove(topic);
                false
            }
            None => false,
        }
    }

    /// Takes in the leaders that an answer to Produce or Fetch named (KIP-951); those that changed.
    /// Only what is newer than what is known counts, and only with a broker whose address is known.
    pub fn update_leaders(
        &mut self,
        cx: &mut ClientCx,
        leaders: &[(TopicPartition, LeaderIdAndEpoch)],
        endpoints: &[NodeEndpoint],
    ) -> Vec<TopicPartition> {
        for endpoint in endpoints {
            if let (Ok(port), false) = (u16::try_from(endpoint.port), endpoint.node_id < 0) {
                let broker = Broker {
                    id: endpoint.node_id,
                    host: (&*endpoint.host).into(),
                    port,
                    rack: endpoint.rack.as_deref().map(Arc::from),
                };
                self.brokers.insert(broker.id, broker);
            }
        }
        let mut changed = Vec::new();
        for (partition, new) in leaders {
            let is_newer = self
                .last_seen_epoch(partition)
                .is_none_or(|seen| seen < new.leader_epoch);
            let is_known = new.leader_id >= 0 && self.brokers.contains_key(&new.leader_id);
            if !is_newer || !is_known || new.leader_epoch < 0 {
                continue;
            }
            let topic = self.topics.get_mut(&partition.topic);
            let place = topic.and_then(|topic| {
                let index = usize::try_from(partition.partition).ok()?;
                topic.partitions.get_mut(index)?.as_mut()
            });
            if let Some(place) = place {
                place.leader = Some(new.leader_id);
                place.leader_epoch = Some(new.leader_epoch);
                self.epochs.insert(partition.clone(), new.leader_epoch);
                changed.push(partition.clone());
                cx.emit(|| {
                    Fact::Client(ClientFact::LeaderLearned {
                        partition: partition.clone(),
                        leader: new.leader_id,
                        epoch: new.leader_epoch,
                    })
                });
            }
        }
        changed
    }
}

/// The errors that say that what is known is stale (Kafka's `InvalidMetadataException`).
pub fn is_invalid_metadata(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UnknownTopicOrPartition
            | ErrorCode::LeaderNotAvailable
            | ErrorCode::NotLeaderOrFollower
            | ErrorCode::ReplicaNotAvailable
            | ErrorCode::ListenerNotFound
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::KafkaStorageError
            | ErrorCode::NetworkException
            | ErrorCode::UnknownTopicId
            | ErrorCode::InconsistentTopicId
            | ErrorCode::PreferredLeaderNotAvailable
            | ErrorCode::EligibleLeadersNotAvailable
            | ErrorCode::ElectionNotNeeded
    )
}
