use super::*;
use crate::sim::story::Story;
use crate::sim::story::teller::Teller;

fn play(text: &str) -> Player {
    let script = Script::parse(text).unwrap_or_else(|bad| panic!("{bad}"));
    let mut player = Player::new().comparing();
    if let Err(failure) = player.play_all(&script) {
        let world = player.world().unwrap();
        let noise = ["PacketSent", "PacketDelivered"];
        let facts = world
            .trace()
            .iter()
            .filter(|e| !noise.contains(&pattern::name_of(&e.fact)));
        let lines: Vec<String> = facts.map(player::tell).collect();
        let from = lines.len().saturating_sub(150);
        let mut said = String::new();
        for node in world.brokers() {
            for (at, level, text) in &node.said {
                said += &format!("broker {} {at} {level:?} {text}\n", node.id);
            }
        }
        panic!(
            "{failure}\n{}\n{}\n{said}",
            lines[from..].join("\n"),
            player.view()
        );
    }
    player
}

#[test]
fn three_brokers_replicate() {
    play(
        "brokers 3
topic t partitions 1 replicas 3 config min.insync.replicas=2
produce t-0 3 acks=all
settle
expect hw 1 t-0 3
expect hw 2 t-0 3
expect hw 3 t-0 3
",
    );
}

#[test]
fn the_leader_dies() {
    play(
        "brokers 3
setting replica.lag.time.max.ms=1000
setting zookeeper.session.timeout.ms=2000
topic t partitions 1 replicas 3 config min.insync.replicas=2
produce t-0 3 acks=all
step until RecordsAcknowledged
crash leader:t-0
produce t-0 3 acks=all
settle
restart all
run 1s
settle
expect hw leader:t-0 t-0 6
",
    );
}

#[test]
fn a_view_tells_what_is_after_every_step_of_random_worlds() {
    // An interpreter of wasm32 is some fifty times slower, and the search compares views too.
    let seeds = if cfg!(target_arch = "wasm32") { 1..2 } else { 1..6 };
    for seed in seeds {
        play(&random::script(seed));
    }
}

#[test]
fn an_idle_cluster_has_nothing_to_see_and_a_produce_has() {
    let mut player = play(
        "brokers 3
topic t partitions 1 replicas 3 config min.insync.replicas=2
produce t-0 1 acks=all
settle
run 1s
",
    );
    let line = |text: &str| Script::parse(text).unwrap().lines.remove(0);
    let (seen, facts) = (player.visible().len(), player.world().unwrap().trace().len());
    player.play_line(&line("run 10s")).unwrap();
    let trace = player.world().unwrap().trace();
    let shown: Vec<String> = player.visible()[seen..]
        .iter()
        .map(|&at| player::tell(trace.get(at).unwrap()))
        .collect();
    assert_eq!(shown, [""; 0]);
    assert!(trace.len() > facts + 100, "it fetches all the time");
    player.play_line(&line("produce t-0 1 acks=all")).unwrap();
    player.play_line(&line("step visible")).unwrap();
    let trace = player.world().unwrap().trace();
    let next = trace.get(player.visible()[seen]).unwrap();
    assert_eq!(pattern::name_of(&next.fact), "BatchWritten");
    assert_eq!(next.id.node, 1);
}

#[test]
fn what_a_story_names_is_visible_though_it_changes_nothing() {
    let script = Script::parse("brokers 1\nrun 1s\n").unwrap();
    let visible = |mut player: Player| {
        player.play_all(&script).unwrap();
        player.visible().len()
    };
    let story =
        Story::parse("title A broker comes\n\nmoment here\nwhen BrokerRegistered\nsay It is there.\n");
    let teller = Teller::new(story.unwrap()).unwrap();
    let told = visible(Player::new().telling(teller));
    assert_eq!(told, visible(Player::new()) + 1);
}

#[test]
fn what_cannot_be_done_is_said_or_tried() {
    let script = |line: &str| Script::parse(&format!("brokers 1\nrun 1s\n{line}\n")).unwrap();
    let failure = Player::play(&script("restart 1")).unwrap_err();
    assert_eq!((failure.line, failure.why.as_str()), (3, "broker 1 runs already"));
    assert!(Player::play(&script("try restart 1")).is_ok());
    assert!(
        Player::play(&script("crash 4"))
            .unwrap_err()
            .why
            .contains("there is no broker 4")
    );
    assert!(
        Player::play(&script("seed 4"))
            .unwrap_err()
            .why
            .contains("before anything happens")
    );
}

#[test]
fn a_leader_counts_what_is_under_replicated_and_under_its_minimum() {
    let player = play(
        "brokers 3
setting replica.lag.time.max.ms=1000
setting zookeeper.session.timeout.ms=2000
topic t partitions 1 on 1,2,3 config min.insync.replicas=2
run 1s
crash 2
crash 3
run 5s
expect isr t-0 1
",
    );
    let world = player.world().unwrap();
    let broker = world.broker(1).unwrap().broker.as_ref().unwrap();
    let (figures, _) = broker.log_figures(0, 100);
    let leads = figures[0].leads.unwrap();
    assert_eq!((leads.replicas, leads.in_sync, leads.least_in_sync), (3, 1, 2));
    assert!(leads.is_under_replicated() && leads.is_under_min_isr());
    assert!(broker.is_active_controller());
}
