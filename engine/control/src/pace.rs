//! Long work in short turns: the control thread is everybody's.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::control::Control;
use crate::time::Time;

/// Others wait this long at most for work that is cut into steps, and for the one step that is under way.
const TURN: Duration = Duration::from_millis(1);
/// On a clock that stands still, a turn has so many steps.
const STEPS_MAX: u32 = 64;

/// Cuts long work into turns, between which other tasks, timers and clients have theirs.
pub struct Pace {
    /// Whom to ask for time and for turns of others; nobody for work that is done in one go.
    control: Option<Control>,
    began: Time,
    steps: u32,
}

impl Pace {
    /// Work in turns, beginning now.
    pub fn in_turns(control: &Control) -> Pace {
        Pace { control: Some(control.clone()), began: control.now(), steps: 0 }
    }

    /// Work in one go.
    pub(crate) fn at_once() -> Pace {
        Pace { control: None, began: Time::default(), steps: 0 }
    }

    /// Comes before each step of the work; lets others have their turn if this one was long.
    pub async fn step(&mut self) {
        let Some(control) = &self.control else { return };
        self.steps += 1;
        if self.steps >= STEPS_MAX || control.now().since(self.began) >= TURN {
            control.yield_now().await;
            (self.began, self.steps) = (control.now(), 0);
        }
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
