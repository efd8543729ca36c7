//! Next-hop groups as workers read them: rows of sixteen hops, one cache line each.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};

use quiver_engine::{Domain, Publisher, Slots, Snapshot};

use super::hop;

/// Buckets of a group. A flow's hash chooses one.
pub const BUCKETS: usize = 16;

/// The hops of one group, by bucket.
pub type Buckets = [u32; BUCKETS];

/// A group in one cache line. Its buckets change one by one while workers read: each read finds the hop from before
/// or from after.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct GroupRow([AtomicU32; BUCKETS]);

impl GroupRow {
    /// The hop in a bucket; of `bucket` the low four bits count.
    #[inline(always)]
    pub fn hop(&self, bucket: u32) -> u32 {
        self.0[bucket as usize % BUCKETS].load(Relaxed) & !hop::MANY
    }
    /// The hop in the first bucket, with [`hop::MANY`] if others have another one.
    #[inline(always)]
    pub fn first(&self) -> u32 {
        self.0[0].load(Relaxed)
    }
    fn get(&self) -> Buckets {
        std::array::from_fn(|i| self.hop(i as u32))
    }
    fn set(&self, hops: &Buckets) {
        self.0.iter().zip(hops).skip(1).for_each(|(bucket, hop)| bucket.store(*hop, Relaxed));
        let many = if hops.iter().all(|hop| *hop == hops[0]) { 0 } else { hop::MANY };
        self.0[0].store(hops[0] | many, Relaxed);
    }
}

/// The rows that workers read, by group.
pub type GroupRows = Box<[GroupRow]>;

/// The rows as stages pick them.
#[inline(always)]
pub fn slots(rows: &[GroupRow]) -> Slots<'_, GroupRow> {
    // There is always a row, that of group 0.
    static NONE: [GroupRow; 1] = [GroupRow([const { AtomicU32::new(hop::NO_ROUTE) }; BUCKETS])];
    Slots::new(rows).unwrap_or(Slots::of(&NONE))
}

/// The writer of all rows. Group 0 stands for "no route".
pub(super) struct Rows {
    published: Publisher<GroupRows>,
    domain: Domain,
    len: u32,
    /// Groups that no worker can meet any more arrive here.
    released: (Sender<u32>, Receiver<u32>),
    free: VecDeque<u32>,
    /// Number of row writes, which is the cost of a change of next hops.
    pub writes: u64,
}

/// Gives a group's number back when the last worker has let go of it.
struct Release(u32, Sender<u32>);
impl Drop for Release {
    fn drop(&mut self) {
        // With the FIB gone its numbers need no owner.
        let _ = self.1.send(self.0);
    }
}

impl Rows {
    pub fn new(domain: &Domain) -> Rows {
        let rows: GroupRows = (0..64).map(|_| GroupRow::default()).collect();
        let published = Publisher::new(domain, rows);
        let (domain, released, free) = (domain.clone(), channel(), VecDeque::new());
        let mut rows = Rows { published, domain, len: 0, released, free, writes: 0 };
        let none = rows.allocate();
        rows.write(none, &[hop::NO_ROUTE; BUCKETS]);
        rows.writes = 0;
        rows
    }
    pub fn snapshot(&self) -> Snapshot<GroupRows> {
        self.published.snapshot()
    }
    pub fn allocate(&mut self) -> u32 {
        self.free.extend(self.released.1.try_iter());
        if let Some(group) = self.free.pop_front() {
            return group;
        }
        let (group, capacity) = (self.len, self.published.current().len());
        if group as usize == capacity {
            self.published.update(|rows| {
                let grown: GroupRows = (0..capacity * 2).map(|_| GroupRow::default()).collect();
                grown.iter().zip(rows).for_each(|(to, from)| to.set(&from.get()));
                grown
            });
        }
        self.len += 1;
        group
    }
    pub fn write(&mut self, group: u32, hops: &Buckets) {
        self.domain.flush();
        self.published.current()[group as usize].set(hops);
        self.writes += 1;
    }
    /// A route's leaf may still be in a worker's hands, so the number rests until it no longer can be.
    pub fn release(&mut self, group: u32) {
        self.domain.retire(Release(group, self.released.0.clone()));
    }
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&**self.published.current())
    }
}
