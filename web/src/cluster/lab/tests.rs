//! Whole scenes, walked through as readers do.

use highwater_core::sim::script::{Player, Script};
use highwater_core::sim::story::{MOST_FOCUS, MOST_WORDS};
use highwater_core::stage::Stage;

use super::*;
use crate::cluster::run::Run;
use crate::cluster::{Picture, SCENES, focus, link};

fn labs() -> impl Iterator<Item = ClusterLab> {
    SCENES.iter().map(|scene| ClusterLab::new(&scene.name).unwrap())
}

fn lab(name: &str) -> ClusterLab {
    ClusterLab::new(name).unwrap()
}

fn described(lab: &ClusterLab) -> Vec<Vec<String>> {
    lab.sides().iter().map(|side| side.stage.describe()).collect()
}

/// At the moment of that name.
fn at_moment(lab: &ClusterLab, name: &str) -> ClusterLab {
    let stop = lab.stop_of_moment(name).unwrap();
    lab.after(Wish::GoTo(stop))
}

#[test]
fn each_scene_has_moments_enough_and_a_prediction() {
    for lab in labs() {
        let place = lab.place();
        let name = &lab.info().name;
        assert!((8..=20).contains(&place.moments), "{name}: {}", place.moments);
        let mut asked = 0;
        for &step in &place.moment_steps {
            let lab = lab.after(Wish::GoTo(step));
            let sentence = lab.sentence();
            assert!(!sentence.contains('{') && sentence.split_whitespace().count() <= MOST_WORDS);
            assert!(
                !lab.focus().is_empty() && lab.focus().len() <= MOST_FOCUS,
                "{sentence}"
            );
            let stage = &lab.sides()[lab.speaks()].stage;
            for element in lab.focus() {
                let is_there = stage
                    .elements()
                    .iter()
                    .any(|drawn| focus::has(&element, &drawn.key));
                assert!(is_there, "{name}: `{element}` is not on stage: {sentence}");
            }
            asked += usize::from(lab.prediction().is_some());
        }
        assert!(asked > 0, "{name} asks nothing");
    }
}

#[test]
fn at_each_moment_the_stage_is_the_one_that_the_terminal_describes() {
    for lab in labs() {
        for &step in &lab.place().moment_steps {
            let lab = lab.after(Wish::GoTo(step));
            let (_, beat) = lab.beat().unwrap();
            let run = &lab.scene.runs[beat.side];
            let told = run.teller().unwrap().told();
            let before = beat.moment.checked_sub(1).map_or(0, |before| told[before].facts);
            let stage = Stage::of(&told[beat.moment].view, &run.options(before));
            assert_eq!(lab.sides()[beat.side].stage.describe(), stage.describe());
        }
    }
}

#[test]
fn a_step_is_the_same_by_stepping_scrubbing_going_back_and_by_link() {
    for start in labs() {
        let mut stepped = vec![start.clone()];
        while !stepped[stepped.len() - 1].at_end() {
            stepped.push(stepped[stepped.len() - 1].after(Wish::Step));
        }
        let last = stepped[stepped.len() - 1].clone();
        assert_eq!(last.place().step, start.place().last_step);
        let mut back = last;
        for lab in stepped.iter().rev() {
            let step = lab.place().step;
            assert_eq!(described(&back), described(lab));
            assert_eq!(described(&start.after(Wish::GoTo(step))), described(lab));
            let opened = start.after(Wish::Open(lab.link()));
            assert_eq!((opened.place(), opened.notice.clone()), (lab.place(), None));
            back = back.after(Wish::Back);
        }
    }
}

#[test]
fn few_steps_leave_the_picture_as_it_was() {
    for start in labs() {
        let stops = &start.scene.timeline.stops;
        let same = stops.windows(2).filter(|pair| {
            let said =
                |stop: &Stop| -> Vec<_> { stop.sides.iter().map(|side| side.stage.describe()).collect() };
            said(&pair[0]) == said(&pair[1])
        });
        let same = same.count();
        assert!(same * 10 <= stops.len(), "{same} of {}", stops.len());
    }
}

#[test]
fn single_events_go_from_stop_to_stop_and_back() {
    let start = lab("it-was-safe");
    let next = start.after(Wish::Step);
    let mut lab = start.clone();
    let mut events = 0;
    while lab.place().step == 0 || lab.event.is_some() {
        lab = lab.after(Wish::Event);
        events += 1;
    }
    assert_eq!(described(&lab), described(&next));
    for _ in 0..events {
        lab = lab.after(Wish::EventBack);
    }
    assert_eq!(described(&lab), described(&start));
}

#[test]
fn the_first_frame_is_a_promise_and_two_clicks_later_it_is_in_doubt() {
    let start = lab("it-was-safe");
    assert_eq!(start.sides().len(), 1);
    assert!(start.button().starts_with("Crash broker"), "{}", start.button());
    let stage = &start.sides()[0].stage;
    assert_eq!(stage.promises.len(), 6);
    assert_eq!(start.summary(), "every promise is kept");
    let fetches = stage
        .messages
        .iter()
        .filter(|message| message.name == "fetch from 5");
    assert_eq!(fetches.count(), 2, "{:?}", stage.messages);
    let led = at_moment(&start, "led");
    assert_eq!(led.summary(), "1 promise broken, allowed under acks=1");
    let note = led.sides()[0].note.clone().unwrap();
    assert!(
        note.contains("cost: 1 acknowledged record lost, nobody led for"),
        "{note}"
    );
    assert!(led.why_this_leader().iter().any(|line| line.ends_with("dead")));
}

#[test]
fn with_acks_all_every_promise_is_kept_beside_the_broken_one() {
    let mut lab = lab("it-was-safe");
    while lab.sides().len() == 1 {
        lab = lab.after(Wish::NextMoment);
    }
    while lab.place().moment.unwrap() + 1 < lab.place().moments {
        lab = lab.after(Wish::NextMoment);
    }
    assert_eq!(
        lab.summary(),
        "left: 1 promise broken, allowed under acks=1 \u{b7} right: every promise is kept"
    );
}

#[test]
fn the_same_faults_lose_by_high_watermark_and_keep_by_leader_epoch() {
    let start = lab("log-is-cut-back");
    assert_eq!(start.sides().len(), 2);
    assert_eq!(described(&start)[0], described(&start)[1], "nothing differs yet");
    let end = start.after(Wish::GoTo(usize::MAX));
    assert_eq!(
        end.summary(),
        "left: 1 promise broken \u{b7} right: every promise is kept"
    );
}

#[test]
fn a_guess_is_judged_at_the_next_moment() {
    for start in labs() {
        let asking = start
            .place()
            .moment_steps
            .into_iter()
            .map(|step| start.after(Wish::GoTo(step)));
        let asking = asking.filter(|lab| lab.prediction().is_some());
        for lab in asking {
            let prediction = lab.prediction().unwrap();
            for (choice, offered) in prediction.choices.iter().enumerate() {
                assert!(!offered.reason.is_empty(), "{}", offered.answer);
                let judged = lab.after(Wish::Guess(choice));
                let verdict = judged.verdict();
                // On the other side another moment may come first.
                assert!(verdict.is_none_or(|verdict| verdict.contains(&offered.answer)));
                assert_eq!(judged.after(Wish::PreviousMoment).guess(), Some(choice));
            }
        }
    }
}

#[test]
fn what_a_reader_does_is_a_run_that_is_kept_and_can_be_undone() {
    let start = lab("it-was-safe");
    let crashed = start.after(Wish::Act("crash 2".to_owned()));
    assert!(
        !crashed.is_story() && crashed.notice.is_none(),
        "{:?}",
        crashed.notice
    );
    let said = crashed.sentence();
    let promised = "and every promise is kept.";
    assert!(
        said.starts_with("On your own, 0 ms after") && said.ends_with(promised),
        "{said}"
    );
    assert_ne!(crashed.change(), Some(said));
    let on = crashed.after(Wish::Step).after(Wish::Step);
    let back = on.after(Wish::Back);
    assert_eq!(described(&back.after(Wish::Step)), described(&on));
    let other = crashed.after(Wish::Back).after(Wish::Act("crash 3".to_owned()));
    assert_eq!(
        other.branches(),
        [("crash 2".to_owned(), false), ("crash 3".to_owned(), true)]
    );
    let first = other.after(Wish::Branch(0));
    assert_eq!(described(&first), described(&crashed));
    assert!(first.after(Wish::Undo).branches()[1].1);
    assert_eq!(
        described(&other.after(Wish::Undo)),
        described(&crashed.after(Wish::Back))
    );
    let again = crashed.after(Wish::Act("crash 2".to_owned()));
    assert!(again.notice.unwrap().contains("does not run"));
    assert_eq!(crashed.after(Wish::Story).place(), start.place());
    let beside = crashed.after(Wish::Beside(true));
    assert_eq!(beside.sides().len(), 2);
}

#[test]
fn a_run_of_ones_own_is_a_script_and_a_link() {
    let start = lab("it-was-safe").after(Wish::Step);
    let own = start
        .after(Wish::Act("crash 1".to_owned()))
        .after(Wish::Step)
        .after(Wish::Step)
        .after(Wish::Act("restart 1".to_owned()))
        .after(Wish::Step);
    let mut player = Player::new();
    player.play_all(&Script::parse(&own.script()).unwrap()).unwrap();
    let run = &own.own().unwrap().run;
    assert_eq!(
        player.world().unwrap().trace().hash(),
        run.hash_until(run.facts())
    );
    let opened = lab("it-was-safe").after(Wish::Open(own.link()));
    assert_eq!(opened.notice, None);
    assert_eq!(
        (described(&opened), opened.place()),
        (described(&own), own.place())
    );
}

#[test]
fn a_link_to_a_changed_run_opens_its_moment_and_a_damaged_one_the_start() {
    let start = lab("it-was-safe");
    let led = at_moment(&start, "led");
    let mut spot = link::read(&led.link()).unwrap();
    spot.hash ^= 1;
    let opened = start.after(Wish::Open(link::write(&spot)));
    assert_eq!(opened.place(), led.place());
    assert!(opened.notice.unwrap().contains("has changed"));
    spot.moment = "gone".to_owned();
    let opened = led.after(Wish::Open(link::write(&spot)));
    assert_eq!(opened.place(), start.place());
    let damaged = led.after(Wish::Open(led.link().replace("at=", "at=1")));
    assert_eq!(damaged.place(), start.place());
    assert!(damaged.notice.unwrap().contains("checksum"));
}

#[test]
fn a_jump_finds_what_comes_or_says_that_nothing_does() {
    let start = lab("it-was-safe");
    let lost = start.after(Wish::Jump(JumpTo::Loss));
    assert_eq!(lost.place(), at_moment(&start, "died").place());
    let led = start.after(Wish::Jump(JumpTo::LeaderChange));
    assert_eq!(led.place(), at_moment(&start, "led").place());
    let end = start.after(Wish::GoTo(usize::MAX));
    assert!(
        end.after(Wish::Jump(JumpTo::Loss))
            .notice
            .unwrap()
            .starts_with("No loss")
    );
    let mut own = start
        .after(Wish::Act("crash 1".to_owned()))
        .after(Wish::Jump(JumpTo::LeaderChange));
    let mut slices = 1;
    while own.is_searching() {
        own = own.after(Wish::Searching);
        slices += 1;
    }
    assert!(own.notice.is_none(), "{:?}", own.notice);
    let (before, now) = (&own.stops()[own.step_now() - 1], own.stop().unwrap());
    assert!(own.has_come(JumpTo::LeaderChange, before, now));
    assert!(slices > 1, "one slice is no search");
}

#[test]
fn a_broken_invariant_is_found_and_named() {
    let start = lab("log-is-cut-back");
    assert!(start.invariants_here().iter().all(|held| held.broken.is_none()));
    let broken = start.after(Wish::Jump(JumpTo::Broken));
    assert_eq!(broken.notice, None);
    let named = broken
        .invariants_here()
        .into_iter()
        .find(|held| held.broken.is_some());
    assert_eq!(named.unwrap().name, "committed-stays");
    // It broke in the step that brought this moment.
    assert_eq!(broken.place().moment, at_moment(&start, "led").place().moment);
    let none = lab("it-was-safe").after(Wish::Jump(JumpTo::Broken));
    assert!(none.notice.unwrap().starts_with("No broken invariant"));
}

#[test]
fn messages_fly_long_enough_to_be_seen() {
    for lab in labs() {
        let steps = lab.place().last_step;
        let mut seen = 0;
        for step in 0..steps {
            assert!(lab.play_ms(step + 1) - lab.play_ms(step) <= 1_500.0);
            for flight in lab.flights(0, step) {
                assert!(flight.end_ms - flight.start_ms >= pace::LEAST_MS - 1e-6);
                assert!(flight.end_ms <= lab.play_ms(step + 1) + 1e-6);
                seen += 1;
            }
        }
        let flies = lab.picture() != Picture::Producer;
        assert_eq!(seen > 10, flies, "{}: {seen} messages", lab.info().name);
    }
}

/// For how long a cell that was cut off is still marked is for the place to say.
fn without_cells(mut said: Vec<String>) -> Vec<String> {
    said.retain(|said| !(said.starts_with("broker ") && said.contains(", offset ")));
    said
}

#[test]
fn each_fault_can_be_done_at_each_moment_is_a_script_and_is_undone() {
    let mut done = 0;
    for lab in labs().filter(|lab| lab.picture() == Picture::Replicas) {
        for step in lab.place().moment_steps {
            let at = lab.after(Wish::GoTo(step)).after(Wish::Explore);
            for offer in at.offers().into_iter().filter(|offer| offer.why_not.is_none()) {
                let place = format!("{}, step {step}: {}", lab.info().name, offer.words);
                let mut own = at.after(Wish::Act(offer.words));
                // As an administrator finds it, too.
                if own.notice.as_deref() == Some("This cannot be done: no controller has answered.") {
                    continue;
                }
                assert_eq!(own.notice, None, "{place}");
                assert_eq!(described(&own.after(Wish::Undo)), described(&at), "{place}");
                for _ in 0..3 {
                    let next = own.after(Wish::Step);
                    if let Some(notice) = &next.notice {
                        assert!(
                            notice.contains("nothing that can be seen happens"),
                            "{place}: {notice}"
                        );
                        break;
                    }
                    own = next;
                }
                let script =
                    Script::parse(&own.script()).unwrap_or_else(|bad| panic!("{place}: {}", bad.why));
                let again = match Run::play(&script, None) {
                    Ok(again) => again,
                    // Nothing is drawn of a cluster that has not got so far.
                    Err(why) if why == "the script makes no topic" => continue,
                    Err(why) => panic!("{place}: {why}"),
                };
                // A step of the script may go on a little beyond what is seen to change.
                let shown = without_cells(described(&own).remove(0));
                let mut places = (0..=again.facts()).rev();
                let is_shown = |facts| {
                    let stage = Stage::of(&again.view_at(facts), &again.options(facts));
                    without_cells(stage.describe()) == shown
                };
                assert!(
                    places.any(is_shown),
                    "{place}: no place of the script's run looks like {shown:?}"
                );
                done += 1;
            }
        }
    }
    assert!(done > 500, "only {done} were offered");
}
