//! The messages that passed last.

use std::collections::VecDeque;
use std::rc::Rc;

use quiver_control::Control;

use super::secrets::hidden;
use crate::api::Api;

/// Bytes of memory that are taken at most, however few or small the messages are.
const BYTES_MAX: usize = 64 << 20;
/// Bytes of memory that a message takes beside its own: counts of its owners, a place in the list, which may be half
/// empty, and the rounding of its allocation.
const BESIDE: usize = 16 + 2 * size_of::<Rc<[u8]>>() + 24;

/// The last messages, each as its number and its other bytes.
#[derive(Default)]
pub(super) struct Messages {
    /// Number of messages that are kept while the trace is on.
    limit: usize,
    pub on: bool,
    /// Whether secrets in messages are remembered, too.
    pub has_secrets: bool,
    pub messages: VecDeque<Rc<[u8]>>,
    /// Number of discarded messages before the first kept one.
    pub forgotten: u64,
    pub bytes: usize,
    /// Whether some were forgotten for want of room.
    pub wrapped: bool,
}

impl Messages {
    /// Remembers a message, while it is on.
    pub fn note_of(&mut self, control: &Control, message: &[u8]) {
        if self.on {
            let hidden = if self.has_secrets { None } else { hidden(&control.room::<Api>(), message) };
            self.note(hidden.as_deref().unwrap_or(message));
        }
    }
    fn note(&mut self, message: &[u8]) {
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
    /// Empties the ring. Returns the messages, so that the caller can free them in short turns.
    pub fn forget(&mut self) -> VecDeque<Rc<[u8]>> {
        self.forgotten += self.messages.len() as u64;
        (self.bytes, self.wrapped) = (0, false);
        std::mem::take(&mut self.messages)
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
