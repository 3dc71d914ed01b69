//! The scenes: which scripts they play, in which order, and under which headings.
//!
//! Scripts and stories are those of the tests, so the lab plays what `highwater sim` plays.

use std::borrow::Cow;

/// A scene: one of the gallery's, or a figure of the book, which brings its own texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneInfo {
    /// In links and routes.
    pub name: Cow<'static, str>,
    pub title: Cow<'static, str>,
    pub question: Cow<'static, str>,
    pub order: Order,
    pub sides: Cow<'static, [SideSource]>,
}

/// How two sides share one row of moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first is told to its end; then the second beside it, moment beside moment of the same name.
    OneAfterTheOther,
    /// Both at once, by virtual time.
    Together,
}

/// A script with its story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideSource {
    pub heading: Cow<'static, str>,
    pub script: Cow<'static, str>,
    pub story: Cow<'static, str>,
}

macro_rules! side {
    ($heading:literal, $name:literal) => {
        SideSource {
            heading: Cow::Borrowed($heading),
            script: Cow::Borrowed(include_str!(concat!("../../../tests/scenarios/", $name))),
            story: Cow::Borrowed(include_str!(concat!(
                "../../../tests/scenarios/",
                $name,
                ".story"
            ))),
        }
    };
}

/// In the order of the gallery.
pub static SCENES: &[SceneInfo] = &[
    SceneInfo {
        name: Cow::Borrowed("it-was-safe"),
        title: Cow::Borrowed("It was safe"),
        question: Cow::Borrowed("What does “acknowledged” promise?"),
        order: Order::OneAfterTheOther,
        sides: Cow::Borrowed(&[
            side!(
                "acks=1: the leader answers alone",
                "acks/one_is_lost_with_the_leader"
            ),
            side!("acks=all: it waits for the ISR", "acks/all_survives_the_leader"),
        ]),
    },
    SceneInfo {
        name: Cow::Borrowed("log-is-cut-back"),
        title: Cow::Borrowed("The log is cut back"),
        question: Cow::Borrowed("What does a follower throw away when leadership moves?"),
        order: Order::Together,
        sides: Cow::Borrowed(&[
            side!(
                "Cut back to the high watermark",
                "truncation/high_watermark_loses"
            ),
            side!(
                "Ask for the end of the leader epoch",
                "truncation/leader_epoch_keeps"
            ),
        ]),
    },
    SceneInfo {
        name: Cow::Borrowed("leo-hw-isr"),
        title: Cow::Borrowed("LEO, HW and the ISR"),
        question: Cow::Borrowed("When does a replica know that a record is safe?"),
        order: Order::OneAfterTheOther,
        sides: Cow::Borrowed(&[side!(
            "What each replica of orders-0 holds",
            "replication/leo_hw_and_isr"
        )]),
    },
    SceneInfo {
        name: Cow::Borrowed("who-leads"),
        title: Cow::Borrowed("Who leads now?"),
        question: Cow::Borrowed("A leader dies. Who decides who is next, and by what?"),
        order: Order::OneAfterTheOther,
        sides: Cow::Borrowed(&[
            side!("Only from the ISR", "election/who_leads"),
            side!("Unclean election is on", "election/who_leads_unclean"),
        ]),
    },
    SceneInfo {
        name: Cow::Borrowed("batch-is-born"),
        title: Cow::Borrowed("A batch is born"),
        question: Cow::Borrowed("Why does a record wait before it is sent?"),
        order: Order::OneAfterTheOther,
        sides: Cow::Borrowed(&[side!("From send to a broker", "producer/batch_is_born")]),
    },
];

impl SceneInfo {
    /// One script with its story, as a figure of a page.
    pub fn figure(name: String, script: String, story: String) -> Self {
        let side = SideSource {
            heading: Cow::Borrowed(""),
            script: script.into(),
            story: story.into(),
        };
        Self {
            name: name.into(),
            title: Cow::Borrowed(""),
            question: Cow::Borrowed(""),
            order: Order::OneAfterTheOther,
            sides: vec![side].into(),
        }
    }
}

/// The scene of that name.
pub fn find(name: &str) -> Option<&'static SceneInfo> {
    SCENES.iter().find(|scene| scene.name == name)
}
