//! A view in words: what a stage shows, for whoever has only a terminal.

use std::fmt;

use super::{ClusterView, ReplicaView, RoleView};

impl fmt::Display for ClusterView {
    /// A line for each broker and each of its replicas, and what is out of order.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, broker) in &self.brokers {
            let state = match (broker.up, broker.paused) {
                (false, _) => "down",
                (true, true) => "paused",
                (true, false) => "up",
            };
            write!(f, "broker {id} is {state}")?;
            if broker.clock_ahead_ms != 0 {
                write!(f, ", its clock {} ms ahead", broker.clock_ahead_ms)?;
            }
            if broker.disk_delay_ms != 0 {
                write!(f, ", {} ms for each disk operation", broker.disk_delay_ms)?;
            }
            if broker.disk_filled {
                write!(f, ", its disk all but full")?;
            }
            if let Some(epoch) = broker.controller_epoch {
                write!(f, ", controller of epoch {epoch}")?;
            }
            writeln!(f)?;
            for (partition, replica) in &broker.replicas {
                writeln!(f, "  {partition}: {replica}")?;
            }
        }
        if !self.coordination_up {
            writeln!(f, "the coordination service is down")?;
        }
        for (from, to) in &self.cut {
            writeln!(f, "nothing gets from {from} to {to}")?;
        }
        match self.packets.len() {
            0 => Ok(()),
            count => writeln!(f, "{count} packets under way"),
        }
    }
}

impl fmt::Display for ReplicaView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            log_start,
            log_end,
            high_watermark,
            leader_epoch,
            role,
            ..
        } = self;
        match role {
            RoleView::Untold => write!(f, "nobody has said who leads")?,
            RoleView::Leader {
                isr,
                followers,
                proposed,
            } => {
                write!(f, "leads in epoch {leader_epoch}, ISR {isr:?}")?;
                for (broker, heard) in followers {
                    match heard {
                        Some(log_end) => write!(f, ", broker {broker} heard of at {log_end}")?,
                        None => write!(f, ", broker {broker} not heard of")?,
                    }
                }
                proposed
                    .iter()
                    .try_for_each(|isr| write!(f, ", ISR {isr:?} proposed"))?;
            }
            RoleView::Follower { leader } => write!(f, "follows broker {leader} in epoch {leader_epoch}")?,
        }
        write!(
            f,
            ", offsets {log_start}..{log_end}, high watermark {high_watermark}"
        )
    }
}
