//! The memory file, and blocks of counters in it that never move.
#![allow(unsafe_code)]

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use crate::cell::{Counter, CounterBlock, Pair};

const _: () = assert!(size_of::<Counter>() == 8 && align_of::<Counter>() == 8);
const _: () = assert!(size_of::<Pair>() == 16 && align_of::<Pair>() == 8);

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// A memory file and its mapping, which begins as zeros. Pages that were never written take no memory. Other holders of
/// the file can change neither its content nor its length.
#[derive(Debug)]
pub struct Memory {
    words: NonNull<AtomicU64>,
    count: usize,
    /// None under Miri, which knows no files in memory.
    file: Option<OwnedFd>,
}
// SAFETY: the words are atomic, and the mapping lives as long as this.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory of so many bytes, rounded up to pages, for statistics. The error is the system's.
    pub fn new(bytes: usize) -> io::Result<Memory> {
        Memory::named("quiver-statistics", bytes)
    }
    /// The same, for something else: the name is for people who look at a process's files.
    pub fn named(name: &str, bytes: usize) -> io::Result<Memory> {
        let bytes = bytes.max(PAGE).next_multiple_of(PAGE);
        let count = bytes / 8;
        if cfg!(miri) {
            let words: Box<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
            return Ok(Memory { words: NonNull::from(Box::leak(words)).cast(), count, file: None });
        }
        let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, bytes as u64)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let mapping = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &file, 0)? };
        let words = NonNull::new(mapping.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = Memory { words, count, file: Some(file) };
        // A core dump through a pipe would have all of its zeros, which are gigabytes.
        // SAFETY: the mapping is ours, and what a dump contains changes nothing in it.
        let _ = unsafe { rustix::mm::madvise(mapping, bytes, rustix::mm::Advice::LinuxDontDump) };
        // From now on nobody writes but by the mapping above. Linux before 5.1 cannot promise that.
        let seal = |seals| memory.file.as_ref().map_or(Ok(()), |file| rustix::fs::fcntl_add_seals(file, seals));
        match seal(SealFlags::FUTURE_WRITE) {
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
        seal(SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(memory)
    }
    /// All of it.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: so many words are mapped, for as long as this lives; they are atomic, so anybody may write them.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
    /// The address at which it is mapped here.
    pub fn base(&self) -> u64 {
        self.words.as_ptr().expose_provenance() as u64
    }
    /// The file, for others to map.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(|file| file.as_fd())
    }
    /// Bytes that have been touched, and so take memory.
    pub fn touched(&self) -> u64 {
        let known = self.file.as_ref().and_then(|file| rustix::fs::fstat(file).ok());
        known.map_or(0, |known| known.st_blocks as u64 * 512)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.file.is_some() {
            // SAFETY: the mapping is ours; blocks in it keep this alive, so nobody refers to it any more.
            let _ = unsafe { rustix::mm::munmap(self.words.as_ptr().cast(), self.count * 8) };
        } else {
            let words = NonNull::slice_from_raw_parts(self.words, self.count);
            // SAFETY: without a file the words came from a box, which nobody else has.
            drop(unsafe { Box::from_raw(words.as_ptr()) });
        }
    }
}

/// Counters that lie one behind the other, in a segment's memory or in memory of their own, and never move.
#[derive(Debug)]
pub struct Block<C: CounterBlock> {
    cells: NonNull<C>,
    len: usize,
    /// Keeps the cells where they are.
    owner: Owner<C>,
}

#[derive(Debug)]
enum Owner<C> {
    Memory(Arc<Memory>),
    Own(Arc<[C]>),
}
impl<C> Clone for Owner<C> {
    fn clone(&self) -> Owner<C> {
        match self {
            Owner::Memory(memory) => Owner::Memory(memory.clone()),
            Owner::Own(cells) => Owner::Own(cells.clone()),
        }
    }
}

// SAFETY: cells consist of atomic counters, and the owner that keeps them can be sent and shared.
unsafe impl<C: CounterBlock> Send for Block<C> {}
// SAFETY: as above.
unsafe impl<C: CounterBlock> Sync for Block<C> {}

impl<C: CounterBlock> Block<C> {
    /// Counters in memory of their own, which only this process sees.
    pub fn own(len: usize) -> Block<C> {
        let cells: Arc<[C]> = (0..len).map(|_| C::default()).collect();
        Block { cells: NonNull::from(&*cells).cast(), len, owner: Owner::Own(cells) }
    }
    /// The counters from a word of the memory on.
    ///
    /// # Panics
    /// If the memory has fewer words.
    pub(crate) fn of(memory: &Arc<Memory>, word: usize, len: usize) -> Block<C> {
        // Cells are counters and nothing else (`CounterBlock` is sealed), as the words are.
        let words = &memory.words()[word..word + len * C::WORDS];
        Block { cells: NonNull::from(words).cast(), len, owner: Owner::Memory(memory.clone()) }
    }
    /// A part of it. None if it does not reach so far.
    pub fn part(&self, from: usize, len: usize) -> Option<Block<C>> {
        let cells = self.get(from..from.checked_add(len)?)?;
        Some(Block { cells: NonNull::from(cells).cast(), len, owner: self.owner.clone() })
    }
}

impl<C: CounterBlock> Clone for Block<C> {
    fn clone(&self) -> Block<C> {
        Block { cells: self.cells, len: self.len, owner: self.owner.clone() }
    }
}

impl<C: CounterBlock> Deref for Block<C> {
    type Target = [C];
    #[inline(always)]
    fn deref(&self) -> &[C] {
        // SAFETY: the constructors took the cells from a slice of that length, which the owner keeps where it is.
        unsafe { std::slice::from_raw_parts(self.cells.as_ptr(), self.len) }
    }
}

impl<'b, C: CounterBlock> IntoIterator for &'b Block<C> {
    type Item = &'b C;
    type IntoIter = std::slice::Iter<'b, C>;
    fn into_iter(self) -> std::slice::Iter<'b, C> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;
    use crate::segment::{Segment, Settings, Threads};
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn blocks_share_the_words_of_the_memory_and_outlive_its_handle() {
        let memory = Arc::new(Memory::new(1).expect("memory"));
        assert_eq!(memory.words().len(), PAGE / 8);
        let pairs: Block<Pair> = Block::of(&memory, 8, 4);
        pairs[3].add(1, 60);
        assert_eq!((memory.words()[14].load(Relaxed), memory.words()[15].load(Relaxed)), (1, 60));
        let part = pairs.part(3, 1).expect("it has four");
        assert!(pairs.part(3, 2).is_none() && pairs.part(usize::MAX, 2).is_none());
        drop((pairs, memory));
        assert_eq!(part[0].bytes.get(), 60);
    }

    #[test]
    fn a_block_of_its_own_is_zero_and_may_be_empty() {
        let own: Block<Counter> = Block::own(3);
        own.clone()[2].add(5);
        assert_eq!(own.iter().map(Counter::get).collect::<Vec<_>>(), [0, 0, 5]);
        assert!(Block::<Pair>::own(0).is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files in memory")]
    fn whoever_gets_the_file_can_only_read_it_and_it_is_sparse() {
        let memory = Memory::new(64 << 20).expect("memory");
        memory.words()[0].store(7, Relaxed);
        let file = memory.file().expect("a file").try_clone_to_owned().expect("a descriptor");
        assert!(rustix::fs::ftruncate(&file, 0).is_err(), "it can neither shrink");
        assert!(rustix::fs::ftruncate(&file, 128 << 20).is_err(), "nor grow");
        assert!(rustix::io::write(&file, b"x").is_err(), "nor be written");
        let map = |access| {
            // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing; it is not even used.
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), PAGE, access, MapFlags::SHARED, &file, 0) }
        };
        assert!(map(ProtFlags::READ | ProtFlags::WRITE).is_err(), "nor be mapped to write");
        map(ProtFlags::READ).expect("it can be mapped to read");
        assert!(memory.touched() <= 1 << 20, "{} bytes for one word", memory.touched());
    }

    /// A client's mapping of the segment, as long as the file is when the client maps it.
    struct Mapping(&'static [AtomicU64]);
    impl Mapping {
        fn of(segment: &Segment) -> Mapping {
            let file = segment.file().expect("a file").try_clone_to_owned().expect("a descriptor");
            let bytes = rustix::fs::fstat(&file).expect("its length").st_size as usize;
            // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing; it stays until the process ends.
            let words = unsafe {
                let at = rustix::mm::mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, &file, 0);
                std::slice::from_raw_parts(at.expect("a mapping").cast(), bytes / 8)
            };
            Mapping(words)
        }
        fn word(&self, at: usize) -> u64 {
            self.0[at].load(Relaxed)
        }
        /// The word to which a pointer leads.
        fn led(&self, at: usize) -> usize {
            ((self.word(at) - self.word(layout::BASE)) / 8) as usize
        }
        /// The elements of a vector.
        fn len(&self, vector: usize) -> usize {
            (self.word(vector - 1) & 0xffff_ffff) as usize
        }
        /// The packets and bytes that a thread has counted under the symlink of this name.
        fn counted(&self, name: &str, thread: usize) -> Option<[u64; 2]> {
            let directory = self.led(layout::DIRECTORY);
            let entry = |place: usize| directory + place * layout::ENTRY_WORDS;
            let named = |place: &usize| {
                let words = entry(*place) + layout::ENTRY_NAME..entry(place + 1);
                let bytes: Vec<u8> = words.flat_map(|word| self.word(word).to_le_bytes()).collect();
                bytes.split(|byte| *byte == 0).next() == Some(name.as_bytes())
            };
            let found = entry((0..self.len(directory)).find(named)?) + layout::ENTRY_VALUE;
            let (to, column) = (self.word(found) & 0xffff_ffff, (self.word(found) >> 32) as usize);
            let row = self.led(self.led(entry(to as usize) + layout::ENTRY_VALUE) + thread);
            (column < self.len(row)).then(|| [0, 1].map(|part| self.word(row + 2 * column + part)))
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files in memory")]
    fn a_mapping_shows_what_is_added_long_after_it_was_made() {
        let segment = Segment::new(Settings::default(), Threads { main: true, workers: 4 }).expect("memory");
        let received = segment.edit().vector::<Pair>("/if/rx", 1 << 20);
        let names = segment.edit().names("/if/names");
        let mapping = Mapping::of(&segment);
        assert_eq!(mapping.counted("/interfaces/tunnel0/rx", 1), None);
        for number in 0..20_000 {
            let mut edit = segment.edit();
            edit.set_name(&names, number, Some(&format!("tunnel{number}")));
            edit.symlink(&format!("/interfaces/tunnel{number}/rx"), received.target(), number as u32);
            drop(edit);
            received.show(number as u32 + 1);
            received.rows()[1][number].add(number as u64, 60 * number as u64);
        }
        for number in [0, 1, 777, 19_999] {
            let counted = mapping.counted(&format!("/interfaces/tunnel{number}/rx"), 1);
            assert_eq!(counted, Some([number, 60 * number]));
        }
        received.rows()[4][19_999].add(7, 420);
        assert_eq!(mapping.counted("/interfaces/tunnel19999/rx", 4), Some([7, 420]));
        assert_eq!(received.rows()[0].len(), 1 << 20, "there is room for all that there can be");
        let (size, touched) = segment.size();
        assert!(touched < size / 100, "{touched} bytes of {size} take memory");
    }
}
