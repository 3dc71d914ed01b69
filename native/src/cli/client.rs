//! A small blocking client for the commands: one connection, one request at a time.
//!
//! Any broker will do to begin with. What only the controller may do is asked of the first broker, and
//! where that refuses with NOT_CONTROLLER, of the one that Metadata names, until one takes it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use highwater_core::error::ErrorCode;
use highwater_core::protocol::messages::metadata_request::MetadataRequestTopic;
use highwater_core::protocol::messages::{ApiVersionsRequest, MetadataRequest, MetadataResponse, message};
use highwater_core::protocol::{
    ApiKey, RequestBody, RequestHeader, ResponseBody, decode_response, encode_request,
};

use super::Failure;

/// Longest wait for a connection, and for each answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Pause before a controller that is not there yet is looked for again.
const CONTROLLER_PAUSE: Duration = Duration::from_millis(100);
/// Largest answer that is read, in bytes; a broker does not send more.
const MOST_ANSWER_BYTES: usize = 100 << 20;

/// Topics' partitions, each with what is wanted of it, by the broker that leads them; `None`: nobody is
/// known to.
pub type ByLeader<T> = BTreeMap<Option<i32>, Vec<(String, i32, T)>>;

/// A connection to a broker, and the versions that it serves.
pub struct Client {
    stream: TcpStream,
    address: String,
    next_correlation_id: i32,
    versions: BTreeMap<i16, (i16, i16)>,
}

/// Asks for one API and takes its answer out.
macro_rules! ask {
    ($client:expr, $api:ident, $request:expr) => {
        ask!($client, $api, $request, 0..=i16::MAX)
    };
    ($client:expr, $api:ident, $request:expr, $versions:expr) => {
        match $client.ask_within(&highwater_core::protocol::RequestBody::$api($request), $versions)? {
            highwater_core::protocol::ResponseBody::$api(answer) => Ok(answer),
            other => Err(format!("the broker answered with {}", other.api())),
        }
    };
}
pub(super) use ask;

/// Asks for what only the controller may do, wherever it is, and takes the answer out.
macro_rules! ask_controller {
    ($client:expr, $api:ident, $request:expr) => {
        match $client.ask_controller(&highwater_core::protocol::RequestBody::$api($request))? {
            highwater_core::protocol::ResponseBody::$api(answer) => Ok(answer),
            other => Err(format!("the broker answered with {}", other.api())),
        }
    };
}
pub(super) use ask_controller;

impl Client {
    /// Connects to the first of `host:port, host:port, ...` that can be reached.
    pub fn connect(bootstrap_servers: &str) -> Result<Self, Failure> {
        let mut failed = Vec::new();
        for address in bootstrap_servers
            .split(',')
            .map(str::trim)
            .filter(|address| !address.is_empty())
        {
            match Self::connect_to(address) {
                Ok(client) => return Ok(client),
                Err(failure) => failed.push(format!("{address}: {failure}")),
            }
        }
        Err(format!("no broker can be reached ({}); is it running?", failed.join(", ")).into())
    }

    fn connect_to(address: &str) -> Result<Self, Failure> {
        let mut last = None;
        for resolved in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&resolved, TIMEOUT) {
                Ok(stream) => return Self::greet(stream, address),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or_else(|| "the name has no address".into(), Failure::from))
    }

    fn greet(stream: TcpStream, address: &str) -> Result<Self, Failure> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let versions = BTreeMap::from([(ApiKey::ApiVersions.code(), (0, 0))]);
        let mut client = Self {
            stream,
            address: address.to_owned(),
            next_correlation_id: 0,
            versions,
        };
        let answer = ask!(client, ApiVersions, ApiVersionsRequest::default())?;
        let rows = answer.api_keys.iter();
        client.versions = rows
            .map(|row| (row.api_key, (row.min_version, row.max_version)))
            .collect();
        Ok(client)
    }

    /// Sends a request in the highest version that both sides know, and waits for its answer.
    pub fn ask(&mut self, body: &RequestBody) -> Result<ResponseBody, Failure> {
        self.ask_within(body, 0..=i16::MAX)
    }

    /// The same for a request that is filled in for these versions alone.
    pub fn ask_within(
        &mut self,
        body: &RequestBody,
        versions: RangeInclusive<i16>,
    ) -> Result<ResponseBody, Failure> {
        let api = body.api();
        let version = self.version(api, &versions)?;
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id += 1;
        let client_id = Some("highwater".into());
        let header = RequestHeader {
            api,
            version,
            correlation_id,
            client_id,
        };
        self.stream.write_all(&encode_request(&header, body)?)?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = usize::try_from(i32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > MOST_ANSWER_BYTES {
            return Err(format!(
                "{} sent an answer of {length} bytes: it is no Kafka broker",
                self.address
            )
            .into());
        }
        let mut frame = Vec::new();
        let read = (&mut self.stream).take(length as u64).read_to_end(&mut frame)?;
        if read < length {
            return Err(format!("{} closed the connection within an answer", self.address).into());
        }
        let answer = decode_response(api, version, frame.into())
            .map_err(|why| format!("the answer of {} to {api} cannot be read: {why}", self.address))?;
        if answer.correlation_id != correlation_id {
            return Err(format!("{} answered another request than the one asked", self.address).into());
        }
        Ok(answer.body)
    }

    /// The same for what only the controller may do. When none is found in time, the refusal of the
    /// broker that was asked last.
    pub fn ask_controller(&mut self, body: &RequestBody) -> Result<ResponseBody, Failure> {
        let until = Instant::now() + TIMEOUT;
        let mut answer = self.ask(body)?;
        while refused_by_no_controller(&answer) && Instant::now() < until {
            let id = self.brokers()?.controller_id;
            match self.connect_to_broker(id) {
                Ok(mut controller) => answer = controller.ask(body)?,
                // It may have died a moment ago, and another is about to follow.
                Err(_) => std::thread::sleep(CONTROLLER_PAUSE),
            }
        }
        Ok(answer)
    }

    /// Sorts partitions of topics by the broker that leads them.
    pub fn by_leader<T>(
        &mut self,
        partitions: impl IntoIterator<Item = (String, i32, T)>,
    ) -> Result<ByLeader<T>, Failure> {
        let partitions: Vec<_> = partitions.into_iter().collect();
        let names: BTreeSet<&str> = partitions.iter().map(|(topic, ..)| topic.as_str()).collect();
        let request = message(|request: &mut MetadataRequest| {
            request.allow_auto_topic_creation = false;
            let topic =
                |name: &&str| message(|topic: &mut MetadataRequestTopic| topic.name = Some((*name).into()));
            request.topics = Some(names.iter().map(topic).collect());
        });
        let known = ask!(self, Metadata, request)?;
        let mut leaders = BTreeMap::new();
        for topic in &known.topics {
            let name = topic.name.as_deref().unwrap_or_default();
            for partition in topic
                .partitions
                .iter()
                .filter(|partition| partition.leader_id >= 0)
            {
                leaders.insert((name.to_owned(), partition.partition_index), partition.leader_id);
            }
        }
        let mut sorted: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (topic, index, what) in partitions {
            let leader = leaders.get(&(topic.clone(), index)).copied();
            sorted.entry(leader).or_default().push((topic, index, what));
        }
        Ok(sorted)
    }

    /// The brokers that live, and which of them is the controller.
    pub fn brokers(&mut self) -> Result<MetadataResponse, Failure> {
        let request = message(|request: &mut MetadataRequest| {
            request.topics = Some(Vec::new());
            request.allow_auto_topic_creation = false;
        });
        Ok(ask!(self, Metadata, request)?)
    }

    /// A connection to this very broker.
    pub fn connect_to_broker(&mut self, id: i32) -> Result<Self, Failure> {
        let known = self.brokers()?.brokers;
        let broker = known.iter().find(|broker| broker.node_id == id);
        let broker = broker.ok_or_else(|| format!("broker {id} is not alive"))?;
        Self::connect_to(&format!("{}:{}", broker.host, broker.port))
    }

    fn version(&self, api: ApiKey, versions: &RangeInclusive<i16>) -> Result<i16, Failure> {
        let ours = api.served();
        let ours = ours.map(|served| (served.min.max(*versions.start()), served.max.min(*versions.end())));
        let both = ours.zip(self.versions.get(&api.code()));
        let (ours, theirs) = both.ok_or_else(|| format!("{} does not serve {api}", self.address))?;
        let version = ours.1.min(theirs.1);
        if version < ours.0.max(theirs.0) {
            return Err(format!("{} and this tool share no version of {api}", self.address).into());
        }
        Ok(version)
    }
}

/// Whether the answer is that of a broker that is not the controller (any more).
fn refused_by_no_controller(answer: &ResponseBody) -> bool {
    let code = ErrorCode::NotController.code();
    match answer {
        ResponseBody::CreateTopics(answer) => answer.topics.iter().any(|row| row.error_code == code),
        ResponseBody::DeleteTopics(answer) => answer.responses.iter().any(|row| row.error_code == code),
        ResponseBody::CreatePartitions(answer) => answer.results.iter().any(|row| row.error_code == code),
        ResponseBody::IncrementalAlterConfigs(answer) => {
            answer.responses.iter().any(|row| row.error_code == code)
        }
        ResponseBody::ElectLeaders(answer) => {
            let mut rows = answer
                .replica_election_results
                .iter()
                .flat_map(|topic| &topic.partition_result);
            answer.error_code == code || rows.any(|row| row.error_code == code)
        }
        ResponseBody::AlterPartitionReassignments(answer) => answer.error_code == code,
        ResponseBody::ListPartitionReassignments(answer) => answer.error_code == code,
        _ => false,
    }
}

/// An error code of an answer as a failure, in the broker's words where it has some.
pub fn check(code: i16, message: Option<&str>) -> Result<(), Failure> {
    match (code, message) {
        (0, _) => Ok(()),
        (_, Some(message)) if !message.is_empty() => Err(message.into()),
        _ => match ErrorCode::from_code(code) {
            Some(code) => Err(code.kafka_name().into()),
            None => Err(format!("the broker answered with error {code}").into()),
        },
    }
}
