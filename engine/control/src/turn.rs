//! Turns of the control thread: their CPU time by task, from the host's clock.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

use crate::control::Control;
use crate::time::Time;

/// CPU time of a turn at most. Others wait that long for the control thread: neighbors to be resolved, timers, clients.
pub const TURN_MAX: Duration = Duration::from_millis(5);
/// Long work ends its turn after so much time. The step in progress comes on top.
pub(crate) const TURN: Duration = Duration::from_millis(1);
/// Long work waits for its next turn this long at most, however much of it there is.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Turns of all tasks of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnCounts {
    /// Number of turns.
    pub turns: u64,
    /// Those of more than [`TURN_MAX`].
    pub over: u64,
    /// CPU time of the longest.
    pub longest: Duration,
}

/// The turns so far, and those that long work has reserved.
#[derive(Default)]
pub(crate) struct Turns {
    counts: RefCell<BTreeMap<&'static str, TurnCounts>>,
    /// The end of the last turn that long work has reserved, and how long such a turn took last.
    reserved: Cell<Time>,
    length: Cell<Duration>,
}

impl Turns {
    fn note(&self, name: &'static str, cpu: Duration) {
        let mut counts = self.counts.borrow_mut();
        let of_task = counts.entry(name).or_default();
        of_task.turns += 1;
        of_task.over += u64::from(cpu > TURN_MAX);
        of_task.longest = of_task.longest.max(cpu);
    }

    /// Reserves the next turn of long work, and returns its start; `spent` is the length of its last turn, with its
    /// waits. Turns of all long work are one behind the other, so that other tasks wait for one of them, not for one of
    /// each client.
    pub(crate) fn reserve(&self, now: Time, spent: Option<Duration>) -> Time {
        let length = spent.unwrap_or(self.length.get()).min(TURN);
        self.length.set(length);
        let begin = self.reserved.get().max(now).min(now + WAIT_MAX);
        self.reserved.set(begin + length);
        begin
    }
}

impl Control {
    /// Counts a task's turns, and the CPU time of each, under this name. [`Control::spawn`] does so with its tasks.
    pub fn counted<F: Future>(&self, name: &'static str, task: F) -> impl Future<Output = F::Output> + use<F> {
        let control = self.clone();
        async move {
            let mut task = pin!(task);
            poll_fn(|context| {
                let before = control.cpu_time();
                let polled = task.as_mut().poll(context);
                control.end_turn();
                if let (Some(before), Some(after)) = (before, control.cpu_time()) {
                    control.turns_part().note(name, after.saturating_sub(before));
                }
                polled
            })
            .await
        }
    }

    /// The turns so far, by the names of tasks. None where the host's clock knows no CPU time, as in simulations.
    pub fn turns(&self) -> Vec<(&'static str, TurnCounts)> {
        self.turns_part().counts.borrow().iter().map(|(name, counts)| (*name, *counts)).collect()
    }

    /// The turns of all tasks together.
    pub fn turns_of_all(&self) -> TurnCounts {
        let add = |sum: TurnCounts, (_, counts): (&str, TurnCounts)| TurnCounts {
            turns: sum.turns + counts.turns,
            over: sum.over + counts.over,
            longest: sum.longest.max(counts.longest),
        };
        self.turns().into_iter().fold(TurnCounts::default(), add)
    }

    /// Counts turns from zero.
    pub fn clear_turns(&self) {
        self.turns_part().counts.borrow_mut().clear();
    }

    pub(crate) fn turns_part(&self) -> &Turns {
        self.part()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn turns_of_long_work_come_one_after_the_other() {
        let turns = Turns::default();
        let now = Time(1_000_000_000);
        assert_eq!(turns.reserve(now, Some(MS)), now, "who is alone goes on at once");
        assert_eq!(turns.reserve(now, None), now + MS, "who begins is as long as the last one");
        assert_eq!(turns.reserve(now, Some(MS)), now + 2 * MS);
        assert_eq!(turns.reserve(now + 10 * MS, Some(MS)), now + 10 * MS, "turns that were not taken are lost");
        let last = (0..5000).map(|_| turns.reserve(now, Some(MS))).last();
        assert_eq!(last, Some(now + WAIT_MAX));
        // A clock that stands still does not block work.
        let (turns, still) = (Turns::default(), Time(7));
        (0..100).for_each(|_| assert_eq!(turns.reserve(still, Some(Duration::ZERO)), still));
    }
}
