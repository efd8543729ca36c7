//! Shared memory, mapped. The peer may write to any of it at any time.
//!
//! Nothing hands out references into it: words are atomics, and bytes are copied, once, in or out. Whoever decides by
//! what was copied decides by something that stays as it is.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, compiler_fence};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use crate::guard::Guarded;

mod copy;
mod group;

pub use copy::{LINE, fence_streams};
pub(crate) use copy::{claim_line, stream_line};
use copy::{copy, copy_line};
pub(crate) use group::most;
pub use group::{Destinations, GROUP, Sources};

/// Bytes of a region at most: what a descriptor's offset and length can reach.
const SIZE_MAX: u64 = 1 << 33;
/// File systems whose files are memory: tmpfs, hugetlbfs and ramfs (linux/magic.h). A page of another file system comes
/// when its server delivers it, which may be the peer (FUSE), and a worker that reads from it would wait.
const MEMORY: [u32; 3] = [0x0102_1994, 0x9584_58f6, 0x8584_58f6];

/// Why memory cannot be shared.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    /// No bytes, or more than a descriptor can tell.
    #[error("a region of {0} bytes is not possible")]
    Size(u64),
    /// The file is shorter than was said.
    #[error("{told} bytes were told, but the file has {has}")]
    Short {
        /// Size by the message, in bytes.
        told: u64,
        /// Size of the file, in bytes.
        has: u64,
    },
    /// Memory that can be truncated, and no place to guard it.
    #[error("the memory can be truncated: seal it against shrinking")]
    Unguarded,
    /// A file whose bytes may be delayed for any time.
    #[error(
        "it is no memory, but a file on a file system (of type {0:#x}): share a memfd, or a file in /dev/shm or hugetlbfs"
    )]
    NoMemory(u32),
    /// The system said no.
    #[error("the system refused to {0}: {1}")]
    System(&'static str, Errno),
}

/// Method of writing bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Store {
    /// Into our caches: best where the reader runs on the same core, or reads long after.
    Plain,
    /// The same, and the first line of each packet is taken from the core that had it last some packets ahead
    /// ([`View::claim`]).
    Claimed,
    /// Past our caches, in whole lines, where the processor can: best where the reader runs on another core, whose
    /// caches would have to give each line up first. [`fence_streams`] has to come before the reader is told.
    Streaming,
}
impl Store {
    /// Every way.
    pub const ALL: [Store; 3] = [Store::Plain, Store::Claimed, Store::Streaming];
}

/// One mapped region.
pub struct Region {
    base: *mut u8,
    /// Bytes that may be accessed.
    length: usize,
    /// Bytes that are mapped: whole pages.
    mapped: usize,
    /// Set while the peer could truncate it.
    guard: Option<Guarded>,
}
// SAFETY: the mapping belongs to this value. All access is by atomics, or copies bytes that the other process may change
// meanwhile anyway: no thread of ours is promised anything about them.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Makes shared memory, filled with zeros and sealed against shrinking, and maps it.
    pub fn create(name: &str, bytes: usize) -> Result<(Region, OwnedFd), RegionError> {
        let system = |what| move |error| RegionError::System(what, error);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create(name, flags).map_err(system("make shared memory"))?;
        rustix::fs::ftruncate(&file, bytes as u64).map_err(system("give shared memory its size"))?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK).map_err(system("seal shared memory"))?;
        let region = Region::map(file.as_fd(), bytes as u64)?;
        Ok((region, file))
    }
    /// Maps the first `bytes` of a file, which is memory. One that could be truncated is sealed, or put under guard.
    pub fn map(file: BorrowedFd<'_>, bytes: u64) -> Result<Region, RegionError> {
        let system = |what| move |error| RegionError::System(what, error);
        if bytes == 0 || bytes > SIZE_MAX {
            return Err(RegionError::Size(bytes));
        }
        let system_of_file = rustix::fs::fstatfs(file).map_err(system("look at shared memory"))?;
        // Of the word the low half is the number on all machines.
        let kind = system_of_file.f_type as u32;
        if !MEMORY.contains(&kind) {
            return Err(RegionError::NoMemory(kind));
        }
        let stat = rustix::fs::fstat(file).map_err(system("look at shared memory"))?;
        let has = u64::try_from(stat.st_size).unwrap_or(0);
        if has < bytes {
            return Err(RegionError::Short { told: bytes, has });
        }
        // Of huge pages only whole ones can be mapped; the file system's block is the page.
        let page = usize::try_from(stat.st_blksize).unwrap_or(0).max(4096);
        let (length, mapped) = (bytes as usize, (bytes as usize).next_multiple_of(page));
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), mapped, access, flags, file, 0) };
        let base = base.map_err(system("map shared memory"))?.cast();
        let mut region = Region { base, length, mapped, guard: None };
        // Sealed after it was mapped: what shrank before that is seen by the second look.
        if !(page == 4096 && is_sealed(file) && is_long_enough(file, bytes)) {
            // SAFETY: the mapping is this value's, which drops the guard before it unmaps.
            let guard = unsafe { Guarded::new(base, mapped) };
            region.guard = Some(guard.ok_or(RegionError::Unguarded)?);
        }
        Ok(region)
    }
    /// Whether the peer took the memory away. Its bytes are zeros since.
    pub fn is_lost(&self) -> bool {
        self.guard.as_ref().is_some_and(Guarded::is_lost)
    }
    /// Access to its bytes.
    #[inline(always)]
    pub fn view(&self) -> View<'_> {
        View { base: self.base, length: self.length, mapped: self.mapped, region: PhantomData }
    }
    /// The eight bytes at an offset, as a word that two processes share. None if they do not lie inside, or not at a multiple of eight.
    #[inline(always)]
    pub fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let address = self.address(offset, 8).filter(|_| offset.is_multiple_of(8))?;
        // SAFETY: inside the mapping, which this keeps, and aligned, since mappings begin at pages; others write to it by atomics, or as
        // another process.
        Some(unsafe { AtomicU64::from_ptr(address.cast()) })
    }
    /// The byte at an offset, likewise.
    #[inline(always)]
    pub fn flag(&self, offset: usize) -> Option<&AtomicU8> {
        // SAFETY: as above.
        self.address(offset, 1).map(|address| unsafe { AtomicU8::from_ptr(address) })
    }
    /// Where `length` bytes from `offset` on are, for as long as this is. None if they do not lie inside.
    pub(crate) fn address(&self, offset: usize, length: usize) -> Option<*mut u8> {
        // SAFETY: inside the mapping as is checked.
        self.view().contains(offset, length).then(|| unsafe { self.base.add(offset) })
    }
}

/// Where a region's bytes are: what loops keep in registers.
#[derive(Clone, Copy)]
pub struct View<'r> {
    base: *mut u8,
    length: usize,
    mapped: usize,
    region: PhantomData<&'r Region>,
}

impl View<'_> {
    /// The region's bytes.
    pub fn len(&self) -> usize {
        self.length
    }
    /// Whether it has none; it never has.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
    /// Whether `length` bytes from `offset` on lie inside.
    #[inline(always)]
    pub fn contains(&self, offset: usize, length: usize) -> bool {
        offset <= self.length && length <= self.length - offset
    }
    /// Copies bytes out. False, and nothing copied, if they do not lie inside.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, offset: usize, to: &mut [u8]) -> bool {
        if !self.contains(offset, to.len()) {
            return false;
        }
        // SAFETY: inside the mapping as was just checked; `to` is ours alone, so the two do not overlap.
        unsafe { copy(self.base.add(offset), to.as_mut_ptr(), to.len()) };
        // What was copied is what is looked at: nothing may be read from there a second time.
        compiler_fence(Ordering::SeqCst);
        true
    }
    /// Copies whole lines out, which may reach beyond the end up to that of the last page. False, and nothing copied, if
    /// they are not mapped.
    #[inline(always)]
    #[must_use]
    pub fn read_lines(&self, offset: usize, to: &mut [[u8; LINE]]) -> bool {
        if offset > self.mapped || to.len() * LINE > self.mapped - offset {
            return false;
        }
        if let [line] = to {
            // PERF: most packets are one line, and a loop costs as much again.
            // SAFETY: mapped as was just checked; `line` is ours alone.
            unsafe { copy_line(self.base.add(offset), line.as_mut_ptr()) };
        } else {
            for (i, line) in to.iter_mut().enumerate() {
                // SAFETY: as above.
                unsafe { copy_line(self.base.add(offset + i * LINE), line.as_mut_ptr()) };
            }
        }
        compiler_fence(Ordering::SeqCst);
        true
    }
    /// Copies bytes in. False, and nothing copied, if they do not lie inside.
    #[inline(always)]
    #[must_use]
    pub fn write(&self, offset: usize, from: &[u8]) -> bool {
        if !self.contains(offset, from.len()) {
            return false;
        }
        // SAFETY: inside the mapping as was just checked, and `from` is memory of ours.
        unsafe { copy(from.as_ptr(), self.base.add(offset), from.len()) };
        true
    }
    /// Copies whole lines in. False, and nothing copied, if they do not lie inside; or, for those that go past the caches,
    /// begin in the midst of one.
    #[inline(always)]
    #[must_use]
    pub fn write_lines(&self, offset: usize, from: &[[u8; LINE]], store: Store) -> bool {
        if !self.contains(offset, from.len() * LINE) {
            return false;
        }
        if store == Store::Streaming && !offset.is_multiple_of(LINE) {
            return false;
        }
        let put = |line: &[u8; LINE], at| {
            // SAFETY: inside the mapping as was just checked, and aligned where it matters: mappings begin at pages.
            unsafe {
                match store {
                    Store::Plain | Store::Claimed => copy_line(line.as_ptr(), self.base.add(at)),
                    Store::Streaming => stream_line(line, self.base.add(at)),
                }
            }
        };
        if let [line] = from {
            put(line, offset);
        } else {
            from.iter().enumerate().for_each(|(i, line)| put(line, offset + i * LINE));
        }
        true
    }
    /// Copies bytes in by whole lines past the caches, the last one filled up with zeros. False, and nothing copied, if
    /// these lines do not lie inside or begin in the midst of one.
    #[inline(always)]
    #[must_use]
    pub fn stream(&self, offset: usize, from: &[u8]) -> bool {
        let (lines, rest) = from.as_chunks();
        let mut last = [0; LINE];
        last[..rest.len()].copy_from_slice(rest);
        // All of it, or nothing.
        self.contains(offset, from.len().next_multiple_of(LINE))
            && self.write_lines(offset, lines, Store::Streaming)
            && (rest.is_empty() || self.write_lines(offset + lines.len() * LINE, &[last], Store::Streaming))
    }
    /// Brings the line at `offset` near, if there is one: it may be any offset.
    #[inline(always)]
    pub fn prefetch(&self, offset: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: every x86-64 processor has the instruction, which has no effect but on caches, and none where nothing
            // is mapped; the address is only calculated.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.base.wrapping_add(offset).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = offset;
    }
    /// Takes the line at `offset`, if there is one, from the core that wrote or read it last, to be written to.
    #[inline(always)]
    pub fn claim(&self, offset: usize) {
        claim_line(self.base, offset);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.mapped) };
    }
}

/// Whether the file cannot be truncated, or could be sealed so that it cannot.
fn is_sealed(file: BorrowedFd<'_>) -> bool {
    let is_sealed = || rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    is_sealed() || (rustix::fs::fcntl_add_seals(file, SealFlags::SHRINK).is_ok() && is_sealed())
}
fn is_long_enough(file: BorrowedFd<'_>, bytes: u64) -> bool {
    rustix::fs::fstat(file).is_ok_and(|stat| u64::try_from(stat.st_size).is_ok_and(|has| has >= bytes))
}

/// The regions of a connection, by their numbers.
pub struct Regions(Vec<Region>);

impl Regions {
    /// Numbers the regions by their order.
    pub fn new(regions: Vec<Region>) -> Regions {
        Regions(regions)
    }
    /// The region of this index.
    #[inline(always)]
    pub fn get(&self, index: u16) -> Option<View<'_>> {
        self.0.get(usize::from(index)).map(Region::view)
    }
    /// Where bytes of one of them are, for as long as these are. None if they do not lie inside.
    pub(crate) fn address(&self, index: u16, offset: usize, length: usize) -> Option<*mut u8> {
        self.0.get(usize::from(index))?.address(offset, length)
    }
    /// Whether the peer took any of them away.
    pub fn is_lost(&self) -> bool {
        self.0.iter().any(Region::is_lost)
    }
    /// Number of regions.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_memory(bytes: u64, flags: MemfdFlags) -> OwnedFd {
        let file = rustix::fs::memfd_create("peer", flags | MemfdFlags::CLOEXEC).expect("memfd");
        rustix::fs::ftruncate(&file, bytes).expect("size");
        file
    }

    #[test]
    fn bytes_come_back_and_nothing_outside_is_touched() {
        let (region, file) = Region::create("test", 10_000).expect("memory");
        let other = Region::map(file.as_fd(), 10_000).expect("the same");
        let (region, other) = (region.view(), other.view());
        let bytes: Vec<u8> = (0..=255).cycle().take(3000).collect();
        for length in [0, 1, 31, 63, 64, 65, 127, 128, 200, 256, 257, 3000] {
            for offset in [0, 1, 64, 7000] {
                assert!(region.write(offset, &bytes[..length]));
                let mut read = vec![0; length];
                assert!(other.read(offset, &mut read));
                assert_eq!(read, &bytes[..length]);
            }
            assert!(region.stream(4096, &bytes[..length]));
            fence_streams();
            let mut read = vec![0; length];
            assert!(other.read(4096, &mut read));
            assert_eq!(read, &bytes[..length], "streamed");
        }
        assert!(!region.write(9999, &[1, 2]) && !region.write(usize::MAX, &[1]) && !region.read(10_000, &mut [0]));
        assert!(!region.stream(1, &[1]) && !region.stream(9984, &[1]), "a line must lie inside whole");
        let mut lines = [[0; LINE]; 3];
        for store in Store::ALL {
            assert!(region.write_lines(128, &[[7; LINE], [8; LINE], [9; LINE]], store));
            fence_streams();
            assert!(other.read_lines(128, &mut lines));
            assert_eq!(lines, [[7; LINE], [8; LINE], [9; LINE]]);
            assert!(!region.write_lines(9984, &[[1; LINE]], store));
        }
        assert!(!region.write_lines(1, &[[1; LINE]], Store::Streaming));
        assert!(other.read_lines(9999, &mut lines), "of the last page all can be read");
        assert!(!other.read_lines(12_288 - 191, &mut lines) && !other.read_lines(usize::MAX, &mut lines));
    }

    #[test]
    fn words_are_shared_and_lie_inside() {
        let (region, file) = Region::create("test", 4096).expect("memory");
        let other = Region::map(file.as_fd(), 4096).expect("the same");
        region.word(4088).expect("inside").store(0x0102, Ordering::Release);
        assert_eq!(other.word(4088).expect("inside").load(Ordering::Acquire), 0x0102);
        assert_eq!(other.flag(4089).expect("inside").swap(7, Ordering::Relaxed), 1);
        assert_eq!(region.flag(4089).expect("inside").load(Ordering::Relaxed), 7);
        assert!(region.word(4096).is_none() && region.word(4).is_none() && region.word(usize::MAX - 7).is_none());
        assert!(region.flag(4096).is_none());
    }

    #[test]
    fn memory_that_is_not_as_told_is_refused() {
        let file = plain_memory(4096, MemfdFlags::ALLOW_SEALING);
        assert!(matches!(Region::map(file.as_fd(), 4097), Err(RegionError::Short { told: 4097, has: 4096 })));
        assert!(matches!(Region::map(file.as_fd(), 0), Err(RegionError::Size(0))));
        assert!(matches!(Region::map(file.as_fd(), u64::MAX), Err(RegionError::Size(_))));
    }

    #[test]
    fn a_file_that_is_no_memory_is_refused() {
        // Whoever serves its pages could have a worker wait for them.
        let file = std::fs::File::open("/proc/self/status").expect("it can be read");
        let error = Region::map(file.as_fd(), 4096).err().expect("refused");
        assert!(matches!(error, RegionError::NoMemory(_)) && error.to_string().contains("memfd"), "{error}");
    }

    #[test]
    fn memory_that_can_be_sealed_is_sealed_by_us() {
        let file = plain_memory(4096, MemfdFlags::ALLOW_SEALING);
        let region = Region::map(file.as_fd(), 4096).expect("it can be sealed");
        assert_eq!(rustix::fs::ftruncate(&file, 0), Err(Errno::PERM));
        assert!(!region.is_lost());
    }

    #[test]
    fn a_peer_that_truncates_its_memory_does_not_kill_us() {
        let file = plain_memory(1 << 20, MemfdFlags::empty());
        let region = Region::map(file.as_fd(), 1 << 20).expect("it is put under guard");
        let view = region.view();
        assert!(view.write(500_000, b"hello") && !region.is_lost());
        rustix::fs::ftruncate(&file, 0).expect("nothing forbids it");
        let mut read = [1; 5];
        assert!(view.read(500_000, &mut read), "we live");
        assert_eq!(read, [0; 5]);
        assert!(region.is_lost());
        assert!(view.write(0, b"more"), "and go on");
    }
}
