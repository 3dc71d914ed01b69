//! Apache Kafka from Maven, by the same pom as the tests use: its broker and its producer.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::broker::free_ports;
use crate::program::{records_a_second, run};
use crate::{Result, at, root};

/// What `kafka-server-start.sh` gives the virtual machine.
const HEAP: [&str; 2] = ["-Xmx1G", "-Xms1G"];
const COLLECTOR: [&str; 4] = [
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
];
/// Any id will do: the cluster lives for one run.
const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qg";

/// The folder of Kafka's jars; Maven fetches them if they are missing.
pub fn jars() -> Result<PathBuf> {
    let jars = root().join("target/clients/java/lib");
    if !jars.is_dir() {
        let mut maven = Command::new("mvn");
        maven
            .args(["--batch-mode", "--quiet", "package"])
            .current_dir(root().join("tests/clients/java"));
        run(&mut maven).map_err(|why| format!("Kafka cannot be fetched by Maven: {why}"))?;
    }
    Ok(jars)
}

/// Whether the Java producer can be run without fetching anything.
pub fn java_is_there() -> bool {
    let java = Command::new("java")
        .arg("-version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    java.is_ok_and(|status| status.success()) && root().join("target/clients/java/lib").is_dir()
}

/// One of Kafka's command line tools, by its class.
pub fn tool(class: &str) -> Result<Command> {
    let mut tool = java(&jars()?, &["-Xmx512M"]);
    tool.arg(class);
    Ok(tool)
}

/// Brokers that are controllers too, formatted and ready to be started.
pub fn brokers(jars: &Path, directory: &Path, ports: &[u16]) -> Result<Vec<Command>> {
    let controllers = free_ports(ports.len() as u16)?;
    let voters: Vec<String> = (1..)
        .zip(&controllers)
        .map(|(id, port): (u16, _)| format!("{id}@127.0.0.1:{port}"))
        .collect();
    let internal = ports.len();
    let mut brokers = Vec::new();
    for ((id, port), controller) in (1_u16..).zip(ports).zip(&controllers) {
        let properties = format!(
            "process.roles=broker,controller\nnode.id={id}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             controller.listener.names=CONTROLLER\n\
             controller.quorum.voters={}\n\
             offsets.topic.replication.factor={internal}\nlog.dirs={}\n",
            voters.join(","),
            directory.join(format!("data-{id}")).display()
        );
        let file = directory.join(format!("server-{id}.properties"));
        at(&file, std::fs::write(&file, properties))?;
        let mut format = java(jars, &[]);
        format.args(["kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID]);
        run(format.arg("--config").arg(&file))?;
        let mut broker = java(jars, &[&HEAP[..], &COLLECTOR].concat());
        broker.arg("kafka.Kafka").arg(file);
        brokers.push(broker);
    }
    Ok(brokers)
}

/// Kafka's own producer with its default settings: `count` messages of 100 bytes with acks=all.
/// Answers how many bytes it sent in a second, without the time that Java took to start.
pub fn producer_performance(address: &str, topic: &str, count: u64) -> Result<f64> {
    let mut tool = tool("org.apache.kafka.tools.ProducerPerformance")?;
    tool.args(["--topic", topic]);
    tool.args([
        "--num-records",
        &count.to_string(),
        "--record-size",
        "100",
        "--throughput",
        "-1",
    ]);
    tool.args(["--bootstrap-server", address, "--command-property", "acks=all"]);
    let said = run(&mut tool)?;
    let records = records_a_second(&said).ok_or_else(|| format!("ProducerPerformance said:\n{said}"))?;
    Ok(records * 100.0)
}

fn java(jars: &Path, options: &[&str]) -> Command {
    let mut java = Command::new("java");
    java.args(options).arg("-cp").arg(jars.join("*"));
    java
}
