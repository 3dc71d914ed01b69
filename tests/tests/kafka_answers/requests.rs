//! The requests of the cases, in few words.

use bytes::Bytes;
use highwater_core::protocol::RequestBody;
use highwater_core::protocol::fetch::{FetchPartition, FetchRequest, FetchTopic};
use highwater_core::protocol::messages::*;
use highwater_core::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use highwater_core::record::{BatchBuilder, Codec};
use highwater_core::types::{Offset, PartitionIndex, Uuid};

/// When all records were made.
pub const TIME: i64 = 1_700_000_000_000;
pub const TIMEOUT_MS: i32 = 10_000;
/// Resource types of configurations.
pub const TOPIC: i8 = 2;
pub const BROKER: i8 = 4;
/// `AlterConfigOp`.
pub const SET: i8 = 0;
pub const DELETE: i8 = 1;
pub const APPEND: i8 = 2;
pub const SUBTRACT: i8 = 3;

/// A batch of these values.
pub fn batch(values: &[&str]) -> Bytes {
    filled(BatchBuilder::new(Codec::None), values)
}

/// The batch with these values, a millisecond apart.
pub fn filled(mut batch: BatchBuilder, values: &[&str]) -> Bytes {
    for (time, value) in (TIME..).zip(values) {
        batch.append(time, Some(b"key"), Some(value.as_bytes()), &[]);
    }
    batch.build()
}

pub fn produce(topic: &str, id: Uuid, partitions: &[(PartitionIndex, Option<Bytes>)]) -> ProduceRequest {
    let partitions = partitions.iter().map(|(index, records)| ProducePartition {
        index: *index,
        records: records.clone(),
    });
    ProduceRequest {
        transactional_id: None,
        acks: -1,
        timeout_ms: TIMEOUT_MS,
        topics: vec![ProduceTopic {
            name: topic.into(),
            topic_id: id,
            partitions: partitions.collect(),
        }],
    }
}

/// One partition of a fetch.
pub fn part(partition: PartitionIndex, fetch_offset: Offset) -> FetchPartition {
    FetchPartition {
        partition,
        fetch_offset,
        max_bytes: 1 << 20,
        ..FetchPartition::default()
    }
}

pub fn fetch(topic: &str, topic_id: Uuid, partitions: Vec<FetchPartition>) -> FetchRequest {
    FetchRequest {
        max_bytes: 1 << 20,
        topics: vec![FetchTopic {
            name: topic.into(),
            topic_id,
            partitions,
        }],
        ..FetchRequest::default()
    }
}

pub fn new_topic(
    name: &str,
    partitions: i32,
    replicas: i16,
    configs: &[(&str, Option<&str>)],
) -> create_topics_request::CreatableTopic {
    message(|topic: &mut create_topics_request::CreatableTopic| {
        topic.name = name.into();
        topic.num_partitions = partitions;
        topic.replication_factor = replicas;
        let config = |(key, value): &(&str, Option<&str>)| {
            message(|config: &mut create_topics_request::CreatableTopicConfig| {
                config.name = (*key).into();
                config.value = value.map(Into::into);
            })
        };
        topic.configs = configs.iter().map(config).collect();
    })
}

/// A topic whose partitions lie on these brokers.
pub fn assigned_topic(name: &str, brokers: &[(i32, &[i32])]) -> create_topics_request::CreatableTopic {
    let mut topic = new_topic(name, -1, -1, &[]);
    let row = |(index, brokers): &(i32, &[i32])| {
        message(|row: &mut create_topics_request::CreatableReplicaAssignment| {
            row.partition_index = *index;
            row.broker_ids = brokers.to_vec();
        })
    };
    topic.assignments = brokers.iter().map(row).collect();
    topic
}

pub fn create_topics(topics: Vec<create_topics_request::CreatableTopic>, validate_only: bool) -> RequestBody {
    RequestBody::CreateTopics(message(|request: &mut CreateTopicsRequest| {
        request.topics = topics;
        request.timeout_ms = TIMEOUT_MS;
        request.validate_only = validate_only;
    }))
}

pub fn create_partitions(topics: &[(&str, i32, Option<&[i32]>)], validate_only: bool) -> RequestBody {
    RequestBody::CreatePartitions(message(|request: &mut CreatePartitionsRequest| {
        let row = |(name, count, brokers): &(&str, i32, Option<&[i32]>)| {
            message(|topic: &mut create_partitions_request::CreatePartitionsTopic| {
                topic.name = (*name).into();
                topic.count = *count;
                topic.assignments = brokers.map(|brokers| {
                    let row = |broker: &i32| {
                        message(
                            |row: &mut create_partitions_request::CreatePartitionsAssignment| {
                                row.broker_ids = vec![*broker];
                            },
                        )
                    };
                    brokers.iter().map(row).collect()
                });
            })
        };
        request.topics = topics.iter().map(row).collect();
        request.timeout_ms = TIMEOUT_MS;
        request.validate_only = validate_only;
    }))
}

/// A topic that Metadata or DeleteTopics is about: by name, by id, by neither.
pub type Named<'a> = (Option<&'a str>, Uuid);

pub fn metadata(topics: Option<&[Named<'_>]>, authorized_operations: bool) -> MetadataRequest {
    message(|request: &mut MetadataRequest| {
        let row = |(name, id): &Named<'_>| {
            message(|topic: &mut metadata_request::MetadataRequestTopic| {
                topic.name = name.map(Into::into);
                topic.topic_id = (*id).into();
            })
        };
        request.topics = topics.map(|topics| topics.iter().map(row).collect());
        request.allow_auto_topic_creation = true;
        request.include_topic_authorized_operations = authorized_operations;
    })
}

/// DeleteTopics as far as version 5.
pub fn delete_names(names: &[&str]) -> RequestBody {
    RequestBody::DeleteTopics(message(|request: &mut DeleteTopicsRequest| {
        request.topic_names = names.iter().map(|name| (*name).into()).collect();
        request.timeout_ms = TIMEOUT_MS;
    }))
}

/// DeleteTopics from version 6 on.
pub fn delete_topics(topics: &[Named<'_>]) -> RequestBody {
    RequestBody::DeleteTopics(message(|request: &mut DeleteTopicsRequest| {
        let row = |(name, id): &Named<'_>| {
            message(|topic: &mut delete_topics_request::DeleteTopicState| {
                topic.name = name.map(Into::into);
                topic.topic_id = (*id).into();
            })
        };
        request.topics = topics.iter().map(row).collect();
        request.timeout_ms = TIMEOUT_MS;
    }))
}

/// Partition, current leader epoch, timestamp.
pub fn list_offsets(topic: &str, partitions: &[(i32, i32, i64)]) -> ListOffsetsRequest {
    message(|request: &mut ListOffsetsRequest| {
        request.replica_id = -1;
        request.topics = vec![message(|of: &mut list_offsets_request::ListOffsetsTopic| {
            of.name = topic.into();
            let row = |(index, epoch, time): &(i32, i32, i64)| {
                message(|row: &mut list_offsets_request::ListOffsetsPartition| {
                    row.partition_index = *index;
                    row.current_leader_epoch = *epoch;
                    row.timestamp = *time;
                })
            };
            of.partitions = partitions.iter().map(row).collect();
        })];
    })
}

/// Partition, current leader epoch, leader epoch.
pub fn epoch_ends(topic: &str, partitions: &[(i32, i32, i32)]) -> RequestBody {
    RequestBody::OffsetForLeaderEpoch(message(|request: &mut OffsetForLeaderEpochRequest| {
        request.replica_id = -1;
        request.topics = vec![message(
            |of: &mut offset_for_leader_epoch_request::OffsetForLeaderTopic| {
                of.topic = topic.into();
                let row = |(index, current, epoch): &(i32, i32, i32)| {
                    message(
                        |row: &mut offset_for_leader_epoch_request::OffsetForLeaderPartition| {
                            row.partition = *index;
                            row.current_leader_epoch = *current;
                            row.leader_epoch = *epoch;
                        },
                    )
                };
                of.partitions = partitions.iter().map(row).collect();
            },
        )];
    }))
}

pub fn init_producer_id(transactional_id: Option<&str>, producer_id: i64, epoch: i16) -> RequestBody {
    RequestBody::InitProducerId(message(|request: &mut InitProducerIdRequest| {
        request.transactional_id = transactional_id.map(Into::into);
        request.transaction_timeout_ms = TIMEOUT_MS;
        request.producer_id = producer_id;
        request.producer_epoch = epoch;
    }))
}

pub fn delete_records(topic: &str, partitions: &[(i32, i64)]) -> RequestBody {
    RequestBody::DeleteRecords(message(|request: &mut DeleteRecordsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        request.topics = vec![message(|of: &mut delete_records_request::DeleteRecordsTopic| {
            of.name = topic.into();
            let row = |(index, offset): &(i32, i64)| {
                message(|row: &mut delete_records_request::DeleteRecordsPartition| {
                    row.partition_index = *index;
                    row.offset = *offset;
                })
            };
            of.partitions = partitions.iter().map(row).collect();
        })];
    }))
}

/// Resource type and name, and the keys asked for.
pub fn describe_configs(resources: &[(i8, &str, Option<&[&str]>)], with_all: bool) -> RequestBody {
    RequestBody::DescribeConfigs(message(|request: &mut DescribeConfigsRequest| {
        let row = |(kind, name, keys): &(i8, &str, Option<&[&str]>)| {
            message(|row: &mut describe_configs_request::DescribeConfigsResource| {
                row.resource_type = *kind;
                row.resource_name = (*name).into();
                row.configuration_keys = keys.map(|keys| keys.iter().map(|key| (*key).into()).collect());
            })
        };
        request.resources = resources.iter().map(row).collect();
        request.include_synonyms = with_all;
        request.include_documentation = with_all;
    }))
}

/// A change of one setting: key, operation, value.
pub type Change<'a> = (&'a str, i8, Option<&'a str>);

pub fn alter(kind: i8, name: &str, changes: &[Change<'_>], validate_only: bool) -> RequestBody {
    RequestBody::IncrementalAlterConfigs(message(|request: &mut IncrementalAlterConfigsRequest| {
        request.validate_only = validate_only;
        request.resources = vec![message(
            |of: &mut incremental_alter_configs_request::AlterConfigsResource| {
                of.resource_type = kind;
                of.resource_name = name.into();
                let row = |(key, operation, value): &Change<'_>| {
                    message(|row: &mut incremental_alter_configs_request::AlterableConfig| {
                        row.name = (*key).into();
                        row.config_operation = *operation;
                        row.value = value.map(Into::into);
                    })
                };
                of.configs = changes.iter().map(row).collect();
            },
        )];
    }))
}

pub fn replace_configs(kind: i8, name: &str, settings: &[(&str, Option<&str>)]) -> RequestBody {
    RequestBody::AlterConfigs(message(|request: &mut AlterConfigsRequest| {
        request.resources = vec![message(|of: &mut alter_configs_request::AlterConfigsResource| {
            of.resource_type = kind;
            of.resource_name = name.into();
            let row = |(key, value): &(&str, Option<&str>)| {
                message(|row: &mut alter_configs_request::AlterableConfig| {
                    row.name = (*key).into();
                    row.value = value.map(Into::into);
                })
            };
            of.configs = settings.iter().map(row).collect();
        })];
    }))
}

pub fn describe_cluster(endpoint_type: i8, authorized_operations: bool) -> RequestBody {
    RequestBody::DescribeCluster(message(|request: &mut DescribeClusterRequest| {
        request.endpoint_type = endpoint_type;
        request.include_cluster_authorized_operations = authorized_operations;
    }))
}

pub fn list_resources(kinds: &[i8]) -> RequestBody {
    RequestBody::ListConfigResources(message(|request: &mut ListConfigResourcesRequest| {
        request.resource_types = kinds.to_vec();
    }))
}

pub fn describe_partitions(topics: &[&str], most: i32, cursor: Option<(&str, i32)>) -> RequestBody {
    RequestBody::DescribeTopicPartitions(message(|request: &mut DescribeTopicPartitionsRequest| {
        let row = |name: &&str| {
            message(|row: &mut describe_topic_partitions_request::TopicRequest| row.name = (*name).into())
        };
        request.topics = topics.iter().map(row).collect();
        request.response_partition_limit = most;
        request.cursor = cursor.map(|(topic, index)| {
            message(|cursor: &mut describe_topic_partitions_request::Cursor| {
                cursor.topic_name = topic.into();
                cursor.partition_index = index;
            })
        });
    }))
}

pub fn describe_log_dirs(topics: Option<&[(&str, &[i32])]>) -> RequestBody {
    RequestBody::DescribeLogDirs(message(|request: &mut DescribeLogDirsRequest| {
        let row = |(name, partitions): &(&str, &[i32])| {
            message(|row: &mut describe_log_dirs_request::DescribableLogDirTopic| {
                row.topic = (*name).into();
                row.partitions = partitions.to_vec();
            })
        };
        request.topics = topics.map(|topics| topics.iter().map(row).collect());
    }))
}

/// FindCoordinator: one key as far as version 3, a list from version 4 on.
pub fn find_coordinator(version: i16, kind: i8, key: &str) -> RequestBody {
    RequestBody::FindCoordinator(message(|request: &mut FindCoordinatorRequest| {
        request.key_type = kind;
        if version < 4 {
            request.key = key.into();
        } else {
            request.coordinator_keys = vec![key.into()];
        }
    }))
}
