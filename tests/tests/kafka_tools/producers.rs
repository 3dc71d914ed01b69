//! What the tools of producers print and write: Kafka's, and then ours, to the same broker.

use bytes::Bytes;
use highwater_core::record::compression::PURE_RUST;
use highwater_tests::broker::TestBroker;
use highwater_tests::requests::{create_topic, read_log};
use highwater_tests::run_tool::{KafkasTools, OurTools, Tools};
use highwater_tests::tools::in_few_words;
use highwater_tests::wire::WireClient;

/// Commands that Kafka's tools carry out and then ours, each for a topic of its own: `OWN`.
const OF_PRODUCERS: &[&str] = &[
    r"ConsoleProducer --topic OWN <<< one\ntwo\n\nfour",
    r"ConsoleProducer --topic OWN --reader-property parse.key=true <<< k\tv\nk2\tv2\tand more\n",
    r"ConsoleProducer --topic OWN --reader-property parse.key=true --reader-property parse.headers=true --reader-property null.marker=NULL <<< h:1,i:2\tk\tv\nh:NULL\tk2\tNULL\nNULL\tNULL\tv\n",
    r"ConsoleProducer --topic OWN --reader-property parse.key=true --reader-property key.separator=| --reader-property ignore.error=true <<< k|v\nno key\n",
    r"ConsoleProducer --topic OWN --sync --compression-codec zstd --request-required-acks all <<< in\nsync\n",
    r"ConsoleProducer --topic OWN --compression-codec <<< zipped\n",
    r"ConsoleProducer --topic OWN --command-property acks=0 --command-property enable.idempotence=false <<< unasked\n",
    r"ConsoleProducer --topic OWN --reader-property parse.key=true --command-property max.block.ms=30000 <<< \tempty key\n\tand again\n",
    r"ConsoleProducer --topic OWN --max-block-ms 500 --command-property max.request.size=100 <<< aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nshort\n",
    "ProducerPerformance --topic OWN --num-records 20 --record-size 30 --throughput -1",
    "ProducerPerformance --topic OWN --num-records 20 --payload-monotonic --throughput 1000 --command-property linger.ms=1 acks=1",
    "ProducerPerformance --topic OWN --num-records 20 --record-size 5 --throughput -1 --key-distribution random --record-key-range 100 --random-seed -7",
    "ProducerPerformance --topic OWN --num-records 9 --payload-monotonic --throughput -1 --key-distribution range --record-key-range 4",
    "ProducerPerformance --topic OWN --num-records 8 --throughput -1 --payload-delimiter , --payload-file json:a,bc,def --warmup-records 3",
    "ProducerPerformance --topic OWN --num-records 0 --record-size 30 --throughput -1",
];

#[test]
fn the_producers_tools_print_and_write_what_kafkas_do() {
    let broker = TestBroker::start(crate::SETTINGS);
    let mut client = WireClient::connect(&broker.address());
    let mut theirs = KafkasTools::start();
    let mut wrong = String::new();
    for (number, line) in OF_PRODUCERS.iter().enumerate() {
        let (tool, options) = line.split_once(' ').expect("a tool and options");
        let mut done = |tools: &mut dyn Tools, own: &str| {
            let own = format!("{own}-{number}");
            create_topic(&mut client, &own, 3, &[]).expect("a topic");
            let options = options.replace("OWN", &own);
            let said = tools.run(&format!(
                "{tool} --bootstrap-server {} {options}",
                broker.address()
            ));
            let said = in_few_words(&said.replace(&own, "OWN"));
            // Kafka's ends well even so.
            let is_lossy = said
                .iter()
                .any(|line| line.starts_with("Error when sending message"));
            let is_bad = said.iter().any(|line| line.starts_with("exit ")) && !is_lossy;
            let mut said: Vec<String> = said.into_iter().filter(|line| !is_logged(line)).collect();
            if is_bad {
                // Whatever the tool says on its use.
                said.clear();
            }
            said.push(format!("ended {}", if is_bad { "badly" } else { "well" }));
            (said, written(&mut client, &own))
        };
        let (expected, got) = (done(&mut theirs, "kafkas"), done(&mut OurTools, "ourown"));
        if expected != got {
            wrong += &format!("\n{line}\n--- kafka\n{expected:#?}\n--- highwater\n{got:#?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What Kafka's logger says is not ours to say, nor in these words.
fn is_logged(line: &str) -> bool {
    [
        "Error when sending message to topic ",
        "The message is ",
        "Reading payloads from: ",
        "exit ",
    ]
    .iter()
    .any(|words| line.contains(words))
}

/// Key, headers, value and codec of each record, sorted: without a key, chance chooses the partition.
fn written(client: &mut WireClient, topic: &str) -> Vec<String> {
    let mut all = Vec::new();
    for partition in 0..3 {
        for batch in read_log(client, topic, partition, 0) {
            let records = batch.records(&PURE_RUST, 1 << 20).expect("records");
            for record in records.map(|record| record.expect("a record")) {
                let text = |bytes: &Option<Bytes>| {
                    bytes
                        .as_ref()
                        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
                };
                let headers: Vec<_> = record
                    .headers
                    .iter()
                    .map(|h| (text(&Some(h.key.clone())), text(&h.value)))
                    .collect();
                let codec = batch.header.codec();
                let place = record.key.as_ref().map(|_| partition);
                all.push(format!(
                    "{:?} {headers:?} {:?} {codec:?} {place:?}",
                    text(&record.key),
                    text(&record.value)
                ));
            }
        }
    }
    all.sort();
    all
}
