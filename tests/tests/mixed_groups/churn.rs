//! A group whose members come and go in a drawn order, while records are written all along.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_core::types::{Offset, PartitionIndex, Rng};
use highwater_tests::broker::TestBroker;
use highwater_tests::requests::create_topic;
use highwater_tests::wire::WireClient;

use crate::coordinator::await_state;
use crate::diary::{Diary, Entry, Line};
use crate::member::{Client, Member, Membership};
use crate::writer::{Writer, Written, ends};

pub const TOPIC: &str = "numbered";
const GROUP: &str = "mixed";
/// Not a multiple of the members that there are most of the time.
pub const PARTITIONS: PartitionIndex = 7;
/// Nobody is taken for dead because the machine is busy.
pub const SESSION_MS: u32 = 45_000;
/// The shortest that a broker allows: whoever is killed has it.
const SHORT_SESSION_MS: u32 = 6_000;
/// Members that leave while others are still to come.
const LEAVE_EARLY: u64 = 2;

/// A broker for groups: they need not wait for others at their first rebalance.
pub fn broker() -> TestBroker {
    TestBroker::start(&[
        "offsets.topic.replication.factor=1",
        "group.initial.rebalance.delay.ms=0",
    ])
}

/// What members said last is printed when something fails.
pub struct Told(pub Arc<Diary>);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the members' last words\n{}", self.0.last_words());
        }
    }
}

/// See the [module](self).
struct Churn {
    // Members end before their broker does.
    members: Vec<Member>,
    writer: Writer,
    diary: Arc<Diary>,
    membership: Membership,
    coordinator: WireClient,
    started: usize,
    _broker: TestBroker,
}

/// Something that happens to the group.
#[derive(Clone, Copy, Debug)]
enum Step {
    Join(Client),
    Leave(Client),
    Kill(Client),
}

/// Everybody joins in a drawn order, some leave meanwhile and one of them comes back; with `killed`,
/// somebody dies at the end.
fn drawn_steps(clients: &[Client], killed: Option<Client>, rng: &mut Rng) -> Vec<Step> {
    let mut waiting = clients.to_vec();
    let mut steps = Vec::new();
    let mut present: Vec<Client> = Vec::new();
    let mut gone: Vec<Client> = Vec::new();
    while !waiting.is_empty() {
        let client = draw(&mut waiting, rng);
        steps.push(Step::Join(client));
        present.push(client);
        let may_leave = present.len() > 1 && (gone.len() as u64) < LEAVE_EARLY;
        if may_leave && (rng.below(2) == 0 || waiting.len() < 2) {
            let client = draw(&mut present, rng);
            steps.push(Step::Leave(client));
            gone.push(client);
        }
    }
    if !gone.is_empty() {
        steps.push(Step::Join(draw(&mut gone, rng)));
    }
    if let Some(client) = killed {
        if gone.contains(&client) {
            steps.push(Step::Join(client));
        }
        steps.push(Step::Kill(client));
    }
    steps
}

fn draw<T>(from: &mut Vec<T>, rng: &mut Rng) -> T {
    from.swap_remove(rng.below(from.len() as u64) as usize)
}

impl Churn {
    fn start(assignor: &'static str) -> Self {
        let broker = broker();
        let address = broker.address();
        let mut coordinator = WireClient::connect(&address);
        create_topic(&mut coordinator, TOPIC, PARTITIONS, &[]).expect("a topic");
        let membership = Membership {
            bootstrap: address.clone(),
            topic: TOPIC.to_owned(),
            group: GROUP.to_owned(),
            assignor,
            commits: "often",
        };
        Self {
            members: Vec::new(),
            writer: Writer::start(&address, TOPIC, PARTITIONS),
            diary: Arc::default(),
            membership,
            coordinator,
            started: 0,
            _broker: broker,
        }
    }

    fn carry_out(&mut self, step: Step, killed: Option<Client>) {
        match step {
            Step::Join(client) => {
                self.started += 1;
                let mut membership = self.membership.clone();
                let mut session_ms = SESSION_MS;
                if killed == Some(client) {
                    // So that there is something that it had not committed.
                    membership.commits = "late";
                    session_ms = SHORT_SESSION_MS;
                }
                let member = Member::start(client, self.started, &membership, session_ms, &self.diary);
                self.members.push(member);
            }
            Step::Leave(client) => self.take(client).leave(),
            Step::Kill(client) => {
                let member = self.take(client);
                self.diary.await_uncommitted(&member.name);
                member.kill();
            }
        }
        let names: Vec<&str> = self.members.iter().map(|member| member.name.as_str()).collect();
        await_state(&mut self.coordinator, GROUP, "Stable", &names);
        self.diary.await_read(&self.writer.ends());
    }

    fn take(&mut self, client: Client) -> Member {
        let at = self.members.iter().position(|member| member.client == client);
        self.members.remove(at.expect("a member that is there"))
    }

    /// All leave when all is read; what was written, and what the members said.
    fn end(self) -> (Written, Vec<Entry>) {
        let written = self.writer.stop();
        self.diary.await_read(&ends(&written));
        self.members.into_iter().for_each(Member::leave);
        (written, self.diary.entries())
    }
}

/// Plays a drawn order of joins and leaves, and with `killed` the sudden death of that client; fails when a record
/// is processed more or less often than it should be.
pub fn play(assignor: &'static str, clients: &[Client], killed: Option<Client>, seed: u64) {
    let mut rng = Rng::new(seed);
    let steps = drawn_steps(clients, killed, &mut rng);
    println!("HIGHWATER_SEED={seed} {assignor}: {steps:?}");
    let mut churn = Churn::start(assignor);
    let _told = Told(churn.diary.clone());
    let mut dead = None;
    for step in steps {
        if let Step::Kill(client) = step {
            let member = churn.members.iter().find(|member| member.client == client);
            dead = member.map(|member| member.name.clone());
        }
        churn.carry_out(step, killed);
    }
    let (written, entries) = churn.end();
    let repeated = account(&written, &entries, dead.as_deref());
    assert_eq!(
        repeated > 0,
        dead.is_some(),
        "who dies has processed something after its last commit"
    );
    let kinds = clients.len();
    println!(
        "report: {assignor}: {} records, members of {kinds} clients, {} twice",
        written.len(),
        repeated
    );
}

/// Records that came twice.
fn account(written: &Written, entries: &[Entry], dead: Option<&str>) -> usize {
    let mut processed: BTreeMap<(PartitionIndex, Offset), Vec<&str>> = BTreeMap::new();
    // What the dead one was known to have committed.
    let mut committed: BTreeMap<PartitionIndex, Offset> = BTreeMap::new();
    for (who, line) in entries {
        match line {
            Line::Record {
                partition,
                offset,
                number,
            } => {
                let place = (*partition, *offset);
                let wanted = written.get(&place);
                assert_eq!(wanted, Some(number), "{who} read another record at {place:?}");
                processed.entry(place).or_default().push(who);
            }
            Line::Committed(next) if Some(who.as_str()) == dead => committed.extend(next),
            _ => {}
        }
    }
    let mut repeated = 0;
    for place in written.keys() {
        let by = processed.get(place).map(Vec::as_slice).unwrap_or_default();
        match by {
            [] => panic!("nobody has processed {place:?}"),
            [_] => {}
            [first, _]
                if Some(*first) == dead && committed.get(&place.0).is_none_or(|next| place.1 >= *next) =>
            {
                repeated += 1;
            }
            _ => panic!(
                "{place:?} was processed by {by:?}, in turn; the one that died had committed {committed:?}"
            ),
        }
    }
    repeated
}
