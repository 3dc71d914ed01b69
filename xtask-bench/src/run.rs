//! One run: what is measured in which order, the systems by turns, with progress shown.

use std::path::{Path, PathBuf};

use highwater_tests::browser::Driver;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::broker::{Broker, Shape, System};
use crate::figures;
use crate::floors::{self, Floors};
use crate::loads::{self, Loads, Values};
use crate::machine::Machine;
use crate::plan::Plan;
use crate::report::Report;
use crate::{
    Against, Arguments, Result, clients, failover, groups, idle, kafka, lab, meter, root, said, simulator,
    table, three, zookeeper,
};

/// Measurements besides the loads.
const OTHERS: [&str; 9] = [
    "floors",
    "start",
    "connections",
    "partitions",
    "clients",
    "groups",
    "three",
    "failover",
    "simulator",
];
/// Kafka needs minutes for 30,000 logs on a small machine, and is not asked for them.
const MANY_LOGS_OF: &str = "Highwater";
/// Whose clients in Java stand beside ours.
const KAFKA: &str = "Kafka";

struct Run<'a> {
    out: &'a Path,
    systems: Vec<System>,
    only: &'a [String],
    loads: Loads,
    report: Report,
    bar: ProgressBar,
}

pub fn run(arguments: &Arguments, out: &Path) -> Result<Report> {
    check_names(&arguments.only)?;
    raise_descriptors()?;
    let mut systems = vec![System::Highwater {
        binary: binary(&arguments.binary)?,
    }];
    if arguments.against == Some(Against::Kafka) {
        systems.push(System::Kafka { jars: kafka::jars()? });
    }
    let plan = match arguments.quick {
        true => Plan::quick(),
        false => Plan::whole(),
    };
    let mut run = Run {
        out,
        systems,
        only: &arguments.only,
        loads: Loads::new(plan),
        report: Report::new(Machine::this(), arguments.quick),
        bar: ProgressBar::new(0),
    };
    run.bar.set_length(match arguments.lab {
        true => u64::from(run.loads.plan.runs),
        false => run.steps(),
    });
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed_precise} {msg}");
    run.bar.set_style(style.map_err(said)?);
    if arguments.lab {
        run.lab()?;
        run.bar.finish_and_clear();
        return Ok(run.report);
    }
    run.floors()?;
    run.starts()?;
    run.loads()?;
    run.idle()?;
    run.clients()?;
    run.groups()?;
    run.three()?;
    run.failover()?;
    run.simulator()?;
    run.bar.finish_and_clear();
    Ok(run.report)
}

impl Run<'_> {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    fn steps(&self) -> u64 {
        let count = |name: &&str| u64::from(self.wants(name));
        let systems = self.systems.len() as u64;
        let runs = u64::from(self.loads.plan.runs);
        let loads: u64 = loads::ALL.iter().map(|(name, _)| count(name)).sum();
        let warming = u64::from(loads > 0);
        let idle: u64 = ["connections", "partitions"].iter().map(count).sum();
        let one = runs * (count(&"start") + loads) + warming + idle;
        let three = count(&"three") * (2 + 2 * runs);
        let failovers = count(&"failover") * u64::from(self.loads.plan.failovers);
        let groups = runs * count(&"groups");
        (count(&"floors") + count(&"simulator") + 3 * count(&"clients")) * runs
            + systems * (one + three + failovers + groups)
            + count(&"three")
    }

    fn floors(&mut self) -> Result<()> {
        let plan = &self.loads.plan;
        // Worlds are in memory, whatever the page cache holds.
        if !self.only.is_empty() && self.only.iter().all(|only| only == "simulator") {
            return Ok(());
        }
        self.bar.set_message("page cache");
        floors::touch_page_cache(self.out, plan.touched_bytes)?;
        if !self.wants("floors") {
            return Ok(());
        }
        let floors = Floors::prepare(self.out, plan.floor_bytes, plan.steady_s)?;
        for _ in 0..plan.runs {
            self.bar.set_message("floors");
            let request = floors.request()?;
            let values = [
                ("receive", floors.receive()?),
                ("receive_write", floors.receive_and_write()?),
                ("receive_append", floors.receive_and_append(self.out)?),
                ("send_file", floors.send_file()?),
                ("read_send", floors.read_and_send()?),
                ("request_cpu", request.cpu_us),
                ("request_p50", request.p50_ms),
            ];
            self.note_floors("floors", "", &values.to_vec());
        }
        Ok(())
    }

    fn starts(&mut self) -> Result<()> {
        if !self.wants("start") {
            return Ok(());
        }
        for _ in 0..self.loads.plan.runs {
            for system in self.systems.clone() {
                self.bar.set_message(format!("{} starts", system.name()));
                let broker = Broker::start(&system, Shape::One, self.out, "start")?;
                let values = idle::started(&broker)?;
                drop(broker);
                self.note("start", &system, &values);
            }
        }
        Ok(())
    }

    /// The systems run side by side, and are loaded one after the other.
    fn loads(&mut self) -> Result<()> {
        let wanted: Vec<_> = loads::ALL.iter().filter(|(name, _)| self.wants(name)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut brokers = Vec::new();
        for system in self.systems.clone() {
            self.bar.set_message(format!("{} warms up", system.name()));
            let broker = Broker::start(&system, Shape::One, self.out, "loads")?;
            self.loads.warm(&broker)?;
            self.bar.inc(1);
            brokers.push((system, broker));
        }
        for (name, load) in wanted {
            for turn in 0..self.loads.plan.runs {
                for (system, broker) in &brokers {
                    self.bar.set_message(format!("{name}: {}", system.name()));
                    let values = load(&self.loads, broker, &format!("{name}-{turn}"))?;
                    self.note(name, system, &values);
                }
            }
        }
        for (system, broker) in &brokers {
            let values = idle::most_memory(broker)?;
            let load = meter::load_average();
            self.take("memory", system, &values, load);
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        let (connections, partitions) = (self.wants("connections"), self.wants("partitions"));
        if !connections && !partitions {
            return Ok(());
        }
        for system in self.systems.clone() {
            let broker = Broker::start(&system, Shape::One, self.out, "idle")?;
            if connections {
                self.bar
                    .set_message(format!("{}: idle connections", system.name()));
                let values = idle::connections(&broker, &self.loads.plan)?;
                self.note("connections", &system, &values);
            }
            if partitions {
                self.bar
                    .set_message(format!("{}: idle partitions", system.name()));
                let values = idle::partitions(&broker, &self.loads.plan)?;
                self.note("partitions", &system, &values);
            }
        }
        Ok(())
    }

    /// Three clients of one broker, by turns.
    fn clients(&mut self) -> Result<()> {
        let Some((binary, system)) = self.ours().filter(|_| self.wants("clients")) else {
            return Ok(());
        };
        let broker = Broker::start(&system, Shape::One, self.out, "clients")?;
        let work = clients::Work {
            broker: &broker,
            records: clients::records_of(self.loads.plan.bytes_of_clients),
        };
        for _ in 0..self.loads.plan.runs {
            self.bar.set_message("clients: ours");
            self.note("clients", &system, &work.ours(&binary)?);
            self.bar.set_message("clients: Kafka's");
            let values = work.java()?;
            let load = meter::load_average();
            for (id, value) in &values {
                self.report.note(KAFKA, id, *value, load);
            }
            self.say("clients", KAFKA, &values, load);
            self.bar.inc(1);
            self.bar.set_message("clients: librdkafka");
            let values = work.librdkafka()?;
            self.note_floors("clients", "librdkafka", &values);
        }
        Ok(())
    }

    fn groups(&mut self) -> Result<()> {
        if !self.wants("groups") {
            return Ok(());
        }
        for _ in 0..self.loads.plan.runs {
            for system in self.systems.clone() {
                self.bar.set_message(format!("groups: {}", system.name()));
                let broker = Broker::start(&system, Shape::One, self.out, "groups")?;
                let values = groups::measure(&broker, self.loads.plan.commits_s)?;
                self.note("groups", &system, &values);
            }
        }
        Ok(())
    }

    /// One cluster after the other: two at a time do not fit into a small machine.
    fn three(&mut self) -> Result<()> {
        if !self.wants("three") {
            return Ok(());
        }
        for system in self.systems.clone() {
            self.bar.set_message(format!("three: {} starts", system.name()));
            let broker = Broker::start(&system, Shape::Three, self.out, "three")?;
            self.note("three", &system, &three::started(&broker)?);
            self.bar.set_message(format!("three: {} warms up", system.name()));
            three::warm(&self.loads, &broker)?;
            self.bar.inc(1);
            for turn in 0..self.loads.plan.runs {
                self.bar.set_message(format!("three: {}", system.name()));
                let values = three::produce(&self.loads, &broker, &format!("three-{turn}"))?;
                self.note("three", &system, &values);
            }
            for turn in 0..self.loads.plan.runs {
                let values = three::steady(&self.loads, &broker, &format!("steady-{turn}"))?;
                self.note("three", &system, &values);
            }
            let load = meter::load_average();
            self.take("three", &system, &three::most_memory(&broker)?, load);
            if system.name() == MANY_LOGS_OF {
                self.bar.set_message("three: idle partitions");
                self.note("three", &system, &three::partitions(&self.loads, &broker)?);
            }
        }
        Ok(())
    }

    fn failover(&mut self) -> Result<()> {
        if !self.wants("failover") {
            return Ok(());
        }
        if !zookeeper::is_there() {
            return Err("ZooKeeper is not installed, which fail-over needs: `apt install zookeeper`, or name other measurements with --only".to_owned());
        }
        for system in self.systems.clone() {
            self.bar.set_message(format!("fail-over: {}", system.name()));
            let mut broker = Broker::start(&system, Shape::Apart, self.out, "failover")?;
            for _ in 0..self.loads.plan.failovers {
                let values = failover::measure(&mut broker)?;
                self.note("failover", &system, &values);
            }
        }
        Ok(())
    }

    /// It has no counterpart in other systems.
    fn simulator(&mut self) -> Result<()> {
        let Some((binary, system)) = self.ours().filter(|_| self.wants("simulator")) else {
            return Ok(());
        };
        for _ in 0..self.loads.plan.runs {
            self.bar.set_message("simulator");
            let values = simulator::measure(&binary)?;
            self.note("simulator", &system, &values);
        }
        Ok(())
    }

    /// The page has no counterpart either, but an empty one.
    fn lab(&mut self) -> Result<()> {
        let Some((binary, system)) = self.ours() else {
            return Ok(());
        };
        let server = lab::Server::start(&binary, self.out)?;
        let driver = Driver::start();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(said)?;
        for _ in 0..self.loads.plan.runs {
            self.bar.set_message("the page");
            let (floors, values) = runtime.block_on(lab::measure(&server, &driver))?;
            let load = meter::load_average();
            for (id, value) in &floors {
                self.report.note_floor(id, *value, load);
            }
            self.say("page", "empty", &floors, load);
            self.note("page", &system, &values);
        }
        Ok(())
    }

    /// Our binary, and the system that it is.
    fn ours(&self) -> Option<(PathBuf, System)> {
        self.systems.iter().find_map(|system| match system {
            System::Highwater { binary } => Some((binary.clone(), system.clone())),
            System::Kafka { .. } => None,
        })
    }

    /// Takes what others are held against.
    fn note_floors(&mut self, name: &str, who: &str, values: &Values) {
        let load = meter::load_average();
        for (id, value) in values {
            self.report.note_floor(id, *value, load);
        }
        self.say(name, who, values, load);
        self.bar.inc(1);
    }

    /// Takes the values of one step.
    fn note(&mut self, name: &str, system: &System, values: &Values) {
        let load = meter::load_average();
        self.take(name, system, values, load);
        self.bar.inc(1);
    }

    fn take(&mut self, name: &str, system: &System, values: &Values, load: f64) {
        for (id, value) in values {
            self.report.note(system.name(), id, *value, load);
        }
        self.say(name, system.name(), values, load);
    }

    /// One line for a step, above the bar.
    fn say(&self, name: &str, who: &str, values: &[(&'static str, f64)], load: f64) {
        let values: Vec<String> = values
            .iter()
            .map(|(id, value)| {
                let unit = figures::of(id).map_or("", |figure| figure.unit);
                let short = id.rsplit('.').next().unwrap_or(id);
                format!("{short} {} {unit}", table::number(*value))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        let line = format!("{name:12} {who:10} {}  [load {load:.1}]", values.join(", "));
        self.bar.suspend(|| println!("{line}"));
    }
}

fn check_names(only: &[String]) -> Result<()> {
    let names: Vec<&str> = OTHERS
        .into_iter()
        .chain(loads::ALL.iter().map(|(name, _)| *name))
        .collect();
    match only.iter().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!(
            "there is no measurement '{name}'; there are {}",
            names.join(", ")
        )),
    }
}

fn binary(given: &Path) -> Result<PathBuf> {
    let path = root().join(given);
    match path.is_file() {
        true => Ok(path),
        false => Err(format!(
            "{}: no such binary; `cargo xtask bench` builds it",
            path.display()
        )),
    }
}

/// Thousands of connections and partitions need as many descriptors, here and in the brokers.
fn raise_descriptors() -> Result<()> {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: most,
            maximum: most,
        },
    )
    .map_err(|e| format!("cannot raise the limit of open files: {e}"))
}
