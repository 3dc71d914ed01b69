//! One operation in ZooKeeper's words and its answer in ours.
//!
//! A request goes out when it is made, not when its answer is awaited; so what follows here makes all
//! of an operation's requests at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use highwater_core::coordination::{
    CoordinationReply, Found, MAX_DATA_BYTES, Multi, MultiError, NodeError, NodeKind, Op, OpResult, Read,
    Stat,
};
use zookeeper_client::{
    Acls, Client, CreateMode, Error, MultiWriteError, MultiWriteResult, MultiWriter, OneshotWatcher,
};

/// What a watch looks at; a connection has one of each at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    Data,
    Children,
}

/// A watch that an answer brings.
pub type NewWatch = (Watched, Arc<str>, OneshotWatcher);

/// What became of an operation.
#[derive(Debug)]
pub enum Answer {
    Done(Result<CoordinationReply, MultiError>),
    /// The connection was lost: it has happened, or not.
    Unknown,
}

pub type Answering<'a> = Pin<Box<dyn Future<Output = (Answer, Vec<NewWatch>)> + Send + 'a>>;

/// ZooKeeper's default `jute.maxbuffer`; a longer request costs the connection, so it is not sent.
const MAX_REQUEST_BYTES: usize = 0xf_ffff;
/// What frames an operation within a request, at most.
const FRAME_BYTES: usize = 64;

/// Makes a multi's request.
pub fn multi<'a>(client: &'a Client, multi: Multi) -> Answering<'a> {
    let mut writer = client.new_multi_writer();
    let mut bytes = FRAME_BYTES;
    for (index, op) in multi.ops.iter().enumerate() {
        let added = check_size(op, &mut bytes).and_then(|()| add(&mut writer, op));
        if let Err(error) = added {
            let refused = refused(&multi, index, error);
            return Box::pin(async move { (Answer::Done(Err(refused)), Vec::new()) });
        }
    }
    let committed = writer.commit();
    Box::pin(async move {
        let answer = match committed.await {
            Ok(results) => Answer::Done(Ok(CoordinationReply::Multi(
                results.into_iter().map(result).collect(),
            ))),
            Err(MultiWriteError::OperationFailed { index, source }) => {
                let error = node_error(&source, multi.ops.get(index));
                Answer::Done(Err(refused(&multi, index, error)))
            }
            Err(MultiWriteError::RequestFailed { .. }) => Answer::Unknown,
        };
        (answer, Vec::new())
    })
}

fn check_size(op: &Op, bytes: &mut usize) -> Result<(), NodeError> {
    let data = match op {
        Op::Create { data, .. } | Op::Set { data, .. } => data.len(),
        Op::Delete { .. } | Op::Check { .. } => 0,
    };
    *bytes += data + op.path().len() + FRAME_BYTES;
    let too_large = |limit: u32, asked: usize| NodeError::TooLarge {
        limit,
        asked: asked as u64,
    };
    if data as u64 > u64::from(MAX_DATA_BYTES) {
        return Err(too_large(MAX_DATA_BYTES, data));
    }
    if *bytes > MAX_REQUEST_BYTES {
        return Err(too_large(MAX_REQUEST_BYTES as u32, *bytes));
    }
    Ok(())
}

fn add(writer: &mut MultiWriter<'_>, op: &Op) -> Result<(), NodeError> {
    let added = match op {
        Op::Create { path, data, kind } => {
            let mode = match kind {
                NodeKind::Persistent => CreateMode::Persistent,
                NodeKind::Ephemeral => CreateMode::Ephemeral,
                NodeKind::PersistentSequential => CreateMode::PersistentSequential,
                NodeKind::EphemeralSequential => CreateMode::EphemeralSequential,
            };
            writer.add_create(path, data, &mode.with_acls(Acls::anyone_all()))
        }
        Op::Set { path, data, version } => writer.add_set_data(path, data, *version),
        Op::Delete { path, version } => writer.add_delete(path, *version),
        Op::Check { path, version } => writer.add_check_version(path, version.unwrap_or(-1)),
    };
    added.map_err(|error| node_error(&error, Some(op)))
}

fn result(result: MultiWriteResult) -> OpResult {
    match result {
        MultiWriteResult::Create { path, .. } => OpResult::Created { path: path.into() },
        MultiWriteResult::SetData { stat } => OpResult::Set(known(&stat)),
        MultiWriteResult::Delete => OpResult::Deleted,
        // The one that is left; the crate keeps it open whether there will be more.
        _ => OpResult::Checked,
    }
}

fn known(stat: &zookeeper_client::Stat) -> Stat {
    Stat {
        czxid: stat.czxid,
        mzxid: stat.mzxid,
        version: stat.version,
        cversion: stat.cversion,
        ephemeral_owner: stat.ephemeral_owner,
    }
}

fn node_error(error: &Error, op: Option<&Op>) -> NodeError {
    match error {
        Error::NoNode => NodeError::NoNode,
        Error::NodeExists => NodeError::NodeExists,
        Error::NotEmpty => NodeError::NotEmpty,
        Error::NoChildrenForEphemerals => NodeError::NoChildrenForEphemerals,
        Error::BadArguments(_) => NodeError::BadArguments,
        Error::BadVersion => NodeError::BadVersion {
            expected: op.map_or(-1, expected_version),
        },
        _ => NodeError::Refused,
    }
}

fn expected_version(op: &Op) -> i32 {
    match op {
        Op::Set { version, .. } | Op::Delete { version, .. } | Op::Check { version, .. } => {
            version.unwrap_or(-1)
        }
        Op::Create { .. } => -1,
    }
}

fn refused(multi: &Multi, index: usize, error: NodeError) -> MultiError {
    let path = multi.ops.get(index).map(Op::path).cloned();
    MultiError {
        index: index as u32,
        path: path.unwrap_or_else(|| "/".into()),
        error,
    }
}

/// Makes the requests of all looks, in order.
pub fn read(client: &Client, reads: Vec<Read>) -> Answering<'_> {
    let looks: Vec<Looking<'_>> = reads.into_iter().map(|read| look(client, read)).collect();
    Box::pin(async move {
        let (mut found, mut watches) = (Vec::with_capacity(looks.len()), Vec::new());
        let mut answer = None;
        for (index, look) in looks.into_iter().enumerate() {
            let Look { path, result, watch } = look.await;
            watches.extend(watch);
            let error = match result {
                Ok(what) => {
                    found.push(what);
                    continue;
                }
                Err(error) => error,
            };
            // The first failure counts; those behind it are awaited for the watches that they set.
            answer.get_or_insert(match error {
                Error::BadArguments(_) | Error::NoAuth => Answer::Done(Err(MultiError {
                    index: index as u32,
                    path,
                    error: node_error(&error, None),
                })),
                _ => Answer::Unknown,
            });
        }
        let answer = answer.unwrap_or(Answer::Done(Ok(CoordinationReply::Read(found))));
        (answer, watches)
    })
}

/// What one look came to.
struct Look {
    path: Arc<str>,
    result: Result<Found, Error>,
    watch: Option<NewWatch>,
}

type Looking<'a> = Pin<Box<dyn Future<Output = Look> + Send + 'a>>;

fn look(client: &Client, read: Read) -> Looking<'_> {
    match read {
        Read::Data { path, watch } => look_at_data(client, path, watch),
        Read::Children { path, watch: true } => {
            let listed = client.list_and_watch_children(&path);
            Box::pin(async move {
                let (result, watch) = match listed.await {
                    Ok((names, watcher)) => (children(Ok(names)), Some(watcher)),
                    Err(error) => (children(Err(error)), None),
                };
                let watch = watch.map(|watcher| (Watched::Children, path.clone(), watcher));
                Look { path, result, watch }
            })
        }
        Read::Children { path, watch: false } => {
            let listed = client.list_children(&path);
            Box::pin(async move {
                let result = children(listed.await);
                Look {
                    path,
                    result,
                    watch: None,
                }
            })
        }
    }
}

/// A watch is set by `exists`, which takes one for a node that is not there as well; the bytes come by a
/// request right behind it. What comes between the two fires the watch before the answer.
fn look_at_data(client: &Client, path: Arc<str>, watch: bool) -> Looking<'_> {
    let exists = watch.then(|| client.check_and_watch_stat(&path));
    let data = client.get_data(&path);
    Box::pin(async move {
        let watcher = match exists {
            Some(exists) => exists.await.map(|(_, watcher)| Some(watcher)),
            None => Ok(None),
        };
        let data = data.await;
        let (watch, result) = match watcher {
            Ok(watcher) => (
                watcher.map(|watcher| (Watched::Data, path.clone(), watcher)),
                data_found(data),
            ),
            Err(error) => (None, Err(error)),
        };
        Look { path, result, watch }
    })
}

fn data_found(data: Result<(Vec<u8>, zookeeper_client::Stat), Error>) -> Result<Found, Error> {
    match data {
        Ok((bytes, stat)) => Ok(Found::Data(Some((Bytes::from(bytes), known(&stat))))),
        Err(Error::NoNode) => Ok(Found::Data(None)),
        Err(error) => Err(error),
    }
}

fn children(listed: Result<Vec<String>, Error>) -> Result<Found, Error> {
    match listed {
        Ok(mut names) => {
            names.sort_unstable();
            Ok(Found::Children(Some(names.into_iter().map(Into::into).collect())))
        }
        Err(Error::NoNode) => Ok(Found::Children(None)),
        Err(error) => Err(error),
    }
}
