//! The ring, as another process reads it: by reads of the memory file, so that it needs no mapping.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::event::{Event, TICKS, WORDS};
use crate::ring::{MAGIC, PAGE, SLOTS, Size, WORKERS_MAX, head, is_intact, order, own};

/// Events that are read at once.
const BATCH: u64 = 1024;

/// Why a ring cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("the ring of events cannot be read: {0}")]
    System(#[from] io::Error),
    /// The file has another layout.
    #[error("the file is no ring of events of this version; use the quiver of the same version as quiverd")]
    Foreign,
}

/// An event with its times in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The event.
    pub event: Event,
    /// Its time.
    pub time: u64,
    /// Begin of the session.
    pub begun: u64,
    /// Time of its last packet.
    pub last: u64,
}

/// Ring of a quiverd.
pub struct Reader {
    file: File,
    size: Size,
    instance: u64,
    /// The number of the next event of each worker.
    next: Vec<u64>,
    /// Events that were overwritten before they were read.
    lost: u64,
    bytes: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at * 8..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

impl Reader {
    /// The ring in a memory file, from the oldest event on.
    ///
    /// # Errors
    /// If the file cannot be read, or is no ring.
    pub fn new(file: File) -> Result<Reader, ReadError> {
        let mut bytes = [0; 64];
        file.read_exact_at(&mut bytes, 0).map_err(|_| ReadError::Foreign)?;
        order();
        let (workers, slots) = (word(&bytes, head::WORKERS), word(&bytes, head::SLOTS));
        let slots = u32::try_from(slots).ok().filter(|slots| slots.is_power_of_two() && SLOTS.contains(slots));
        let workers = usize::try_from(workers).ok().filter(|workers| *workers <= WORKERS_MAX);
        let (Some(slots), Some(workers)) = (slots, workers) else { return Err(ReadError::Foreign) };
        let size = Size { workers, slots };
        if word(&bytes, head::MAGIC) != MAGIC || file.metadata()?.len() < size.bytes() as u64 {
            return Err(ReadError::Foreign);
        }
        let instance = word(&bytes, head::INSTANCE);
        let mut reader = Reader { file, size, instance, next: vec![0; workers], lost: 0, bytes: vec![] };
        for worker in 0..workers {
            let published = reader.one(size.page(worker) + own::PUBLISHED)?;
            reader.next[worker] = published.saturating_sub(slots.into());
        }
        Ok(reader)
    }
    /// Goes on behind the events that were read before, if they were of this ring.
    pub fn resume(&mut self, instance: u64, next: &[u64]) {
        if instance == self.instance && next.len() == self.next.len() {
            self.next.copy_from_slice(next);
        }
    }
    /// The number by which this ring differs from others.
    pub fn instance(&self) -> u64 {
        self.instance
    }
    /// Workers.
    pub fn workers(&self) -> usize {
        self.size.workers
    }
    /// The number of the next event of each worker.
    pub fn next(&self) -> &[u64] {
        &self.next
    }
    /// Events that were overwritten before they were read.
    pub fn lost(&self) -> u64 {
        self.lost
    }
    /// Whether no event follows those that can be read.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn has_ended(&self) -> io::Result<bool> {
        Ok(self.one(head::ENDED)? != 0)
    }
    fn one(&self, at: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at as u64 * 8)?;
        Ok(u64::from_ne_bytes(bytes))
    }
    /// Reads the next events of a worker, up to a thousand, in their order; how many there were. Fewer arrive at `take` if some were
    /// overwritten meanwhile.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&mut self, worker: usize, mut take: impl FnMut(&Stamped)) -> io::Result<u64> {
        let Some(next) = self.next.get(worker).copied() else { return Ok(0) };
        let page = self.size.page(worker);
        let published = self.one(page + own::PUBLISHED)?;
        order();
        let slots = u64::from(self.size.slots);
        let oldest = published.saturating_sub(slots);
        // A number from elsewhere may be ahead.
        let first = next.clamp(oldest, published);
        self.lost += first.saturating_sub(next);
        let last = published.min(first + BATCH).min((first / slots + 1) * slots);
        self.bytes.resize((last - first) as usize * WORDS * 8, 0);
        self.file.read_exact_at(&mut self.bytes, self.size.slot(worker, first) as u64 * 8)?;
        order();
        let (claimed, epoch) = (self.one(page + own::CLAIMED)?, self.one(page + own::EPOCH)?);
        let times = Times { epoch, now: now() };
        for (number, bytes) in (first..last).zip(self.bytes.chunks_exact(WORDS * 8)) {
            let words: [u64; WORDS] = std::array::from_fn(|at| word(bytes, at));
            let is_own = is_intact(self.size, number, claimed) && words[WORDS - 1] == number + 1;
            match Event::of(&words).filter(|_| is_own) {
                Some(event) => take(&times.stamp(event)),
                None => self.lost += 1,
            }
        }
        self.next[worker] = last;
        Ok(last - next.min(last))
    }
}

const _: () = assert!(PAGE * 8 == 4096);

/// Milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Time of tick 0, and the time now, in milliseconds since 1970.
struct Times {
    epoch: u64,
    now: u64,
}

impl Times {
    fn stamp(&self, event: Event) -> Stamped {
        let of = |ticks: u32| self.milliseconds(ticks);
        Stamped { event, time: of(event.time), begun: of(event.begun), last: of(event.last) }
    }
    /// The time of a number of ticks, which comes round: the one next to now.
    fn milliseconds(&self, ticks: u32) -> u64 {
        const TICK_MS: u64 = 1000 / TICKS as u64;
        const ROUND_MS: u64 = (1 << 32) * TICK_MS;
        let time = self.epoch.wrapping_add(u64::from(ticks) * TICK_MS);
        let rounds = (self.now.wrapping_sub(time).wrapping_add(ROUND_MS / 2) as i64).div_euclid(ROUND_MS as i64);
        time.wrapping_add((rounds as u64).wrapping_mul(ROUND_MS))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::event::tests::event;
    use crate::ring::{self, Writer};
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;

    /// A ring in words, and a file that is made equal to it.
    pub(crate) struct Ring {
        pub words: Vec<AtomicU64>,
        pub file: File,
    }

    impl Ring {
        pub fn new(size: Size) -> Ring {
            let words: Vec<_> = (0..size.bytes() / 8).map(|_| AtomicU64::new(0)).collect();
            ring::begin(&words, size, 7);
            let ring = Ring { words, file: tempfile::tempfile().expect("a file") };
            ring.sync();
            ring
        }
        pub fn sync(&self) {
            let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()).collect();
            self.file.write_all_at(&bytes, 0).expect("room");
        }
        pub fn reader(&self) -> Reader {
            Reader::new(self.file.try_clone().expect("a file")).expect("a ring")
        }
    }

    fn all(reader: &mut Reader, worker: usize) -> Vec<Event> {
        let mut events = vec![];
        while reader.read(worker, |stamped| events.push(stamped.event)).expect("a file") > 0 {}
        events
    }

    #[test]
    fn readers_get_all_events_in_order_and_count_those_that_were_overwritten() {
        let size = Size::new(2, 300);
        assert_eq!(size.slots, 512);
        let (ring, mut random) = (Ring::new(size), fastrand::Rng::with_seed(3));
        let (mut writer, mut reader) = (Writer::new(size, 1), ring.reader());
        let mut sent = vec![];
        for count in [0, 1, 300, 511, 512, 513, 5000] {
            let lost = reader.lost();
            sent.clear();
            for _ in 0..count {
                sent.push(event(&mut random));
                writer.write(&ring.words, &sent[sent.len() - 1]);
            }
            ring.sync();
            let kept = count.min(512);
            assert_eq!(all(&mut reader, 1), sent[count - kept..], "{count}");
            assert_eq!(reader.lost() - lost, (count - kept) as u64);
            assert_eq!(all(&mut reader, 0), []);
        }
        assert_eq!(reader.next(), [0, 6837]);
        assert_eq!(ring::written(&ring.words, size, 1), 6837);
        // Another reader begins with the oldest, or where one was.
        let mut other = ring.reader();
        assert_eq!((all(&mut other, 1).len(), other.lost()), (512, 0));
        let mut other = ring.reader();
        other.resume(7, &[0, 1000]);
        assert_eq!((all(&mut other, 1).len(), other.lost()), (512, 6837 - 512 - 1000));
        let mut other = ring.reader();
        other.resume(7, &[0, 6800]);
        assert_eq!(all(&mut other, 1), sent[sent.len() - 37..]);
        for (instance, next) in [(8, &[0, 6800][..]), (7, &[6800])] {
            let mut other = ring.reader();
            other.resume(instance, next);
            assert_eq!(other.next(), [0, 6837 - 512]);
        }
        let mut ahead = ring.reader();
        ahead.resume(7, &[9, u64::MAX]);
        assert_eq!((all(&mut ahead, 1), ahead.lost()), (vec![], 0));
        assert!(!reader.has_ended().expect("a file"));
        ring::end(&ring.words);
        ring.sync();
        assert!(reader.has_ended().expect("a file"));
    }

    #[test]
    fn an_event_that_is_being_overwritten_is_lost() {
        let size = Size::new(1, 256);
        let (ring, mut random) = (Ring::new(size), fastrand::Rng::with_seed(4));
        let mut writer = Writer::new(size, 0);
        for _ in 0..256 {
            writer.write(&ring.words, &event(&mut random));
        }
        // The writer has claimed another one, and has written a word of it.
        ring.words[size.page(0) + own::CLAIMED].store(257, Relaxed);
        ring.words[size.slot(0, 256) + 1].store(0, Relaxed);
        ring.sync();
        let mut reader = ring.reader();
        assert_eq!((all(&mut reader, 0).len(), reader.lost()), (255, 1));
    }

    #[test]
    fn other_files_are_refused() {
        let ring = Ring::new(Size::new(1, 256));
        for (at, value) in [(head::MAGIC, 1), (head::WORKERS, 2), (head::SLOTS, 255), (head::SLOTS, 0)] {
            let before = ring.words[at].swap(value, Relaxed);
            ring.sync();
            let file = ring.file.try_clone().expect("a file");
            assert!(matches!(Reader::new(file), Err(ReadError::Foreign)), "{at} {value}");
            ring.words[at].store(before, Relaxed);
        }
        assert!(matches!(Reader::new(tempfile::tempfile().expect("a file")), Err(ReadError::Foreign)));
    }

    #[test]
    fn times_that_come_round_are_those_next_to_now() {
        const ROUND_MS: u64 = (1 << 32) * 10;
        let now = 1_800_000_000_000;
        for ticks in [0, 500, 1 << 31, u32::MAX - 100] {
            for age in [0, 10, 3_600_000] {
                let epoch = (now - age) - u64::from(ticks) * 10;
                for round in [0, ROUND_MS] {
                    let times = Times { epoch: epoch - round, now };
                    assert_eq!(times.milliseconds(ticks), now - age, "{ticks} {age}");
                }
            }
        }
        let (size, event) = (Size::new(1, 256), event(&mut fastrand::Rng::with_seed(5)));
        let ring = Ring::new(size);
        let mut writer = Writer::new(size, 0);
        let (now, ticks) = (super::now(), event.time.wrapping_add(100));
        writer.set_time(&ring.words, (now, ticks));
        // Jitter changes nothing.
        writer.set_time(&ring.words, (now + 99, ticks));
        writer.write(&ring.words, &event);
        ring.sync();
        let mut time = 0;
        ring.reader().read(0, |stamped| time = stamped.time).expect("a file");
        assert_eq!(time, now - 1000);
    }

    #[test]
    fn a_reader_beside_the_writer_gets_no_torn_event() {
        use std::sync::Arc;
        use std::sync::atomic::AtomicBool;
        const EVENTS: u64 = 300_000;
        let size = Size::new(1, 256);
        let memory = Arc::new(quiver_stats::memory::Memory::named("events", size.bytes()).expect("memory"));
        ring::begin(memory.words(), size, 1);
        let file = memory.file().expect("a file").try_clone_to_owned().expect("a descriptor");
        let mut reader = Reader::new(file.into()).expect("a ring");
        let done = Arc::new(AtomicBool::new(false));
        let (shared, has_ended) = (memory.clone(), done.clone());
        let thread = std::thread::spawn(move || {
            let (mut random, mut writer) = (fastrand::Rng::with_seed(6), Writer::new(size, 0));
            for number in 0..EVENTS {
                let event = Event { packets: [number; 2], bytes: [number; 2], ..event(&mut random) };
                let event = Event { session: number, tenant: number as u32, ..event };
                writer.write(shared.words(), &event);
            }
            has_ended.store(true, Relaxed);
        });
        let (mut read, mut next) = (0, 0);
        let mut take = |stamped: &Stamped| {
            let Event { session: number, packets, bytes, tenant, .. } = stamped.event;
            assert_eq!((packets, bytes, tenant), ([number; 2], [number; 2], number as u32));
            assert!(number >= next, "{number} after {next}");
            next = number + 1;
            read += 1;
        };
        loop {
            let has_ended = done.load(Relaxed);
            if reader.read(0, &mut take).expect("a file") == 0 && has_ended {
                break;
            }
        }
        thread.join().expect("no panic");
        assert_eq!(read + reader.lost(), EVENTS, "each event was read or is known to be lost");
        assert!(read > 256, "{read}");
    }
}
