//! The in-sync replicas, and whose knowledge that is: three may differ.

use crate::types::BrokerId;

/// An ISR as somebody has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsrLine {
    pub holder: IsrHolder,
    pub isr: Vec<BrokerId>,
}

/// Who has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsrHolder {
    /// The leader goes by it: its high watermark waits for these.
    Leader(BrokerId),
    /// It is written in the coordination service: the next leader is taken from these.
    Coordination,
    /// The leader has asked for it, and is not answered yet.
    Proposed(BrokerId),
}

impl IsrLine {
    pub fn key(&self) -> String {
        let holder = match self.holder {
            IsrHolder::Leader(_) => "leader",
            IsrHolder::Coordination => "coordination",
            IsrHolder::Proposed(_) => "proposed",
        };
        format!("isr:{holder}")
    }

    pub fn say(&self) -> String {
        let whose = match self.holder {
            IsrHolder::Leader(broker) => format!("as its leader, broker {broker}, has it"),
            IsrHolder::Coordination => "as the coordination service has it".to_owned(),
            IsrHolder::Proposed(broker) => format!("as broker {broker} proposes it"),
        };
        let isr: Vec<String> = self.isr.iter().map(BrokerId::to_string).collect();
        match isr.is_empty() {
            true => format!("ISR {whose}: nobody"),
            false => format!("ISR {whose}: {}", isr.join(", ")),
        }
    }
}
