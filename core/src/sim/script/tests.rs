use super::*;

fn play(text: &str) -> Player {
    let script = Script::parse(text).unwrap_or_else(|bad| panic!("{bad}"));
    let mut player = Player::new().comparing();
    if let Err(failure) = player.play_all(&script) {
        let world = player.world().unwrap();
        let noise = ["PacketSent", "PacketDelivered"];
        let facts = world
            .trace()
            .iter()
            .filter(|e| !noise.contains(&&*pattern::name_of(&e.fact)));
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
    for seed in 1..4 {
        play(&random::script(seed));
    }
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
