//! Which requests change the cluster, and how each comes to its decision and its answer.

use super::topics::on_demand;
use super::{
    Node, Outcome, alter_configs, alter_partition_reassignments, create_partitions, create_topics,
    delete_topics, elect_leaders, incremental_alter_configs, list_partition_reassignments,
};
use crate::config::BrokerConfig;
use crate::controller::{CallerToken, Controller};
use crate::cx::Cx;
use crate::full::FULL;
use crate::protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use crate::protocol::messages::{CreateTopicsRequest, message};
use crate::protocol::{RequestBody, ResponseBody, StrBytes};
use crate::types::Millis;

/// As a broker asks the controller for topics that clients named.
pub const CREATION_ON_DEMAND_VERSION: i16 = 7;

/// Whether only the controller may carry it out.
pub fn is_change(body: &RequestBody) -> bool {
    matches!(
        body,
        RequestBody::CreateTopics(_)
            | RequestBody::DeleteTopics(_)
            | RequestBody::CreatePartitions(_)
            | RequestBody::AlterConfigs(_)
            | RequestBody::IncrementalAlterConfigs(_)
            | RequestBody::ElectLeaders(_)
            | RequestBody::AlterPartitionReassignments(_)
            | RequestBody::ListPartitionReassignments(_)
    )
}

/// Lets the controller decide; its answer leaves under `caller` when the change is acknowledged.
pub fn change(
    controller: &mut Controller,
    cx: &mut Cx,
    config: &BrokerConfig,
    nodes: &[Node],
    version: i16,
    caller: CallerToken,
    body: &RequestBody,
) {
    match body {
        RequestBody::CreateTopics(body) => {
            let outcome = create_topics(controller, cx, config, nodes, body);
            answer(controller, cx, caller, outcome);
        }
        RequestBody::DeleteTopics(body) if FULL => {
            let outcome = delete_topics(controller, cx, config, body, version);
            let by = cx.now.saturating_add(Millis::from(body.timeout_ms.max(0)));
            controller.answer_when_deleted(cx, caller, &outcome.topics, by, outcome.response);
        }
        RequestBody::CreatePartitions(body) if FULL => {
            let outcome = create_partitions(controller, cx, nodes, body);
            answer(controller, cx, caller, outcome);
        }
        RequestBody::AlterConfigs(body) if FULL => {
            let outcome = alter_configs(controller, cx, config, body);
            answer(controller, cx, caller, outcome);
        }
        RequestBody::IncrementalAlterConfigs(body) => {
            let outcome = incremental_alter_configs(controller, cx, config, body);
            answer(controller, cx, caller, outcome);
        }
        RequestBody::ElectLeaders(body) => {
            let response = elect_leaders(controller, cx, body);
            controller.answer(cx, caller, response);
        }
        RequestBody::AlterPartitionReassignments(body) if FULL => {
            let response = alter_partition_reassignments(controller, cx, body);
            controller.answer(cx, caller, response);
        }
        RequestBody::ListPartitionReassignments(body) if FULL => {
            let response = list_partition_reassignments(controller, body);
            controller.answer(cx, caller, response);
        }
        _ => {}
    }
}

fn answer<R: Into<ResponseBody>>(
    controller: &mut Controller,
    cx: &mut Cx,
    caller: CallerToken,
    outcome: Outcome<R>,
) {
    controller.answer(cx, caller, outcome.response);
}

/// What a broker asks the controller for, when a client names topics that are not there.
pub fn creation_on_demand(config: &BrokerConfig, names: &[String]) -> CreateTopicsRequest {
    message(|request: &mut CreateTopicsRequest| {
        request.timeout_ms = i32::try_from(config.request_timeout_ms).unwrap_or(i32::MAX);
        request.topics = names
            .iter()
            .map(|name| {
                let new = on_demand(config, name);
                message(|topic: &mut CreatableTopic| {
                    topic.name = name.as_str().into();
                    topic.num_partitions = new.num_partitions;
                    topic.replication_factor = new.replication_factor;
                    let configs = new.configs.iter().map(|(key, value)| {
                        message(|config: &mut CreatableTopicConfig| {
                            config.name = key.as_str().into();
                            config.value = value.as_deref().map(StrBytes::from);
                        })
                    });
                    topic.configs = configs.collect();
                })
            })
            .collect();
    })
}
