//! Long work in short turns: the control thread is everybody's.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::control::Control;
use crate::time::Time;
use crate::turn::TURN;

/// On a clock that stands still, a turn has so many steps.
const STEPS_MAX: u32 = 64;

/// Cuts long work into turns, between which other tasks, timers and clients have theirs. Turns of all long work come one
/// after the other: however many clients ask for long answers, others wait for one turn.
pub struct Pace {
    /// Source of time and of turns; none for work that is done in one turn.
    control: Option<Control>,
    /// Start of the turn; none before the first step.
    began: Option<Time>,
    steps: u32,
}

impl Pace {
    /// Work in turns, beginning now.
    pub fn in_turns(control: &Control) -> Pace {
        Pace { control: Some(control.clone()), began: None, steps: 0 }
    }

    /// Work that has begun in this turn, and goes on in a later one if [`Pace::goes_on`] says no.
    pub fn this_turn(control: &Control) -> Pace {
        Pace { control: Some(control.clone()), began: Some(control.now()), steps: 0 }
    }

    /// Work in one go.
    pub(crate) fn at_once() -> Pace {
        Pace { control: None, began: None, steps: 0 }
    }

    /// Call before each step of the work; lets other tasks run if this turn was long.
    pub async fn step(&mut self) {
        if !self.goes_on() {
            self.next_turn().await;
        }
    }

    /// Takes note of a step, where nothing may be waited for, as under a borrow. False if the turn is over by then:
    /// [`Pace::next_turn`] comes before any other.
    pub fn goes_on(&mut self) -> bool {
        let Some(control) = &self.control else { return true };
        let Some(began) = self.began else { return false };
        self.steps += 1;
        self.steps < STEPS_MAX && control.now().since(began) < TURN
    }

    /// The result of long work that a helper does; work in one go does it here. An error if it did not come to its end.
    pub(crate) async fn aside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        match &self.control {
            Some(control) => control.by_helper(work).await,
            None => Ok(work()),
        }
    }

    /// Lets all others have their turn, and waits for the next one of long work.
    pub async fn next_turn(&mut self) {
        let Some(control) = &self.control else { return };
        let (now, turns) = (control.now(), control.turns_part());
        let is_first = self.began.is_none();
        let begin = turns.reserve(now, self.began.map(|began| now.since(began)));
        // The host's timers are no finer than a turn.
        if begin >= now + TURN {
            control.sleep_until(begin).await;
        } else if !is_first {
            control.yield_now().await;
        }
        (self.began, self.steps) = (Some(control.now()), 0);
    }
}

/// Frees items in turns: very many at once keep others waiting.
pub(crate) async fn free<T>(items: impl IntoIterator<Item = T>, pace: &mut Pace) {
    for item in items {
        pace.step().await;
        drop(item);
    }
}

/// The output of work whose pace is [`Pace::at_once`].
///
/// # Panics
/// If it waits for something else: a programming error.
pub(crate) fn at_once<F: Future>(work: F) -> F::Output {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("work that is done in one go waits for nothing"),
    }
}
