//! What the broker does for its cluster by the clock.

use crate::broker::State;
use crate::cx::Cx;
use crate::trace::{EventId, Timer};
use crate::types::Millis;

impl State {
    /// When [`cluster_tick`](Self::cluster_tick) has something to do.
    pub(in crate::broker) fn cluster_timeout(&self) -> Option<Millis> {
        let cluster = &self.cluster;
        let due = [
            cluster.start_by,
            cluster.stand_again_at,
            cluster.proposals.next(),
            cluster.lag_checks.next(),
            cluster.fetchers.next(),
            cluster.leaving.as_ref().and_then(|leaving| leaving.next()),
            cluster
                .controller
                .as_ref()
                .and_then(|controller| controller.poll_timeout()),
        ];
        due.into_iter().flatten().min()
    }

    pub(in crate::broker) fn cluster_tick(&mut self, cx: &mut Cx) {
        self.session_late(cx);
        self.check_lags(cx);
        self.isr_tick(cx);
        self.fetchers_tick(cx);
        let leaves = self.cluster.leaving.as_ref().and_then(|leaving| leaving.next());
        if leaves.is_some_and(|at| at <= cx.now) {
            let because = self.cluster.leaving.as_ref().map(|leaving| leaving.because());
            cx.timer_due(Timer::LeaveRetry, because.unwrap_or(EventId::NONE));
            self.ask_to_leave(cx);
        }
        self.controller_tick(cx);
    }
}
