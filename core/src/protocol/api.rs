//! The APIs by number, and which versions of them are served.
//!
//! Invariants
//! - a version that is listed is honoured, with one exception that is Kafka's own: Produce is
//!   listed from version 0, since older librdkafka (2.0.2 in kcat 1.7.1) otherwise sends gzip,
//!   snappy and lz4 uncompressed and says nothing; versions 0 to 2 are refused (KIP-896)
//! - the ranges are those of Kafka 4.4; what is served but not listed is between brokers, and has
//!   those of Kafka 3.9

use crate::error::Malformed;
use crate::full::FULL;

macro_rules! api_keys {
    ($($name:ident = $code:literal;)*) => {
        /// Kafka's API keys (`org.apache.kafka.common.protocol.ApiKeys`), those of Kafka 3.9's
        /// ZooKeeper control plane (4 to 7) included.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        pub enum ApiKey { $($name = $code,)* }

        impl ApiKey {
            /// Kafka's name, for instance `ListOffsets`.
            pub fn name(self) -> &'static str {
                match self { $(ApiKey::$name => stringify!($name),)* }
            }

            pub fn from_code(code: i16) -> Option<Self> {
                match code { $($code => Some(ApiKey::$name),)* _ => None }
            }
        }
    };
}

api_keys! {
    Produce = 0;
    Fetch = 1;
    ListOffsets = 2;
    Metadata = 3;
    LeaderAndIsr = 4;
    StopReplica = 5;
    UpdateMetadata = 6;
    ControlledShutdown = 7;
    OffsetCommit = 8;
    OffsetFetch = 9;
    FindCoordinator = 10;
    JoinGroup = 11;
    Heartbeat = 12;
    LeaveGroup = 13;
    SyncGroup = 14;
    DescribeGroups = 15;
    ListGroups = 16;
    SaslHandshake = 17;
    ApiVersions = 18;
    CreateTopics = 19;
    DeleteTopics = 20;
    DeleteRecords = 21;
    InitProducerId = 22;
    OffsetForLeaderEpoch = 23;
    AddPartitionsToTxn = 24;
    AddOffsetsToTxn = 25;
    EndTxn = 26;
    WriteTxnMarkers = 27;
    TxnOffsetCommit = 28;
    DescribeAcls = 29;
    CreateAcls = 30;
    DeleteAcls = 31;
    DescribeConfigs = 32;
    AlterConfigs = 33;
    AlterReplicaLogDirs = 34;
    DescribeLogDirs = 35;
    SaslAuthenticate = 36;
    CreatePartitions = 37;
    CreateDelegationToken = 38;
    RenewDelegationToken = 39;
    ExpireDelegationToken = 40;
    DescribeDelegationToken = 41;
    DeleteGroups = 42;
    ElectLeaders = 43;
    IncrementalAlterConfigs = 44;
    AlterPartitionReassignments = 45;
    ListPartitionReassignments = 46;
    OffsetDelete = 47;
    DescribeClientQuotas = 48;
    AlterClientQuotas = 49;
    DescribeUserScramCredentials = 50;
    AlterUserScramCredentials = 51;
    Vote = 52;
    BeginQuorumEpoch = 53;
    EndQuorumEpoch = 54;
    DescribeQuorum = 55;
    AlterPartition = 56;
    UpdateFeatures = 57;
    Envelope = 58;
    FetchSnapshot = 59;
    DescribeCluster = 60;
    DescribeProducers = 61;
    BrokerRegistration = 62;
    BrokerHeartbeat = 63;
    UnregisterBroker = 64;
    DescribeTransactions = 65;
    ListTransactions = 66;
    AllocateProducerIds = 67;
    ConsumerGroupHeartbeat = 68;
    ConsumerGroupDescribe = 69;
    ControllerRegistration = 70;
    GetTelemetrySubscriptions = 71;
    PushTelemetry = 72;
    AssignReplicasToDirs = 73;
    ListConfigResources = 74;
    DescribeTopicPartitions = 75;
    ShareGroupHeartbeat = 76;
    ShareGroupDescribe = 77;
    ShareFetch = 78;
    ShareAcknowledge = 79;
    AddRaftVoter = 80;
    RemoveRaftVoter = 81;
    UpdateRaftVoter = 82;
    InitializeShareGroupState = 83;
    ReadShareGroupState = 84;
    WriteShareGroupState = 85;
    DeleteShareGroupState = 86;
    ReadShareGroupStateSummary = 87;
    StreamsGroupHeartbeat = 88;
    StreamsGroupDescribe = 89;
    DescribeShareGroupOffsets = 90;
    AlterShareGroupOffsets = 91;
    DeleteShareGroupOffsets = 92;
    StreamsGroupTopologyDescriptionUpdate = 93;
    UnregisterController = 94;
}

/// The version range of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedApi {
    pub api: ApiKey,
    /// Lowest version in the answer to ApiVersions.
    pub listed_min: i16,
    /// Lowest version that is honoured.
    pub min: i16,
    pub max: i16,
    /// First flexible version (KIP-482); above `max` when there is none.
    pub flexible_from: i16,
}

impl ServedApi {
    pub fn has(&self, version: i16) -> bool {
        (self.min..=self.max).contains(&version)
    }

    /// The error that names a version which is not served.
    pub(super) fn lacks(&self, version: i16) -> Malformed {
        Malformed::UnsupportedVersion {
            api: self.api.name(),
            version,
            min: self.min,
            max: self.max,
        }
    }
}

const fn served(api: ApiKey, min: i16, max: i16, flexible_from: i16) -> ServedApi {
    ServedApi {
        api,
        listed_min: min,
        min,
        max,
        flexible_from,
    }
}

/// Every API that is served and listed to clients, by key.
pub const SERVED: &[ServedApi] = &[
    ServedApi {
        listed_min: 0,
        ..served(ApiKey::Produce, 3, 13, 9)
    },
    served(ApiKey::Fetch, 4, 18, 12),
    served(ApiKey::ListOffsets, 1, 11, 6),
    served(ApiKey::Metadata, 0, 13, 9),
    served(ApiKey::OffsetCommit, 2, 10, 8),
    served(ApiKey::OffsetFetch, 1, 10, 6),
    served(ApiKey::FindCoordinator, 0, 6, 3),
    served(ApiKey::JoinGroup, 0, 9, 6),
    served(ApiKey::Heartbeat, 0, 4, 4),
    served(ApiKey::LeaveGroup, 0, 5, 4),
    served(ApiKey::SyncGroup, 0, 5, 4),
    served(ApiKey::DescribeGroups, 0, 6, 5),
    served(ApiKey::ListGroups, 0, 5, 3),
    served(ApiKey::ApiVersions, 0, 5, 3),
    served(ApiKey::CreateTopics, 2, 7, 5),
    served(ApiKey::DeleteTopics, 1, 6, 4),
    served(ApiKey::DeleteRecords, 0, 2, 2),
    served(ApiKey::InitProducerId, 0, 5, 2),
    served(ApiKey::OffsetForLeaderEpoch, 2, 4, 4),
    served(ApiKey::DescribeConfigs, 1, 4, 4),
    served(ApiKey::AlterConfigs, 0, 2, 2),
    served(ApiKey::DescribeLogDirs, 1, 5, 2),
    served(ApiKey::CreatePartitions, 0, 3, 2),
    served(ApiKey::DeleteGroups, 0, 3, 2),
    served(ApiKey::ElectLeaders, 0, 2, 2),
    served(ApiKey::IncrementalAlterConfigs, 0, 1, 1),
    served(ApiKey::AlterPartitionReassignments, 0, 1, 0),
    served(ApiKey::ListPartitionReassignments, 0, 0, 0),
    served(ApiKey::OffsetDelete, 0, 0, 1),
    served(ApiKey::DescribeCluster, 0, 2, 0),
    // The consumer protocol (KIP-848) is off, and says so when it is asked: some clients, librdkafka among
    // them, look for a coordinator for ever and in silence when it is not even listed.
    served(ApiKey::ConsumerGroupHeartbeat, 0, 1, 0),
    served(ApiKey::ConsumerGroupDescribe, 0, 1, 0),
    served(ApiKey::ListConfigResources, 0, 1, 0),
    served(ApiKey::DescribeTopicPartitions, 0, 0, 0),
];

/// What the brokers of a cluster say to each other, by key: served on every listener, never listed.
pub const BETWEEN_BROKERS: &[ServedApi] = &[
    served(ApiKey::LeaderAndIsr, 0, 7, 4),
    served(ApiKey::StopReplica, 0, 4, 2),
    served(ApiKey::UpdateMetadata, 0, 8, 6),
    served(ApiKey::ControlledShutdown, 0, 3, 3),
    served(ApiKey::AlterPartition, 2, 3, 0),
];

/// The versions of each API that the clients and brokers of the page's scenes speak, from the first to the
/// last. Without the feature `full` there is code for these alone.
pub const SIMULATED: &[(ApiKey, i16, i16)] = &[
    (ApiKey::Produce, 13, 13),
    (ApiKey::Fetch, 17, 17),
    (ApiKey::Metadata, 13, 13),
    (ApiKey::LeaderAndIsr, 7, 7),
    (ApiKey::StopReplica, 4, 4),
    (ApiKey::UpdateMetadata, 8, 8),
    (ApiKey::ControlledShutdown, 3, 3),
    (ApiKey::ApiVersions, 5, 5),
    (ApiKey::CreateTopics, 7, 7),
    (ApiKey::InitProducerId, 5, 5),
    (ApiKey::OffsetForLeaderEpoch, 4, 4),
    (ApiKey::ElectLeaders, 2, 2),
    (ApiKey::IncrementalAlterConfigs, 1, 1),
    (ApiKey::AlterPartition, 3, 3),
];

/// The version, if there is code for it. In the page most APIs have one, which is known when it is
/// compiled: the code for others, and for messages that nobody sends there, falls away.
macro_rules! spoken {
    ($api:ident, $version:expr) => {
        const { ApiKey::$api.simulated() }.spoken($version)?
    };
}
pub(super) use spoken;

/// The first and the last version of an API in [`SIMULATED`].
#[derive(Clone, Copy)]
pub(super) struct Simulated(Option<(i16, i16)>);

impl Simulated {
    #[inline(always)]
    pub fn spoken(self, version: i16) -> Result<i16, Malformed> {
        match self.0 {
            _ if FULL => Ok(version),
            Some((only, last)) if only == last && only == version => Ok(only),
            Some((first, last)) if first < last && (first..=last).contains(&version) => Ok(version),
            _ => Err(Malformed::NotSimulated { version }),
        }
    }
}

impl ApiKey {
    pub(super) const fn simulated(self) -> Simulated {
        let mut at = 0;
        while at < SIMULATED.len() {
            let (api, first, last) = SIMULATED[at];
            if api as i16 == self as i16 {
                return Simulated(Some((first, last)));
            }
            at += 1;
        }
        Simulated(None)
    }

    pub fn code(self) -> i16 {
        self as i16
    }

    /// The versions that are served; `None` when the API is not.
    pub fn served(self) -> Option<&'static ServedApi> {
        let all = SERVED.iter().chain(BETWEEN_BROKERS);
        all.into_iter().find(|served| served.api == self)
    }

    pub fn serves(self, version: i16) -> bool {
        self.served().is_some_and(|served| served.has(version))
    }

    /// Whether this version of a served API is flexible.
    pub fn is_flexible(self, version: i16) -> bool {
        self.served()
            .is_some_and(|served| version >= served.flexible_from)
    }
}

impl std::fmt::Display for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_ranges_are_those_of_kafka_4_4() {
        let kafka: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/fixtures/api-versions.json")).unwrap();
        let mut compared = 0;
        for row in kafka["apis"].as_array().unwrap() {
            let number = |field: &str| row[field].as_i64().unwrap() as i16;
            let api = ApiKey::from_code(number("key")).unwrap();
            assert_eq!(api.name(), row["name"].as_str().unwrap());
            if let Some(served) = SERVED.iter().find(|served| served.api == api) {
                assert_eq!(
                    (served.listed_min, served.max),
                    (number("min"), number("max")),
                    "{api}"
                );
                compared += 1;
            }
        }
        assert_eq!(compared, SERVED.len());
    }

    #[test]
    fn what_brokers_say_to_each_other_is_served_and_not_listed() {
        for served in BETWEEN_BROKERS {
            assert!(served.api.serves(served.max));
            assert!(SERVED.iter().all(|listed| listed.api != served.api));
        }
    }

    #[test]
    fn the_tables_are_in_the_order_of_the_keys() {
        for table in [SERVED, BETWEEN_BROKERS] {
            assert!(table.is_sorted_by_key(|served| served.api.code()));
        }
    }
}
