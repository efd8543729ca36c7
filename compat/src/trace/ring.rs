//! The messages that passed last, and a walk through them that lets others have their turns.

use std::collections::VecDeque;
use std::rc::Rc;

use quiver_control::cli::Matches;
use quiver_control::{Control, Pace};
use serde_json::Value;

use super::{Trace, json};
use crate::api::Api;

/// Bytes of memory that are taken at most, however few or small the messages are.
const BYTES_MAX: usize = 64 << 20;
/// Bytes of memory that a message takes beside its own: counts of its owners, a place in the list, which may be half empty, and
/// what its allocation is rounded up by.
const BESIDE: usize = 16 + 2 * size_of::<Rc<[u8]>>() + 24;

/// The messages that passed last, each as its number and what stood behind it.
#[derive(Default)]
pub(super) struct Messages {
    /// How many are remembered while it is on.
    limit: usize,
    pub on: bool,
    pub messages: VecDeque<Rc<[u8]>>,
    /// How many there were before the first of them.
    forgotten: u64,
    pub bytes: usize,
    /// Whether some were forgotten for want of room.
    pub wrapped: bool,
}

impl Messages {
    pub fn note(&mut self, message: &[u8]) {
        if !self.on {
            return;
        }
        self.bytes += message.len();
        self.messages.push_back(message.into());
        while self.messages.len() > self.limit || self.bytes + self.messages.len() * BESIDE > BYTES_MAX {
            self.wrapped = true;
            self.forgotten += 1;
            self.bytes -= self.messages.pop_front().map_or(self.bytes, |oldest| oldest.len());
        }
    }
    /// Remembers so many from now on.
    pub fn start(&mut self, messages: usize) {
        (self.limit, self.on) = (messages, true);
    }
    /// Gives what was remembered to whoever takes the time to free it.
    pub fn forget(&mut self) -> VecDeque<Rc<[u8]>> {
        self.forgotten += self.messages.len() as u64;
        (self.bytes, self.wrapped) = (0, false);
        std::mem::take(&mut self.messages)
    }
}

/// The messages that are remembered when this begins, one after the other, in turns with others. Those that are forgotten
/// meanwhile are left out.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_small_messages_take_beside_their_bytes_is_bounded_too() {
        let mut trace = Messages::default();
        trace.start(usize::MAX);
        while !trace.wrapped {
            trace.note(&[7; 10]);
        }
        // The list's memory and, by the allocator's sixteen bytes, that of each message with its counts.
        let taken = trace.messages.capacity() * size_of::<Rc<[u8]>>() + trace.messages.len() * (16 + 16 + 16);
        assert!((BYTES_MAX / 4..=BYTES_MAX).contains(&taken), "{taken} bytes for {}", trace.messages.len());
        assert_eq!((trace.bytes, trace.forgotten), (trace.messages.len() * 10, 1));
    }
}
