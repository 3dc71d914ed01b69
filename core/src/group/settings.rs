//! The settings of the broker that groups go by.

use super::request::Join;
use crate::config::BrokerConfig;
use crate::error::ErrorCode;
use crate::types::Millis;

/// How long a new member may wait in a rebalance before its client has to show itself
/// (`CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS`).
const NEW_MEMBER_JOIN_TIMEOUT_MS: Millis = 5 * 60 * 1000;

/// Kafka's `GroupCoordinatorConfig`, as far as classic groups need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    pub max_size: usize,
    pub min_session_timeout_ms: i32,
    pub max_session_timeout_ms: i32,
    pub initial_rebalance_delay_ms: Millis,
    pub new_member_join_timeout_ms: Millis,
    /// Of one offset's metadata, in UTF-16 units as Java counts.
    pub offset_metadata_max_units: usize,
    pub offsets_retention_ms: Millis,
    pub offsets_retention_check_interval_ms: Millis,
}

impl GroupSettings {
    pub fn of(config: &BrokerConfig) -> Self {
        Self {
            max_size: usize::try_from(config.group_max_size).unwrap_or(usize::MAX),
            min_session_timeout_ms: config.group_min_session_timeout_ms,
            max_session_timeout_ms: config.group_max_session_timeout_ms,
            initial_rebalance_delay_ms: config.group_initial_rebalance_delay_ms,
            new_member_join_timeout_ms: NEW_MEMBER_JOIN_TIMEOUT_MS,
            offset_metadata_max_units: usize::try_from(config.offset_metadata_max_bytes).unwrap_or_default(),
            offsets_retention_ms: config.offsets_retention_ms,
            offsets_retention_check_interval_ms: config.offsets_retention_check_interval_ms,
        }
    }

    /// What can be said of a JoinGroup wherever its group is.
    ///
    /// Errors: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT.
    pub fn check_join(&self, join: &Join) -> Result<(), ErrorCode> {
        if join.group.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        let allowed = self.min_session_timeout_ms..=self.max_session_timeout_ms;
        match allowed.contains(&join.session_timeout_ms) {
            true => Ok(()),
            false => Err(ErrorCode::InvalidSessionTimeout),
        }
    }
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self::of(&BrokerConfig::default())
    }
}
