//! The scenes: which scripts they play, in which order, and under which headings.
//!
//! Scripts and stories are those of the tests, so the lab plays what `highwater sim` plays.

/// A scene.
#[derive(Clone, Copy, Debug)]
pub struct SceneInfo {
    /// In links and routes.
    pub name: &'static str,
    pub title: &'static str,
    pub question: &'static str,
    pub order: Order,
    pub sides: &'static [SideSource],
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
#[derive(Clone, Copy, Debug)]
pub struct SideSource {
    pub heading: &'static str,
    pub script: &'static str,
    pub story: &'static str,
}

macro_rules! side {
    ($heading:literal, $name:literal) => {
        SideSource {
            heading: $heading,
            script: include_str!(concat!("../../../tests/scenarios/", $name)),
            story: include_str!(concat!("../../../tests/scenarios/", $name, ".story")),
        }
    };
}

/// In the order of the gallery.
pub const SCENES: &[SceneInfo] = &[
    SceneInfo {
        name: "it-was-safe",
        title: "It was safe",
        question: "What does “acknowledged” promise?",
        order: Order::OneAfterTheOther,
        sides: &[
            side!(
                "acks=1: the leader answers alone",
                "acks/one_is_lost_with_the_leader"
            ),
            side!("acks=all: it waits for the ISR", "acks/all_survives_the_leader"),
        ],
    },
    SceneInfo {
        name: "log-is-cut-back",
        title: "The log is cut back",
        question: "What does a follower throw away when leadership moves?",
        order: Order::Together,
        sides: &[
            side!(
                "Cut back to the high watermark",
                "truncation/high_watermark_loses"
            ),
            side!(
                "Ask for the end of the leader epoch",
                "truncation/leader_epoch_keeps"
            ),
        ],
    },
    SceneInfo {
        name: "leo-hw-isr",
        title: "LEO, HW and the ISR",
        question: "When does a replica know that a record is safe?",
        order: Order::OneAfterTheOther,
        sides: &[side!(
            "What each replica of orders-0 holds",
            "replication/leo_hw_and_isr"
        )],
    },
    SceneInfo {
        name: "who-leads",
        title: "Who leads now?",
        question: "A leader dies. Who decides who is next, and by what?",
        order: Order::OneAfterTheOther,
        sides: &[
            side!("Only from the ISR", "election/who_leads"),
            side!("Unclean election is on", "election/who_leads_unclean"),
        ],
    },
    SceneInfo {
        name: "batch-is-born",
        title: "A batch is born",
        question: "Why does a record wait before it is sent?",
        order: Order::OneAfterTheOther,
        sides: &[side!("From send to a broker", "producer/batch_is_born")],
    },
];

/// The scene of that name.
pub fn find(name: &str) -> Option<&'static SceneInfo> {
    SCENES.iter().find(|scene| scene.name == name)
}
