//! Counters with one writer each, a worker, and any number of readers.
//!
//! A [`Counters`] is a vector by index (interface, adjacency, route) of [`Pair`]s of packets and bytes, or of single
//! [`Counter`]s, with a [`Row`] for every worker. Those of the [statistics segment](quiver_stats) lie in memory that
//! clients map, one behind the other in a room of fixed size; what that has no room for, and what is in no segment, lies
//! in segments that double. So a counter never moves while its writer runs. Control makes room before it hands out an
//! index, and a worker that counts an index without room counts nothing.

use crate::isa::{Isa, LANES, Lanes, Mask, Mask8, Slots};
use quiver_stats::{Block, Entry, LentVector, Segment, Target, Vector};
use quiver_table::in_huge_pages;
use std::sync::{Arc, OnceLock};

pub use quiver_stats::{Cell, Counter, Pair};

/// A count of packets and bytes.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

const FIRST_BITS: u32 = 6;
const SEGMENTS: usize = 26;

/// The counters of one worker.
#[derive(Debug)]
pub struct Row<C: Cell = Pair> {
    /// The first ones, which clients can see.
    shown: Block<C>,
    /// The others.
    beyond: [OnceLock<Box<[C]>>; SEGMENTS],
}

/// Segment and place in it: segment k holds 64 << k counters.
#[inline(always)]
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + (1 << FIRST_BITS);
    let segment = 63 - shifted.leading_zeros() - FIRST_BITS;
    (segment as usize, (shifted - (1 << (segment + FIRST_BITS))) as usize)
}

impl<C: Cell> Row<C> {
    fn new(shown: Block<C>) -> Row<C> {
        Row { shown, beyond: [const { OnceLock::new() }; SEGMENTS] }
    }
    #[inline(always)]
    fn cell(&self, index: u32) -> Option<&C> {
        match self.shown.get(index as usize) {
            Some(cell) => Some(cell),
            None => self.cell_beyond(index),
        }
    }
    // Kernels contain no calls, not even for what hardly happens.
    #[inline(always)]
    fn cell_beyond(&self, index: u32) -> Option<&C> {
        let (segment, at) = place(index - self.shown.len() as u32);
        self.beyond.get(segment)?.get()?.get(at)
    }
    fn grow(&self, capacity: u32) {
        let Some(last) = capacity.checked_sub(self.shown.len() as u32 + 1) else { return };
        for segment in 0..=place(last).0.min(SEGMENTS - 1) {
            self.beyond[segment].get_or_init(|| in_huge_pages(1 << (segment as u32 + FIRST_BITS), |_| C::default()));
        }
    }
    /// Asks for the line of a counter to be brought near.
    #[inline(always)]
    pub fn prefetch(&self, index: u32) {
        if let Some(cell) = self.cell(index) {
            crate::isa::prefetch(cell);
        }
    }
}

impl Row<Counter> {
    /// Counts at an index.
    #[inline(always)]
    pub fn add(&self, index: u32, n: u64) {
        if let Some(counter) = self.cell(index) {
            counter.add(n);
        }
    }
}

impl Row<Pair> {
    /// Counts packets and bytes at an index.
    #[inline(always)]
    pub fn add(&self, index: u32, packets: u64, bytes: u64) {
        if let Some(pair) = self.cell(index) {
            pair.add(packets, bytes);
        }
    }
    /// The row as stages write it.
    #[inline(always)]
    pub fn of_lanes(&self) -> LaneRow<'_> {
        LaneRow { row: self, shown: Slots::new(&self.shown) }
    }
}

/// A row of counters that eight packets are counted in at once.
///
/// PERF: it knows where its counters lie, which is not read again for each packet.
#[derive(Clone, Copy)]
pub struct LaneRow<'r> {
    row: &'r Row<Pair>,
    shown: Option<Slots<'r, Pair>>,
}
impl LaneRow<'_> {
    /// Counts a packet of so many bytes at the index of each lane.
    #[inline(always)]
    pub fn add<I: Isa>(&self, lanes: Mask<I>, indexes: Lanes<I>, bytes: Lanes<I>) {
        let lengths = bytes.each();
        if let Some(shown) = self.shown
            && !(!lanes | indexes.gt(shown.last())).any()
        {
            let pairs = indexes.pick(shown);
            for lane in 0..LANES {
                pairs.row(lane).add(1, lengths.at(lane).into());
            }
            return;
        }
        self.add_each(lanes.bits(), indexes.array(), bytes.array());
    }
    #[cold]
    #[inline(never)]
    fn add_each(&self, lanes: Mask8, indexes: [u32; LANES], bytes: [u32; LANES]) {
        for lane in lanes {
            self.row.add(indexes[lane], 1, bytes[lane].into());
        }
    }
}

/// A vector of counters, a row for each worker.
#[derive(Debug)]
pub struct Counters<C: Cell = Pair>(Arc<Shared<C>>);

#[derive(Debug)]
struct Shared<C: Cell> {
    rows: Vec<Arc<Row<C>>>,
    /// The vector that clients see.
    vector: Option<Vector<C>>,
    /// The words of counters that are lent: the segment uses them again at the end.
    _lent: Option<LentVector<C>>,
}

impl<C: Cell> Clone for Counters<C> {
    fn clone(&self) -> Counters<C> {
        Counters(self.0.clone())
    }
}

impl<C: Cell> Counters<C> {
    /// Counters for `workers` workers that clients do not see; call [`Counters::grow`] before the first index is used.
    pub fn new(workers: usize) -> Counters<C> {
        let rows = (0..workers).map(|_| Arc::new(Row::new(Block::own(0)))).collect();
        Counters(Arc::new(Shared { rows, vector: None, _lent: None }))
    }
    /// Counters that clients see under a name, with room for `most` indexes, or as many as the segment has room for.
    pub fn shown(segment: &Segment, name: &str, most: u32) -> Counters<C> {
        let (vector, threads) = (segment.edit().vector(name, most), segment.threads());
        let row = |worker| Arc::new(Row::new(vector.rows()[threads.row(worker)].clone()));
        let rows = (0..threads.workers).map(row).collect();
        Counters(Arc::new(Shared { rows, vector: Some(vector), _lent: None }))
    }
    /// Counters that clients see under a name until its entry is withdrawn ([`Edit::withdraw`](quiver_stats::Edit::withdraw)).
    /// Their memory is used again when the last handle is dropped: readers keep a handle behind an epoch, and count by
    /// [`Counters::at`]. None if the segment has no room; there is nothing to count in then.
    pub fn lend(segment: &Segment, name: &str, cells: u32) -> Option<(Counters<C>, Entry)> {
        let (entry, lent) = segment.edit().lend(name, cells)?;
        let threads = segment.threads();
        let row = |worker| Arc::new(Row::new(lent.rows()[threads.row(worker)].clone()));
        let rows = (0..threads.workers).map(row).collect();
        Some((Counters(Arc::new(Shared { rows, vector: None, _lent: Some(lent) })), entry))
    }
    /// The row that a worker writes. None for one that there is not, a rehearsal's.
    pub fn at(&self, worker: usize) -> Option<&Row<C>> {
        self.0.rows.get(worker).map(|row| &**row)
    }
    /// Target for other names of an index. None if clients do not see the counters.
    pub fn target(&self) -> Option<Target> {
        self.0.vector.as_ref().map(Vector::target)
    }
    /// Makes room for the indexes below `capacity`, and shows them.
    pub fn grow(&self, capacity: u32) {
        self.0.rows.iter().for_each(|row| row.grow(capacity));
        if let Some(vector) = &self.0.vector {
            vector.show(capacity);
        }
    }
    /// The row that worker `worker` writes; what is written by one that there is not, a rehearsal's, counts nowhere.
    pub fn row(&self, worker: usize) -> Arc<Row<C>> {
        self.0.rows.get(worker).cloned().unwrap_or_else(|| Arc::new(Row::new(Block::own(0))))
    }
    /// Sets an index back to zero. Counts that workers add at the same moment may be lost.
    pub fn clear(&self, index: u32) {
        self.cells(index).for_each(Cell::clear);
    }
    fn cells(&self, index: u32) -> impl Iterator<Item = &C> {
        self.0.rows.iter().filter_map(move |row| row.cell(index))
    }
}

impl Counters<Pair> {
    /// Count of a worker at an index.
    pub fn of(&self, worker: usize, index: u32) -> Traffic {
        let pair = self.0.rows.get(worker).and_then(|row| row.cell(index));
        pair.map_or(Traffic::default(), |pair| Traffic { packets: pair.packets.get(), bytes: pair.bytes.get() })
    }
    /// Sum over all workers at an index.
    pub fn sum(&self, index: u32) -> Traffic {
        let mut sum = Traffic::default();
        for pair in self.cells(index) {
            sum.packets += pair.packets.get();
            sum.bytes += pair.bytes.get();
        }
        sum
    }
}

impl Counters<Counter> {
    /// Sum over all workers at an index.
    pub fn sum(&self, index: u32) -> u64 {
        self.cells(index).map(Counter::get).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Kernel, Level};
    use quiver_stats::{Reading, Settings, Threads};

    #[test]
    fn places_are_dense_and_distinct() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(63), (0, 63));
        assert_eq!(place(64), (1, 0));
        assert_eq!(place(191), (1, 127));
        assert_eq!(place(192), (2, 0));
        assert_eq!(place(u32::MAX), (26, 63));
    }

    /// Counters that clients do not see, counters that they see all of, and counters that they see the first of.
    fn all_kinds() -> [Counters; 3] {
        let threads = Threads { main: true, workers: 2 };
        let segment = Segment::new(Settings { size: Some(4 << 20) }, threads).expect("memory");
        [Counters::new(2), Counters::shown(&segment, "/all", 1001), Counters::shown(&segment, "/few", 7)]
    }

    /// Counts eight packets of ten bytes.
    struct Packets<'r> {
        row: &'r Row,
        indexes: [u32; LANES],
    }
    impl Kernel for Packets<'_> {
        fn run<I: Isa>(self, isa: I) {
            let all = Mask::first(isa, LANES);
            self.row.of_lanes().add(all, Lanes::new(isa, &self.indexes), Lanes::splat(isa, 10));
        }
    }

    #[test]
    fn counts_survive_growth_and_add_up_over_workers() {
        let of = |packets, bytes| Traffic { packets, bytes };
        for counters in all_kinds() {
            counters.grow(6);
            counters.row(0).add(5, 1, 100);
            counters.grow(1000);
            counters.row(1).add(5, 2, 50);
            counters.row(1).add(999, 7, 7);
            assert_eq!((counters.sum(5), counters.sum(999)), (of(3, 150), of(7, 7)));
            counters.clear(5);
            assert_eq!(counters.sum(5), of(0, 0));
            let indexes = [0, 5, 63, 64, 1000, 5, 999, 1_000_000];
            Level::best().run(Packets { row: &counters.row(0), indexes });
            assert_eq!([5, 64, 999].map(|index| counters.sum(index)), [of(2, 20), of(1, 10), of(8, 17)]);
            let others = [7, 1_000_000].map(|index| counters.sum(index));
            assert_eq!(others, [of(0, 0); 2], "an index that is not counted, and one without room");
        }
    }

    #[test]
    fn without_room_nothing_is_counted() {
        let counters: Counters<Counter> = Counters::new(1);
        counters.row(0).add(5, 1);
        counters.grow(6);
        assert_eq!(counters.sum(5), 0);
        counters.row(0).add(5, 1);
        assert_eq!(counters.sum(5), 1);
    }

    #[test]
    fn clients_see_what_workers_count_behind_the_main_thread_s_row() {
        let threads = Threads { main: true, workers: 2 };
        let segment = Segment::new(Settings { size: Some(4 << 20) }, threads).expect("memory");
        let counters: Counters<Counter> = Counters::shown(&segment, "/if/drops", 4);
        counters.grow(3);
        counters.row(0).add(2, 7);
        counters.row(1).add(1, 9);
        let mut shown = vec![];
        segment.read(|name, reading| {
            // Beside these there are the segment's own times.
            let Reading::Simple(rows) = reading else { return };
            let rows: Vec<Vec<u64>> = rows.iter().map(|row| row.iter().map(Counter::get).collect()).collect();
            shown.push((name.to_owned(), rows));
        });
        assert_eq!(shown, [("/if/drops".to_owned(), vec![vec![0, 0, 0], vec![0, 0, 7], vec![0, 9, 0]])]);
        counters.grow(6);
        counters.row(1).add(5, 1);
        assert_eq!(counters.sum(5), 1, "there is no room to show it, but it is counted");
    }
}
