//! Memory of tables: reserved as address space, committed as it is needed, never moved.
//!
//! Readers keep plain pointers into it, so a table grows in place up to its limit, and what nobody has
//! written costs nothing.
#![allow(unsafe_code)]
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

const HUGE_PAGE: usize = 2 << 20;

/// Words that begin as zero.
pub(crate) struct Words {
    region: Region,
    committed: AtomicUsize,
    reserved: usize,
}

impl Words {
    /// Address space for `reserved` words, of which none can be used yet. With `huge_pages`, the system is
    /// asked for transparent ones: fewer TLB misses for a large table, but two megabytes at the first touch.
    pub(crate) fn reserve(reserved: usize, huge_pages: bool) -> io::Result<Words> {
        let bytes = (reserved * 4).next_multiple_of(HUGE_PAGE);
        Ok(Words { region: Region::reserve(bytes, huge_pages)?, committed: AtomicUsize::new(0), reserved })
    }

    /// Makes at least the first `words` usable. For the writer.
    pub(crate) fn commit(&self, words: usize) -> io::Result<()> {
        assert!(words <= self.reserved, "a table stays inside its reservation");
        let committed = self.committed.load(Ordering::Relaxed);
        if words > committed {
            let end = (words * 4).next_multiple_of(HUGE_PAGE);
            self.region.commit(committed * 4, end)?;
            self.committed.store(end / 4, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The words `start..start + len`, which must be committed.
    pub(crate) fn slice(&self, start: usize, len: usize) -> &[AtomicU32] {
        assert!(start.checked_add(len).is_some_and(|end| end <= self.committed.load(Ordering::Relaxed)));
        // SAFETY: the range lies in the region's committed part, which is readable, writable and zeroed, and
        // lives as long as `self`. All access is atomic.
        unsafe { std::slice::from_raw_parts(self.start().add(start).as_ptr(), len) }
    }

    /// Where the words begin; valid as long as `self`.
    #[inline(always)]
    pub(crate) fn start(&self) -> NonNull<AtomicU32> {
        self.region.start.cast()
    }
}

/// Asks the cache for the line at `address`, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no effect on memory and does not fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// A range of addresses that this value owns.
struct Region {
    start: NonNull<u8>,
    bytes: usize,
}
// SAFETY: it owns its memory, whatever the thread.
unsafe impl Send for Region {}
// SAFETY: shared, it only gives out addresses, and `commit` is a system call that changes no contents.
unsafe impl Sync for Region {}

#[cfg(all(target_os = "linux", not(miri)))]
impl Region {
    fn reserve(bytes: usize, huge_pages: bool) -> io::Result<Region> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let whole = bytes + HUGE_PAGE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), whole, ProtFlags::empty(), flags) }?;
        let before = mapped.addr().next_multiple_of(HUGE_PAGE) - mapped.addr();
        let after = HUGE_PAGE - before;
        let start = mapped.wrapping_byte_add(before);
        // SAFETY: both ends were mapped above, and nothing refers to them.
        unsafe {
            if before > 0 {
                munmap(mapped, before)?;
            }
            munmap(start.wrapping_byte_add(bytes), after)?;
        }
        let region = Region { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, bytes };
        if huge_pages {
            // SAFETY: advice about the region's own range; a refusal only costs speed.
            let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
        }
        Ok(region)
    }

    fn commit(&self, from: usize, to: usize) -> io::Result<()> {
        use rustix::mm::{MprotectFlags, mprotect};
        let start = self.start.as_ptr().wrapping_add(from).cast();
        // SAFETY: the range lies inside the region (`Words::commit`), which nothing but `Words` refers to.
        unsafe { mprotect(start, to - from, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        Ok(())
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the region is mapped, and with its owner the last reference into it has gone.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Elsewhere, and under Miri, which knows no reservations: from the allocator.
#[cfg(not(all(target_os = "linux", not(miri))))]
impl Region {
    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes, 4096).expect("a table's size is far below isize::MAX")
    }

    fn reserve(bytes: usize, _huge_pages: bool) -> io::Result<Region> {
        // SAFETY: the layout is not empty: sizes are rounded up to a huge page.
        let start = unsafe { std::alloc::alloc_zeroed(Region::layout(bytes.max(HUGE_PAGE))) };
        Ok(Region { start: NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?, bytes: bytes.max(HUGE_PAGE) })
    }

    fn commit(&self, _from: usize, _to: usize) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `reserve` with this layout.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), Region::layout(self.bytes)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_as_zero_and_stay_where_they_are() {
        let words = Words::reserve(3 * HUGE_PAGE / 4, false).unwrap();
        words.commit(1).unwrap();
        let start = words.start();
        words.slice(7, 1)[0].store(5, Ordering::Relaxed);
        words.commit(HUGE_PAGE / 4 + 1).unwrap();
        assert_eq!(words.start(), start);
        assert_eq!(words.slice(7, 1)[0].load(Ordering::Relaxed), 5);
        assert_eq!(words.slice(HUGE_PAGE / 4, 1)[0].load(Ordering::Relaxed), 0);
    }

    #[test]
    #[should_panic]
    fn uncommitted_words_are_refused() {
        let words = Words::reserve(2 * HUGE_PAGE / 4, false).unwrap();
        words.commit(1).unwrap();
        words.slice(HUGE_PAGE / 4, 1);
    }
}
