//! Walks the trace in turns, so that other tasks run meanwhile.

use std::rc::Rc;

use quiver_control::cli::Matches;
use quiver_control::{Control, Pace};
use serde_json::Value;

use super::json;
use super::ring::Messages;
use super::store::Trace;
use crate::api::Api;

/// The messages that are recorded when the walk begins, in their order, a few in each turn of the control thread. Those that newer ones
/// displace meanwhile are left out.
pub(super) struct Walk {
    control: Control,
    is_told: bool,
    /// The next one and the end, counted from the first that ever was.
    next: u64,
    end: u64,
    pace: Pace,
}

impl Walk {
    pub fn new(control: &Control, given: &Matches) -> Walk {
        let (is_told, pace) = (given.has("tx"), Pace::in_turns(control));
        let trace = &mut *control.room_mut::<Trace>();
        let Messages { messages, forgotten, .. } = trace.side(is_told);
        Walk { control: control.clone(), is_told, next: *forgotten, end: *forgotten + messages.len() as u64, pace }
    }
    pub async fn next(&mut self) -> Option<Rc<[u8]>> {
        self.pace.step().await;
        let trace = &mut *self.control.room_mut::<Trace>();
        let Messages { messages, forgotten, .. } = trace.side(self.is_told);
        let number = self.next.max(*forgotten);
        self.next = number + 1;
        if number >= self.end { None } else { messages.get(usize::try_from(number - *forgotten).ok()?).cloned() }
    }
    /// The next one in words.
    pub async fn next_in_words(&mut self) -> Option<Value> {
        let message = self.next().await?;
        Some(json::show(&self.control.room::<Api>(), &message))
    }
}
