//! Round-trip time of an echo, from the worker that sends the request to the worker that receives the reply. Both read
//! the fine clock at that moment: control sends earlier than the worker, and the engine's clock stands still within a
//! turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_engine::thread::FineClock;

/// The worker by which requests are sent.
pub(crate) const SENDER: usize = 0;

/// The workers' fine clock, as the one that sends has it.
#[derive(Clone, Default)]
pub struct Stopwatch(Arc<AtomicU64>);

/// The moment in which requests left.
pub(crate) struct Departure(Arc<AtomicU64>);

impl Stopwatch {
    /// This moment; `now` is that of the engine's clock.
    pub(crate) fn read(&self, now: u64) -> u64 {
        FineClock::from_bits(self.0.load(Relaxed)).read(now)
    }
    /// The moment in which the worker that sends gets to what control asks of it next.
    pub(crate) fn departs(&self, control: &Control) -> Departure {
        let (clock, moment) = (self.0.clone(), Arc::new(AtomicU64::new(0)));
        let departure = Departure(moment.clone());
        control.room::<Dataplane>().post(SENDER, move |worker| {
            let fine = worker.fine_clock();
            clock.store(fine.to_bits(), Relaxed);
            moment.store(fine.read(worker.now()), Relaxed);
        });
        departure
    }
}

impl Departure {
    /// The time from there to a moment; none if that comes before, where clocks of two processors disagree.
    pub(crate) fn until(&self, moment: u64) -> Duration {
        Duration::from_nanos(moment.saturating_sub(self.0.load(Relaxed)))
    }
}
