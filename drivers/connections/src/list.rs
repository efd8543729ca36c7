//! Lists of connections in the order of their arrival, linked through their records.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::record::{QUEUED, Record, TIMED};

/// The end of a list. Numbers of records are kept with 1 added.
const NONE: u32 = 0;

/// A list: of connections with something to send, or of those that wait. A connection is in it once at most.
#[derive(Debug, Default)]
pub struct List<const WAITING: bool> {
    first: AtomicU32,
    last: AtomicU32,
    len: AtomicU32,
}

/// Connections with something to send.
pub type ToSend = List<false>;
/// Connections that wait for a packet, or for a moment.
pub type Waiting = List<true>;

impl<const WAITING: bool> List<WAITING> {
    const FLAG: u16 = if WAITING { TIMED } else { QUEUED };

    /// Appends a connection, unless it is in the list.
    #[inline(always)]
    pub fn push(&self, records: &[Record], id: u32) {
        let Some(record) = records.get(id as usize) else { return };
        if record.has(Self::FLAG) {
            return;
        }
        record.set(Self::FLAG);
        set_link::<WAITING>(record, NONE);
        match self.last.load(Relaxed) {
            NONE => self.first.store(id + 1, Relaxed),
            last => records.get(last as usize - 1).into_iter().for_each(|last| set_link::<WAITING>(last, id + 1)),
        }
        self.last.store(id + 1, Relaxed);
        self.len.store(self.len() + 1, Relaxed);
    }
    /// Connections in the list.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len.load(Relaxed)
    }
    /// The first connection.
    #[inline(always)]
    pub fn first(&self) -> Option<u32> {
        self.first.load(Relaxed).checked_sub(1)
    }
    /// Takes the first connection off the list.
    #[inline(always)]
    pub fn pop(&self, records: &[Record]) -> Option<u32> {
        let id = self.first()?;
        let record = records.get(id as usize)?;
        record.clear(Self::FLAG);
        let next = if WAITING { record.timer() } else { record.queue() };
        self.first.store(next, Relaxed);
        self.len.store(self.len().saturating_sub(1), Relaxed);
        if next == NONE {
            self.last.store(NONE, Relaxed);
        }
        Some(id)
    }
}

#[inline(always)]
fn set_link<const WAITING: bool>(record: &Record, link: u32) {
    if WAITING { record.set_timer(link) } else { record.set_queue(link) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_in_a_list_once_and_in_two_lists_at_a_time() {
        let records: Vec<Record> = (0..4).map(|_| Record::default()).collect();
        let (send, wait) = (ToSend::default(), Waiting::default());
        for id in [2, 0, 2, 3] {
            send.push(&records, id);
            wait.push(&records, 3 - id);
        }
        assert_eq!([send.pop(&records), send.pop(&records)], [Some(2), Some(0)]);
        send.push(&records, 2);
        assert_eq!([send.pop(&records), send.pop(&records), send.pop(&records)], [Some(3), Some(2), None]);
        let waited: Vec<_> = std::iter::from_fn(|| wait.pop(&records)).collect();
        assert_eq!(waited, [1, 3, 0]);
        assert!(records.iter().all(|record| record.flags() == 0));
    }
}
