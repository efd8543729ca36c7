//! Memory of tables: reserved as address space, committed as it is needed, never moved.
//!
//! Readers keep plain pointers into it, so a table grows in place up to its limit, and what nobody has
//! written costs nothing.
#![allow(unsafe_code)]
use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

const HUGE_PAGE: usize = 2 << 20;
/// Where the system's pages are larger, what is given back in smaller ones stays.
const SMALL_PAGE: usize = 4 << 10;

/// A type that is valid as zero bytes and is shared between threads: atomics, and structures of atomics. Cells are not dropped.
pub trait Cell: zerocopy::FromZeros + Send + Sync + 'static {}
impl<T: zerocopy::FromZeros + Send + Sync + 'static> Cell for T {}

/// An array of cells that begin as zero, in reserved address space: it grows without moving, and takes no memory where nobody has
/// written.
pub struct Cells<T: Cell> {
    region: Region,
    /// Bytes that the system gives and takes at once.
    page: usize,
    committed: AtomicUsize,
    reserved: usize,
    /// Bytes that the system has to give, for tests of what happens when it has no more.
    #[cfg(test)]
    pub(crate) given_max: AtomicUsize,
    cells: PhantomData<T>,
}

impl<T: Cell> Cells<T> {
    /// Address space for `reserved` cells, of which none can be used yet. With `huge_pages`, the system is
    /// asked for transparent ones: fewer TLB misses for a large table, but two megabytes at the first touch. Without,
    /// it is asked for none, whatever it does by itself: a thousand small tables must stay small.
    ///
    /// # Errors
    /// If the system refuses the address space.
    pub fn reserve(reserved: usize, huge_pages: bool) -> io::Result<Cells<T>> {
        let bytes = (reserved * size_of::<T>()).next_multiple_of(HUGE_PAGE);
        let region = Region::reserve(bytes, huge_pages)?;
        Ok(Cells {
            region,
            page: if huge_pages { HUGE_PAGE } else { SMALL_PAGE },
            committed: AtomicUsize::new(0),
            reserved,
            #[cfg(test)]
            given_max: AtomicUsize::new(usize::MAX),
            cells: PhantomData,
        })
    }

    /// Makes at least the first `count` usable, more for whole huge pages. For the writer.
    ///
    /// # Errors
    /// If the system has no memory for them.
    pub fn commit(&self, count: usize) -> io::Result<()> {
        assert!(count <= self.reserved, "a table stays inside its reservation");
        let committed = self.committed.load(Ordering::Relaxed);
        if count * size_of::<T>() > committed {
            let end = (count * size_of::<T>()).next_multiple_of(HUGE_PAGE);
            #[cfg(test)]
            if end > self.given_max.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            self.region.commit(committed, end)?;
            self.committed.store(end, Ordering::Release);
        }
        Ok(())
    }

    /// A cell, if it is usable.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: the cell lies in the region's committed part, as in `slice`.
        (index < self.usable()).then(|| unsafe { &*self.start().add(index).as_ptr() })
    }

    /// A cell, which is made usable first. None beyond the reserved ones, or if the system has no memory. For the writer.
    #[inline(always)]
    pub fn obtain(&self, index: usize) -> Option<&T> {
        if index >= self.usable() && (index >= self.reserved || self.commit(index + 1).is_err()) {
            return None;
        }
        self.get(index)
    }

    /// Cells that are usable.
    #[inline(always)]
    pub fn usable(&self) -> usize {
        // Acquire: what is read as usable has been made so.
        self.committed.load(Ordering::Acquire) / size_of::<T>()
    }

    /// Bytes of the usable cells, of which untouched pages take no memory.
    pub fn bytes(&self) -> usize {
        self.committed.load(Ordering::Relaxed)
    }

    /// Cells per page. Memory is allocated on first touch in this unit, and [`Cells::discard`] frees this unit.
    pub(crate) fn page(&self) -> usize {
        self.page / size_of::<T>()
    }

    /// Bytes of a page.
    pub(crate) fn page_bytes(&self) -> usize {
        self.page
    }

    /// Gives a page's memory back to the system. Its cells stay valid, and are zero when they are next read. So no
    /// reader may be using them, or they must be zero already.
    pub(crate) fn discard(&self, page: usize) {
        let from = page * self.page;
        assert!(from + self.page <= self.committed.load(Ordering::Relaxed), "only committed memory is given back");
        self.region.discard(from, from + self.page);
    }

    /// The cells `start..start + len`, which must be committed.
    #[inline]
    pub(crate) fn slice(&self, start: usize, len: usize) -> &[T] {
        assert!(start.checked_add(len).is_some_and(|end| end <= self.usable()), "only committed memory is used");
        // SAFETY: the range lies in the region's committed part, which is readable, writable and zeroed, and
        // lives as long as `self`. Zero is a valid cell, and shared cells are changed by atomic access only.
        unsafe { std::slice::from_raw_parts(self.start().add(start).as_ptr(), len) }
    }

    /// Where the cells begin; valid as long as `self`.
    #[inline(always)]
    pub(crate) fn start(&self) -> NonNull<T> {
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

/// `count` values in huge pages, where these are many enough to fill some and the system gives them: fewer TLB misses for
/// what is read at random.
pub fn in_huge_pages<T>(count: usize, value: impl FnMut(usize) -> T) -> Box<[T]> {
    let mut values = room_in_huge_pages(count);
    values.extend((0..count).map(value));
    values.into()
}

/// Room for `count` values, as of [`in_huge_pages`], for a caller that makes them bit by bit.
pub fn room_in_huge_pages<T>(count: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    advise(values.spare_capacity_mut());
    values
}

/// Asks for huge pages, before anything is written, in as much of a range as whole ones fit into.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise<T>(range: &mut [std::mem::MaybeUninit<T>]) {
    use rustix::mm::{Advice, madvise};
    let range = range.as_mut_ptr_range();
    let start = range.start.addr().next_multiple_of(HUGE_PAGE);
    let end = range.end.addr() / HUGE_PAGE * HUGE_PAGE;
    if start < end {
        let first = range.start.wrapping_byte_add(start - range.start.addr());
        // SAFETY: advice about memory that is borrowed here and holds nothing yet; a refusal only costs speed.
        let _ = unsafe { madvise(first.cast(), end - start, Advice::LinuxHugepage) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise<T>(_: &mut [std::mem::MaybeUninit<T>]) {}

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
        let advice = if huge_pages { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        // SAFETY: advice about the region's own range; a refusal only costs speed, or memory.
        let _ = unsafe { madvise(start, bytes, advice) };
        Ok(region)
    }

    fn discard(&self, from: usize, to: usize) {
        use rustix::mm::{Advice, madvise};
        let start = self.start.as_ptr().wrapping_add(from).cast();
        // SAFETY: the range lies inside the region (`Cells::discard`), whose cells stay valid as zero; that nobody
        // reads what was in them is promised there. A refusal only costs memory.
        let _ = unsafe { madvise(start, to - from, Advice::LinuxDontNeed) };
    }

    fn commit(&self, from: usize, to: usize) -> io::Result<()> {
        use rustix::mm::{MprotectFlags, mprotect};
        let start = self.start.as_ptr().wrapping_add(from).cast();
        // SAFETY: the range lies inside the region (`Cells::commit`), which nothing but `Cells` refers to.
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

    fn discard(&self, _from: usize, _to: usize) {}
}

#[cfg(not(all(target_os = "linux", not(miri))))]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `reserve` with this layout.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), Region::layout(self.bytes)) };
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
impl<T: Cell> Cells<T> {
    /// Bytes of the reservation that the system has really given, by its own account (proc(5), smaps).
    pub(crate) fn resident(&self) -> usize {
        let (from, mut inside, mut kilobytes) = (self.start().as_ptr().addr(), false, 0);
        for line in std::fs::read_to_string("/proc/self/smaps").expect("Linux").lines() {
            let word = line.split(' ').next().unwrap_or_default();
            if let Some((first, _)) = word.split_once('-') {
                let first = usize::from_str_radix(first, 16).expect("an address");
                inside = (from..from + self.region.bytes).contains(&first);
            } else if inside && word == "Anonymous:" {
                let size = line.trim_start_matches("Anonymous:").trim().trim_end_matches(" kB");
                kilobytes += size.parse::<usize>().expect("kilobytes");
            }
        }
        kilobytes << 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn values_in_huge_pages_are_those_that_were_made() {
        for count in [0, 3, HUGE_PAGE / 8 - 1, 3 * HUGE_PAGE / 8 + 5] {
            let values = in_huge_pages(count, |at| at as u64 * 3);
            assert_eq!(values.len(), count);
            assert!(values.iter().enumerate().all(|(at, value)| *value == at as u64 * 3));
        }
    }

    #[test]
    fn cells_begin_as_zero_and_stay_where_they_are() {
        let cells = Cells::<AtomicU32>::reserve(3 * HUGE_PAGE / 4, false).unwrap();
        cells.commit(1).unwrap();
        let start = cells.start();
        cells.slice(7, 1)[0].store(5, Ordering::Relaxed);
        cells.commit(HUGE_PAGE / 4 + 1).unwrap();
        assert_eq!(cells.start(), start);
        assert_eq!(cells.slice(7, 1)[0].load(Ordering::Relaxed), 5);
        assert_eq!(cells.slice(HUGE_PAGE / 4, 1)[0].load(Ordering::Relaxed), 0);
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn what_is_discarded_is_no_longer_resident() {
        for huge_pages in [false, true] {
            let cells = Cells::<AtomicU32>::reserve(4 * HUGE_PAGE / 4, huge_pages).unwrap();
            cells.commit(4 * HUGE_PAGE / 4).unwrap();
            assert_eq!(cells.resident(), 0);
            let first = |page: usize| &cells.slice(page * cells.page(), 1)[0];
            (0..3).for_each(|page| first(page).store(7, Ordering::Relaxed));
            let three = cells.resident();
            assert!(three >= 3 * SMALL_PAGE, "{three}");
            cells.discard(1);
            assert_eq!(cells.resident(), three / 3 * 2, "pages of one size");
            assert_eq!([0, 1, 2].map(|page| first(page).load(Ordering::Relaxed)), [7, 0, 7]);
            cells.discard(0);
            cells.discard(2);
            assert_eq!(cells.resident(), 0);
        }
    }

    #[test]
    #[should_panic(expected = "only committed")]
    fn uncommitted_cells_are_refused() {
        let cells = Cells::<AtomicU32>::reserve(2 * HUGE_PAGE / 4, false).unwrap();
        cells.commit(1).unwrap();
        cells.slice(HUGE_PAGE / 4, 1);
    }
}
