//! The figures that are reported: what each is called, what it stands beside, and what to reach.

/// How a figure is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Only reported.
    None,
    /// At least this many times Kafka's.
    TimesKafka(f64),
    /// At most this share of Kafka's.
    ShareOfKafka(f64),
    /// At most this many times the floor.
    TimesFloor(f64),
    /// At most this, in the figure's unit.
    AtMost(f64),
    /// At least this, in the figure's unit.
    AtLeast(f64),
}

/// A table of the book's page: measured together, so that its ratios hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    OneBroker,
    ThreeBrokers,
    Clients,
    Groups,
    Simulator,
    Page,
}

impl Part {
    pub const ALL: [Self; 6] = [
        Self::OneBroker,
        Self::ThreeBrokers,
        Self::Clients,
        Self::Groups,
        Self::Simulator,
        Self::Page,
    ];

    /// As the marks in the page name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneBroker => "one broker",
            Self::ThreeBrokers => "three brokers",
            Self::Clients => "clients",
            Self::Groups => "groups",
            Self::Simulator => "simulator",
            Self::Page => "page",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Figure {
    pub id: &'static str,
    pub label: &'static str,
    pub unit: &'static str,
    /// The bare program beside it.
    pub floor: Option<&'static str>,
    pub goal: Goal,
}

/// The part that a floor stands with.
pub fn part_of_floor(name: &str) -> Part {
    match name {
        page if page.starts_with("lab_") => Part::Page,
        client if client.starts_with("librdkafka") => Part::Clients,
        _ => Part::OneBroker,
    }
}

pub const FLOORS: [(&str, &str, &str); 14] = [
    ("receive", "recv into one buffer of 1 MiB", "CPU s/GB"),
    (
        "receive_write",
        "recv 1 MiB, write over touched pages",
        "CPU s/GB",
    ),
    (
        "receive_append",
        "recv 1 MiB, append to a new file (what a log has to do)",
        "CPU s/GB",
    ),
    ("send_file", "sendfile from the page cache", "CPU s/GB"),
    ("read_send", "pread, send", "CPU s/GB"),
    (
        "request_cpu",
        "200 B request, pwrite, answer: 1000/s on one thread",
        "CPU µs/request",
    ),
    ("request_p50", "the same: p50", "ms"),
    (
        "librdkafka_produce",
        "librdkafka: produce 1 KiB, acks=all",
        "MB/s",
    ),
    ("librdkafka_produce_cpu", "librdkafka: produce 1 KiB", CPU),
    ("librdkafka_fetch", "librdkafka: fetch 1 KiB", "MB/s"),
    ("librdkafka_fetch_cpu", "librdkafka: fetch 1 KiB", CPU),
    ("lab_empty_frame", "empty page: first frame", "ms"),
    (
        "lab_empty_press",
        "empty page: from a key to its paint, median",
        "ms",
    ),
    ("lab_empty_late", "empty page: late frames in 3 s", "of 1,000"),
];

const fn figure(id: &'static str, label: &'static str, unit: &'static str, goal: Goal) -> Figure {
    Figure {
        id,
        label,
        unit,
        floor: None,
        goal,
    }
}

impl Figure {
    pub fn part(&self) -> Part {
        match self.id.split_once('.') {
            Some(("three" | "failover", _)) => Part::ThreeBrokers,
            Some(("clients", _)) => Part::Clients,
            Some(("groups", _)) => Part::Groups,
            Some(("simulator", _)) => Part::Simulator,
            Some(("lab", _)) => Part::Page,
            _ => Part::OneBroker,
        }
    }

    const fn beside(mut self, floor: &'static str) -> Self {
        self.floor = Some(floor);
        self
    }
}

const CPU: &str = "CPU s/GB";
const USER: &str = "user s/GB";

/// In the order of the table. The part of an id before the dot names the measurement (`--only`).
pub const FIGURES: [Figure; 64] = [
    figure(
        "start.first_answer",
        "start to first answer",
        "ms",
        Goal::AtMost(50.0),
    ),
    figure("start.memory", "resident memory, idle", "MB", Goal::AtMost(20.0)),
    figure(
        "memory.loaded",
        "resident memory, most under load",
        "MB",
        Goal::AtMost(40.0),
    ),
    figure(
        "1k.produce",
        "produce 1 KiB, one partition, acks=all",
        "MB/s",
        Goal::TimesKafka(1.8),
    ),
    figure("1k.produce_cpu", "produce 1 KiB", CPU, Goal::TimesFloor(1.5)).beside("receive_append"),
    figure("1k.produce_user", "produce 1 KiB", USER, Goal::None),
    figure(
        "100b.produce",
        "produce 100 B, one partition, acks=1",
        "M msg/s",
        Goal::TimesKafka(1.7),
    ),
    figure("100b.produce_cpu", "produce 100 B", CPU, Goal::ShareOfKafka(0.25)).beside("receive_append"),
    figure("100b.produce_user", "produce 100 B", USER, Goal::None),
    figure(
        "lz4.produce",
        "produce ~1 KiB JSON in lz4, one partition",
        "MB/s",
        Goal::None,
    ),
    figure(
        "lz4.produce_cpu",
        "produce JSON in lz4",
        CPU,
        Goal::ShareOfKafka(0.5),
    ),
    figure(
        "zstd.produce",
        "produce ~1 KiB JSON in zstd, one partition",
        "MB/s",
        Goal::None,
    ),
    figure(
        "zstd.produce_cpu",
        "produce JSON in zstd",
        CPU,
        Goal::ShareOfKafka(0.5),
    ),
    figure(
        "1k.fetch",
        "fetch 1 KiB from page cache, one partition",
        "GB/s",
        Goal::TimesKafka(1.0),
    ),
    figure("1k.fetch_cpu", "fetch 1 KiB", CPU, Goal::ShareOfKafka(0.5)).beside("send_file"),
    figure(
        "100b.fetch",
        "fetch 100 B from page cache, one partition",
        "GB/s",
        Goal::TimesKafka(1.0),
    ),
    figure("100b.fetch_cpu", "fetch 100 B", CPU, Goal::ShareOfKafka(0.5)).beside("send_file"),
    figure(
        "six.fetch",
        "fetch 1 KiB, six partitions",
        "GB/s",
        Goal::TimesKafka(1.0),
    ),
    figure(
        "six.fetch_cpu",
        "fetch 1 KiB, six partitions",
        CPU,
        Goal::ShareOfKafka(1.0),
    )
    .beside("send_file"),
    figure(
        "java.produce",
        "Java producer as it comes, 100 B, acks=all",
        "MB/s",
        Goal::None,
    ),
    figure(
        "java.produce_cpu",
        "Java producer, 100 B",
        CPU,
        Goal::ShareOfKafka(0.25),
    ),
    figure(
        "steady.p50",
        "1000 msg/s, acks=all: p50",
        "ms",
        Goal::ShareOfKafka(0.5),
    )
    .beside("request_p50"),
    figure("steady.p99", "1000 msg/s: p99", "ms", Goal::ShareOfKafka(0.5)),
    figure("steady.p999", "1000 msg/s: p99.9", "ms", Goal::None),
    figure(
        "steady.core",
        "1000 msg/s",
        "% of a core",
        Goal::ShareOfKafka(0.25),
    ),
    figure("steady.request", "1000 msg/s", "CPU µs/request", Goal::None).beside("request_cpu"),
    figure(
        "connections.memory",
        "5,000 idle connections",
        "KiB each",
        Goal::None,
    ),
    figure(
        "connections.core",
        "5,000 idle connections",
        "% of a core",
        Goal::None,
    ),
    figure(
        "partitions.create",
        "making 10,000 partitions, until quiet again",
        "s",
        Goal::None,
    ),
    figure(
        "partitions.core",
        "10,000 idle partitions",
        "% of a core",
        Goal::AtMost(2.0),
    ),
    figure(
        "partitions.memory",
        "10,000 idle partitions, resident memory",
        "MB",
        Goal::None,
    ),
    figure(
        "three.first_answer",
        "three brokers: start until all know each other",
        "ms",
        Goal::ShareOfKafka(1.0 / 40.0),
    ),
    figure(
        "three.memory",
        "three: resident memory, idle",
        "MB",
        Goal::ShareOfKafka(1.0 / 20.0),
    ),
    figure(
        "three.memory_loaded",
        "three: resident memory, most under load",
        "MB",
        Goal::ShareOfKafka(1.0 / 20.0),
    ),
    figure(
        "three.produce",
        "three, RF 3: produce 1 KiB, one partition, acks=all",
        "MB/s",
        Goal::TimesKafka(3.0),
    ),
    figure(
        "three.produce_cpu",
        "three, RF 3: produce 1 KiB",
        CPU,
        Goal::ShareOfKafka(0.25),
    ),
    figure(
        "three.p50",
        "three, RF 3: 1000 msg/s, acks=all: p50",
        "ms",
        Goal::ShareOfKafka(0.5),
    ),
    figure(
        "three.p99",
        "three, RF 3: 1000 msg/s: p99",
        "ms",
        Goal::ShareOfKafka(1.0 / 3.0),
    ),
    figure("three.core", "three, RF 3: 1000 msg/s", "% of a core", Goal::None),
    figure(
        "three.partitions_create",
        "three, RF 3: making 10,000 partitions, until quiet again",
        "s",
        Goal::None,
    ),
    figure(
        "three.partitions_core",
        "three, RF 3: 10,000 idle partitions",
        "% of a core",
        Goal::AtMost(2.0),
    ),
    figure(
        "three.partitions_memory",
        "three, RF 3: 10,000 idle partitions, resident memory",
        "MB",
        Goal::None,
    ),
    figure(
        "failover.stopped",
        "leader stopped cleanly: gap seen by a producer",
        "s",
        Goal::ShareOfKafka(0.25),
    ),
    figure(
        "failover.killed",
        "leader killed (session 9 s): next acknowledgement",
        "s",
        Goal::AtMost(9.3),
    ),
    figure(
        "clients.produce",
        "client: produce 1 KiB, one partition, acks=all",
        "MB/s",
        Goal::None,
    )
    .beside("librdkafka_produce"),
    figure("clients.produce_cpu", "client: produce 1 KiB", CPU, Goal::None).beside("librdkafka_produce_cpu"),
    figure(
        "clients.fetch",
        "client: fetch 1 KiB, one partition",
        "MB/s",
        Goal::None,
    )
    .beside("librdkafka_fetch"),
    figure("clients.fetch_cpu", "client: fetch 1 KiB", CPU, Goal::None).beside("librdkafka_fetch_cpu"),
    figure(
        "groups.formed",
        "1,000 members in 100 groups: all have their share (a new group waits 3 s, and 3 s more if members came meanwhile)",
        "s",
        Goal::None,
    ),
    figure(
        "groups.commit_p50",
        "they commit 10,000 times a second: p50",
        "ms",
        Goal::None,
    ),
    figure("groups.commit_p99", "the same: p99", "ms", Goal::None),
    figure(
        "groups.commit_cpu",
        "the same: processor time",
        "CPU µs/commit",
        Goal::None,
    ),
    figure(
        "groups.memory",
        "the same: resident memory that is added",
        "MB",
        Goal::None,
    ),
    figure(
        "simulator.events",
        "simulator, one core, no invariant looked at",
        "thousand events/s",
        Goal::AtLeast(200.0),
    ),
    figure(
        "simulator.checked",
        "simulator, one core, incremental invariants",
        "thousand events/s",
        Goal::AtLeast(40.0),
    ),
    figure(
        "simulator.copy",
        "copy of a world with 10,000 records, and its first event",
        "ms",
        Goal::AtMost(1.0),
    ),
    figure(
        "simulator.worst_copy",
        "the same, the longest of 500",
        "ms",
        Goal::None,
    ),
    figure(
        "lab.first_frame",
        "page: first frame, nothing cached",
        "ms",
        Goal::AtMost(1000.0),
    )
    .beside("lab_empty_frame"),
    figure(
        "lab.press_p50",
        "page: from a key to the painted step; 5 brokers, 6 partitions, 200 records: median",
        "ms",
        Goal::AtMost(16.0),
    )
    .beside("lab_empty_press"),
    figure("lab.press_p99", "the same: p99", "ms", Goal::AtMost(33.0)).beside("lab_empty_press"),
    figure(
        "lab.messages",
        "page: messages on their way at once while a run is played",
        "",
        Goal::AtLeast(50.0),
    ),
    figure(
        "lab.late_frames",
        "the same: late frames",
        "of 1,000",
        Goal::AtMost(0.0),
    ),
    figure(
        "lab.seek",
        "page: the longest of 40 seeks in a run of more than 10,000 facts",
        "ms",
        Goal::AtMost(100.0),
    ),
    figure(
        "lab.grown",
        "page: memory that 150 more openings of a scene leave",
        "MB",
        Goal::AtMost(1.0),
    ),
];

pub fn of(id: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.id == id)
}
