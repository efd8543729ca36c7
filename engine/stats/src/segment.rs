//! The segment: what rooms and workers use of it.
//!
//! A client that reads while the directory changes begins anew: it finds [`IN_PROGRESS`](layout::IN_PROGRESS) set, or
//! the epoch moved on. So a change of the directory goes through [`Segment::edit`]; counts, lengths and gauges change at
//! any time.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::fence;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cell::{Counter, Pair};
use crate::description::{Description, Descriptions};
use crate::directory::{Directory, EntryId, Name, Stretch, Text, Value};
use crate::layout::{self, EntryType};
use crate::memory::{Block, Memory};
use crate::rows::{Cell, Rows};

/// Settings of the segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Size of the memory file in bytes. It never changes, as clients map the file once. Unused pages take no memory.
    /// The default is 4 GB for all possible interfaces, and 1 GB for each thread.
    pub size: Option<usize>,
}

impl Settings {
    /// Bytes of the memory file of a segment for these threads.
    pub fn size_for(self, threads: Threads) -> usize {
        // Miri has no sparse files.
        let unasked = if cfg!(miri) { 1 << 20 } else { (4 + threads.count()) << 30 };
        self.size.unwrap_or(unasked)
    }
}

/// The threads that have a row in each vector. Clients expect thread 0 to be the main thread, followed by workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Whether there is a main thread that forwards nothing; if not, the first worker is thread 0.
    pub main: bool,
    /// Workers.
    pub workers: usize,
}

impl Threads {
    /// Rows of a vector.
    pub fn count(self) -> usize {
        self.workers + usize::from(self.main)
    }
    /// The row of a worker.
    pub fn row(self, worker: usize) -> usize {
        worker + usize::from(self.main)
    }
}

/// The segment; a handle that can be cloned.
#[derive(Clone)]
pub struct Segment(Arc<Inner>);

struct Inner {
    memory: Arc<Memory>,
    threads: Threads,
    directory: Mutex<Directory>,
    descriptions: Mutex<Descriptions>,
    times: [Gauge; 3],
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("memory", &self.0.memory).finish_non_exhaustive()
    }
}

impl Segment {
    /// A segment. The error is the system's, which has no memory.
    pub fn new(settings: Settings, threads: Threads) -> io::Result<Segment> {
        let memory = Arc::new(Memory::new(settings.size_for(threads))?);
        let words = memory.words();
        words[layout::BASE].store(memory.base(), Relaxed);
        words[layout::EPOCH].store(1, Relaxed);
        let mut directory = Directory::new(memory.clone());
        // Clients know these three by their places. They also keep others from place 0: GoVPP takes the symlink to its
        // first column, which has the value zero, for a pointer to nowhere.
        let times = ["/sys/last_stats_clear", "/sys/heartbeat", "/sys/boottime"].map(|name| {
            let number = Value::Number { kind: EntryType::Scalar, value: 0 };
            Gauge(directory.add(name, number))
        });
        words[layout::VERSION_AT].store(layout::VERSION, Release);
        let (directory, descriptions) = (Mutex::new(directory), Mutex::default());
        let segment = Segment(Arc::new(Inner { memory, threads, directory, descriptions, times }));
        let since_start = "Seconds from the daemon's start to the last clearing of counters; 0 without one.";
        segment.describe("/sys/last_stats_clear", Description::of(since_start).gauge().unit("seconds"));
        segment.describe("/sys/heartbeat", Description::of("How often computed statistics were computed."));
        let start = "When the daemon started, in seconds since 1970.";
        segment.describe("/sys/boottime", Description::of(start).gauge().unit("seconds"));
        Ok(segment)
    }
    /// Describes the entry of this name, in place of an earlier description.
    pub fn describe(&self, name: &str, description: Description) {
        self.descriptions().insert(name.to_owned(), Arc::new(description));
    }
    /// The description of the entry of this name.
    pub fn description(&self, name: &str) -> Option<Arc<Description>> {
        self.descriptions().get(name).cloned()
    }
    fn descriptions(&self) -> MutexGuard<'_, Descriptions> {
        self.0.descriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Says when counts were set back last, in seconds since the start.
    pub fn set_cleared(&self, seconds: u64) {
        self.set(&self.0.times[0], seconds);
    }
    /// Says that what is copied here is new.
    pub fn set_heartbeat(&self, beats: u64) {
        self.set(&self.0.times[1], beats);
    }
    /// Says when the daemon started, in seconds since 1970.
    pub fn set_boot_time(&self, seconds: u64) {
        self.set(&self.0.times[2], seconds);
    }
    /// The threads that have a row in each vector.
    pub fn threads(&self) -> Threads {
        self.0.threads
    }
    /// The file that clients map. None under Miri.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.0.memory.file()
    }
    /// Bytes of the file, and those of them that take memory.
    pub fn size(&self) -> (u64, u64) {
        (self.0.memory.words().len() as u64 * 8, self.0.memory.touched())
    }
    /// Number of changes of the directory.
    pub fn epoch(&self) -> u64 {
        self.0.memory.words()[layout::EPOCH].load(Relaxed)
    }
    /// Changes the directory: clients that read begin anew when the value that this gives is dropped. Nothing else of the
    /// segment may be called meanwhile by the same thread, which would wait for itself.
    pub fn edit(&self) -> Edit<'_> {
        let directory = self.lock();
        self.0.memory.words()[layout::IN_PROGRESS].store(1, Relaxed);
        // Whoever sees what is changed next sees the mark, too.
        fence(Release);
        Edit { segment: self, directory }
    }
    fn lock(&self) -> MutexGuard<'_, Directory> {
        self.0.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Sets a number.
    pub fn set(&self, gauge: &Gauge, value: u64) {
        if let Some(id) = gauge.0 {
            self.lock().set(id, value);
        }
    }
    /// Calls `each` with every entry and what it says now, in the order in which they were added, or nearly so.
    pub fn read(&self, mut each: impl FnMut(&str, Reading)) {
        for name in self.all_names() {
            self.read_one(&name, |reading| each(&name, reading));
        }
    }
    /// The names of all entries. Changes of the directory wait for [`NAMES`] of them at most.
    pub fn all_names(&self) -> impl Iterator<Item = String> {
        let parts = (0..).step_by(NAMES).map(|first| self.names(first, NAMES));
        parts.take_while(|names| !names.is_empty()).flatten()
    }
    /// The names of so many entries from a place on. One that is removed changes the places of others.
    pub fn names(&self, first: usize, count: usize) -> Vec<String> {
        let directory = self.lock();
        let places = first..first.saturating_add(count).min(directory.entries.len());
        places.map(|place| directory.name(place).as_str().to_owned()).collect()
    }
    /// Reads the entry of this name by `look`; none if there is no such entry. Changes of the directory wait for `look`, and
    /// control makes them.
    pub fn read_one<T>(&self, name: &str, look: impl FnOnce(Reading) -> T) -> Option<T> {
        let directory = self.lock();
        let entry = directory.named(name)?;
        let target;
        let reading = match &entry.value {
            Value::Number { kind: EntryType::Gauge, value } => Reading::Gauge(*value),
            Value::Number { value, .. } => Reading::Scalar(*value),
            Value::Counters { rows: Rows::Simple(rows), shown, .. } => Reading::Simple(cut(rows, *shown)),
            Value::Counters { rows: Rows::Combined(rows), shown, .. } => Reading::Combined(cut(rows, *shown)),
            Value::Names { texts, .. } => Reading::Names(Texts(texts)),
            Value::Symlink { to, column } => {
                let sum = directory.get(*to).map_or(0, |entry| sum(&entry.value, *column));
                target = directory.name_of(*to);
                Reading::Symlink { to: target.as_ref().map_or("", Name::as_str), column: *column, sum }
            }
        };
        Some(look(reading))
    }
}

/// Sum over all threads at an index; of pairs the packets.
fn sum(value: &Value, index: u32) -> u64 {
    let index = index as usize;
    match value {
        Value::Counters { rows: Rows::Simple(rows), .. } => {
            rows.iter().filter_map(|row| row.get(index)).map(Counter::get).sum()
        }
        Value::Counters { rows: Rows::Combined(rows), .. } => {
            rows.iter().filter_map(|row| row.get(index)).map(|pair| pair.packets.get()).sum()
        }
        _ => 0,
    }
}

fn cut<C: Cell>(rows: &[Block<C>], shown: usize) -> Vec<&[C]> {
    rows.iter().map(|row| &row[..shown.min(row.len())]).collect()
}

/// Value of an entry.
#[derive(Debug)]
pub enum Reading<'s> {
    /// A number that only rises, or a moment.
    Scalar(u64),
    /// A number.
    Gauge(u64),
    /// Counters by thread and index.
    Simple(Vec<&'s [Counter]>),
    /// Packets and bytes by thread and index.
    Combined(Vec<&'s [Pair]>),
    /// Names by index.
    Names(Texts<'s>),
    /// A column of another entry.
    Symlink {
        /// The other entry's name.
        to: &'s str,
        /// The index.
        column: u32,
        /// Sum over all threads there; of pairs the packets.
        sum: u64,
    },
}

/// Names of a vector by index, each of which may be missing.
#[derive(Clone, Copy)]
pub struct Texts<'s>(&'s [Option<Text>]);

impl<'s> Texts<'s> {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'s str>> + use<'s> {
        self.0.iter().map(|text| text.as_ref().map(|text| text.text.as_str()))
    }
}

impl std::fmt::Debug for Texts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Names that are copied under one lock.
const NAMES: usize = 256;

/// A change of the directory.
pub struct Edit<'s> {
    segment: &'s Segment,
    directory: MutexGuard<'s, Directory>,
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        let words = self.segment.0.memory.words();
        let epoch = words[layout::EPOCH].load(Relaxed);
        words[layout::EPOCH].store(epoch + 1, Release);
        words[layout::IN_PROGRESS].store(0, Release);
    }
}

/// A number in the directory: a gauge or a scalar. What could not be shown is set in vain.
#[derive(Debug)]
pub struct Gauge(Option<EntryId>);

/// A vector of names in the directory.
#[derive(Debug)]
pub struct Names(Option<EntryId>);

/// A column of a vector, under a name of its own.
#[derive(Debug)]
pub struct Symlink(Option<EntryId>);

/// Target of a symlink.
#[derive(Clone, Copy, Debug)]
pub struct Target(Option<EntryId>);

impl Edit<'_> {
    /// Adds a number that rises and falls.
    pub fn gauge(&mut self, name: &str) -> Gauge {
        Gauge(self.directory.add(name, Value::Number { kind: EntryType::Gauge, value: 0 }))
    }
    /// Adds a number.
    pub fn scalar(&mut self, name: &str) -> Gauge {
        Gauge(self.directory.add(name, Value::Number { kind: EntryType::Scalar, value: 0 }))
    }
    /// Adds a vector with a row for each thread, which can have `most` cells, or as many as there is room for. It shows
    /// none until [`Vector::show`]. It stays as long as the segment does.
    pub fn vector<C: Cell>(&mut self, name: &str, most: u32) -> Vector<C> {
        self.table(name, self.segment.threads().count(), most)
    }
    /// The same with so many rows, whatever they are.
    pub fn table<C: Cell>(&mut self, name: &str, rows: usize, most: u32) -> Vector<C> {
        let (id, blocks) = self.directory.add_vector(name, rows, most as usize).unzip();
        let rows = blocks.unwrap_or_else(|| (0..rows).map(|_| Block::own(0)).collect());
        Vector { segment: self.segment.clone(), id, rows }
    }
    /// Adds a vector of `cells` cells for each thread, under a name that [`Edit::withdraw`] takes away. Its memory is used again
    /// when the vector is dropped: after the last writer. None if there is no room, or another entry has the name.
    pub fn lend<C: Cell>(&mut self, name: &str, cells: u32) -> Option<(Entry, LentVector<C>)> {
        let (segment, rows) = (self.segment.clone(), self.segment.threads().count());
        let (id, rows, lent) = self.directory.lend_vector(name, rows, cells as usize)?;
        Some((Entry(id), LentVector { rows, lent, segment }))
    }
    /// Takes the entry of a lent vector away; its writers may go on.
    pub fn withdraw(&mut self, entry: Entry) {
        self.directory.remove(entry.0);
    }
    /// Adds a vector of names.
    pub fn names(&mut self, name: &str) -> Names {
        Names(self.directory.add_names(name))
    }
    /// Sets a name of a vector, or takes it away; the vector then has that index at least.
    pub fn set_name(&mut self, names: &Names, index: usize, name: Option<&str>) {
        if let Some(id) = names.0 {
            self.directory.set_name(id, index, name);
        }
    }
    /// Adds a name for a column of a vector.
    pub fn symlink(&mut self, name: &str, to: Target, column: u32) -> Symlink {
        Symlink(to.0.and_then(|to| self.directory.add(name, Value::Symlink { to, column })))
    }
    /// Gives a column another name. False, and it keeps its name, if another entry has that.
    pub fn rename(&mut self, symlink: &Symlink, name: &str) -> bool {
        symlink.0.is_none_or(|id| self.directory.rename(id, name))
    }
    /// Takes a name of a column away.
    pub fn remove(&mut self, symlink: Symlink) {
        if let Some(id) = symlink.0 {
            self.directory.remove(id);
        }
    }
}

/// The entry of a lent vector in the directory.
#[derive(Debug)]
pub struct Entry(EntryId);

/// A vector of counters that its last owner gives back: a row for each thread.
#[derive(Debug)]
pub struct LentVector<C: Cell> {
    rows: Vec<Block<C>>,
    lent: Vec<Stretch>,
    segment: Segment,
}

impl<C: Cell> LentVector<C> {
    /// The rows.
    pub fn rows(&self) -> &[Block<C>] {
        &self.rows
    }
}

impl<C: Cell> Drop for LentVector<C> {
    fn drop(&mut self) {
        self.segment.lock().give_back(std::mem::take(&mut self.lent));
    }
}

/// A vector of counters: a row for each thread, none of which ever moves.
#[derive(Debug)]
pub struct Vector<C: Cell> {
    segment: Segment,
    id: Option<EntryId>,
    rows: Vec<Block<C>>,
}

impl<C: Cell> Vector<C> {
    /// The rows, with all the cells that they have room for.
    pub fn rows(&self) -> &[Block<C>] {
        &self.rows
    }
    /// Target for symlinks to this vector.
    pub fn target(&self) -> Target {
        Target(self.id)
    }
    /// Shows the first `len` cells to clients, or as many as there is room for; never less than before.
    pub fn show(&self, len: u32) {
        if let Some(id) = self.id {
            self.segment.lock().show(id, len as usize);
        }
    }
}
