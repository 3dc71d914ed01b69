//! Settings under `/config`, as every broker reads them for itself.
//!
//! All are read once with a session; later changes are announced by a node under `/config/changes`
//! (Kafka 3.9's `ZkConfigManager`), whose bytes name the owner, and the owner's node is read again.
//! The watch stands before the first read, so that no change falls between the two. Announcements stay
//! for whoever was away, and are taken away by any broker that has known them for long.

use std::sync::Arc;

use super::session::{OpFor, Stage, data, in_portions};
use crate::broker::State;
use crate::config::Settings;
use crate::coordination::{CoordinationOp, Found, Multi, Read};
use crate::cx::Cx;
use crate::io::Level;
use crate::metadata::nodes;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{BrokerId, Millis, Uuid};

/// An announcement is of no use after so long (`ZkNodeChangeNotificationListener`).
const ANNOUNCED_FOR_MS: Millis = 15 * 60 * 1000;
/// Announcements taken away at one look; their going is a reason for the next.
const PURGED_AT_ONCE: usize = 100;

/// Whose settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::broker) enum Owner {
    Topic(Arc<str>),
    /// `None`: all brokers.
    Broker(Option<BrokerId>),
}

impl Owner {
    fn path(&self) -> String {
        match self {
            Owner::Topic(name) => nodes::topic_config(name),
            Owner::Broker(id) => nodes::broker_config(*id),
        }
    }

    /// From a notification's `entity_path`: `topics/NAME`, `brokers/ID`; others are not ours to follow.
    fn parse(path: &str) -> Option<Self> {
        let (kind, name) = path.split_once('/')?;
        match kind {
            "topics" => Some(Owner::Topic(name.into())),
            "brokers" if name == nodes::DEFAULT_ENTITY => Some(Owner::Broker(None)),
            "brokers" => name.parse().ok().map(|id| Owner::Broker(Some(id))),
            _ => None,
        }
    }
}

/// What is known of settings.
#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct Configs {
    known: OrderedMap<Owner, Arc<Settings>>,
    /// Topics whose settings were read, by the id they had then.
    read_for: OrderedMap<Arc<str>, Uuid>,
    /// Announcements that were acted on, and when each was seen first.
    seen_changes: OrderedMap<Arc<str>, Millis>,
    /// Reads of the first round that are not back.
    left: usize,
}

impl Configs {
    pub fn of(&self, owner: &Owner) -> Arc<Settings> {
        self.known.get(owner).cloned().unwrap_or_default()
    }

    pub fn of_topic(&self, name: &str) -> Arc<Settings> {
        self.of(&Owner::Topic(name.into()))
    }

    /// Whether the settings of this very topic were read: a new one of the same name has others.
    pub fn knows(&self, name: &str, id: Uuid) -> bool {
        self.read_for.get(name) == Some(&id)
    }

    pub fn forget_topic(&mut self, name: &Arc<str>) {
        self.read_for.remove(name);
        self.known.remove(&Owner::Topic(name.clone()));
    }

    /// True when they are other than before.
    pub fn learn(&mut self, owner: Owner, settings: &Arc<Settings>) -> bool {
        let before = self.known.insert(owner, settings.clone()).unwrap_or_default();
        before != *settings
    }

    pub fn learn_for(&mut self, name: &Arc<str>, id: Uuid) {
        self.read_for.insert(name.clone(), id);
    }

    /// These announcements are there now; those that are new.
    fn changes_are(&mut self, names: &[Arc<str>], now: Millis) -> Vec<Arc<str>> {
        let before = std::mem::take(&mut self.seen_changes);
        let seen = |name: &Arc<str>| before.get(name).copied();
        self.seen_changes = names
            .iter()
            .map(|name| (name.clone(), seen(name).unwrap_or(now)))
            .collect();
        let new = self.seen_changes.keys().filter(|name| seen(name).is_none());
        new.cloned().collect()
    }

    fn obsolete_changes(&self, now: Millis) -> Vec<Arc<str>> {
        let long_seen = |&(_, &at): &(&Arc<str>, &Millis)| now.saturating_sub(at) > ANNOUNCED_FOR_MS;
        let obsolete = self.seen_changes.iter().filter(long_seen);
        obsolete
            .take(PURGED_AT_ONCE)
            .map(|(name, _)| name.clone())
            .collect()
    }
}

impl State {
    /// Asks for everything: the announcements first, so that nothing is missed.
    pub(super) fn look_at_configs(&mut self) {
        let children = |path: &str, watch| Read::Children {
            path: path.into(),
            watch,
        };
        let reads = vec![
            children(nodes::CONFIG_CHANGES, true),
            children(nodes::TOPIC_CONFIGS, false),
            children(nodes::BROKER_CONFIGS, false),
        ];
        self.coordinate(CoordinationOp::Read(reads), OpFor::ConfigNames);
    }

    pub(super) fn config_names_seen(&mut self, cx: &mut Cx, found: &[Found]) {
        let names = |at: usize| match found.get(at) {
            Some(Found::Children(Some(names))) => names.clone(),
            _ => Vec::new(),
        };
        self.cluster.configs.changes_are(&names(0), cx.now);
        let topics = names(1).into_iter().map(Owner::Topic);
        let brokers = names(2)
            .into_iter()
            .filter_map(|name| Owner::parse(&format!("brokers/{name}")));
        let owners: Vec<Owner> = topics.chain(brokers).collect();
        let portions: Vec<_> = in_portions(&owners).collect();
        self.cluster.configs.left = portions.len();
        if portions.is_empty() {
            return self.configs_known(cx);
        }
        for portion in portions {
            self.read_configs(portion);
        }
    }

    pub(super) fn read_configs(&mut self, owners: Vec<Owner>) {
        let reads = owners.iter().map(|owner| data(&owner.path(), false)).collect();
        self.coordinate(CoordinationOp::Read(reads), OpFor::Configs(owners));
    }

    pub(super) fn configs_seen(&mut self, cx: &mut Cx, owners: &[Owner], found: &[Found]) {
        for (owner, found) in owners.iter().zip(found) {
            let settings = match found {
                Found::Data(Some((bytes, _))) => {
                    match nodes::parse::<nodes::EntityConfig>(&owner.path(), bytes) {
                        Ok(node) => Arc::new(node.config),
                        Err(bad) => {
                            self.out
                                .say(Level::Error, format!("{bad}; what was set before holds on"));
                            // Whoever waits for these settings goes by that.
                            self.cluster.configs.of(owner)
                        }
                    }
                }
                _ => Arc::default(),
            };
            self.settings_learned(cx, owner.clone(), settings);
        }
        if self.cluster.stage == Stage::Configs {
            self.cluster.configs.left = self.cluster.configs.left.saturating_sub(1);
            if self.cluster.configs.left == 0 {
                self.configs_known(cx);
            }
        } else {
            self.words_go_on(cx);
        }
    }

    /// The settings of an owner are these: whatever follows them follows.
    pub(in crate::broker) fn settings_learned(&mut self, cx: &mut Cx, owner: Owner, settings: Arc<Settings>) {
        if let Owner::Topic(name) = &owner {
            let id = self.image.topic(name).map(|topic| topic.id);
            let id = id.or_else(|| self.awaited_topic(name));
            if let Some(id) = id {
                self.cluster.configs.learn_for(name, id);
            }
        }
        if !self.cluster.configs.learn(owner.clone(), &settings) {
            return;
        }
        let image = Arc::make_mut(&mut self.image);
        match owner {
            Owner::Topic(name) => {
                image.set_topic_config(&name, settings);
                self.follow_topic_config(cx, &name);
            }
            Owner::Broker(broker) => {
                image.set_broker_config(broker, settings);
                self.follow_broker_config(cx);
            }
        }
    }

    pub(super) fn look_at_config_changes(&mut self) {
        let reads = vec![Read::Children {
            path: nodes::CONFIG_CHANGES.into(),
            watch: true,
        }];
        self.coordinate(CoordinationOp::Read(reads), OpFor::ConfigChanges);
    }

    pub(super) fn config_changes_seen(&mut self, cx: &Cx, found: &[Found]) {
        let Some(Found::Children(Some(names))) = found.first() else {
            return;
        };
        let new = self.cluster.configs.changes_are(names, cx.now);
        self.purge_config_changes(cx.now);
        for portion in in_portions(&new) {
            let path = |name: &Arc<str>| format!("{}/{name}", nodes::CONFIG_CHANGES);
            let reads = portion.iter().map(|name| data(&path(name), false)).collect();
            self.coordinate(CoordinationOp::Read(reads), OpFor::ConfigChange(portion));
        }
    }

    /// Takes announcements away that every broker must have seen. Another broker may be faster, which is
    /// as good: each goes by itself, and nobody asks what came of it.
    fn purge_config_changes(&mut self, now: Millis) {
        for name in self.cluster.configs.obsolete_changes(now) {
            let path = format!("{}/{name}", nodes::CONFIG_CHANGES);
            self.submit_multi(Multi::new().delete(path, None), OpFor::PurgeConfigChange);
        }
    }

    pub(super) fn config_change_seen(&mut self, cx: &mut Cx, names: &[Arc<str>], found: &[Found]) {
        let mut owners = OrderedSet::new();
        for (name, found) in names.iter().zip(found) {
            let Found::Data(Some((bytes, _))) = found else {
                continue;
            };
            match nodes::parse::<nodes::ConfigChange>(name, bytes) {
                Ok(change) => {
                    owners.extend(Owner::parse(&change.entity_path));
                    self.tell_controller_of_config(cx, &change.entity_path);
                }
                Err(bad) => self.out.say(Level::Error, bad.to_string()),
            }
        }
        if !owners.is_empty() {
            self.read_configs(owners.into_iter().collect());
        }
    }
}
