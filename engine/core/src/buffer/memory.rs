//! The memory of the buffers: one reservation of address space, backed by pages as the pool grows.
#![allow(unsafe_code)]

use super::metadata::PacketMetadata;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes from one buffer to the next: 37 cache lines. An even number would make the first lines of all buffers compete
/// for a few cache sets.
pub const STRIDE: usize = 37 * 64;
/// Bytes of a buffer for packet data, headroom included. The engine's own part of a buffer, its header, is elsewhere:
/// where the data is shared with another process, nothing of ours lies beside it.
pub const DATA: usize = STRIDE;
/// Where drivers put the first byte of a packet, so that headers can be pushed in front.
pub const HEADROOM: usize = 128;
/// Bytes of a packet that fit behind the headroom of one buffer.
pub const SEGMENT_MAX: usize = DATA - HEADROOM;
/// The end of a chain.
pub(crate) const END: u32 = u32::MAX;

const PAGE: usize = 2 << 20;

/// Kind of the pool's pages; each step down costs speed on cold paths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Backing {
    /// 2 MB pages of the system's reserve (hugetlbfs).
    Huge,
    /// Ordinary memory that the kernel may put into 2 MB pages.
    Transparent,
    /// 4 KB pages.
    Plain,
}

/// Offload state of a packet as the driver reported it, after virtio's `virtio_net_hdr` (virtio 1.2, 5.1.6).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Offload {
    /// Bit 0: the checksum at `checksum_start + checksum_offset` is still to be computed; bit 1: it was found right.
    pub flags: u8,
    /// 0 none, 1 TCP over IPv4, 4 TCP over IPv6, 5 UDP; bit 7: with ECN.
    pub segmentation: u8,
    /// Payload bytes of each segment.
    pub segment_size: u16,
    /// Where the checksummed part begins, counted from the buffer's first byte like a frame's `offset`, so that it stays
    /// true while headers are removed and pushed. A driver adds the packet's offset on receive and subtracts it on send.
    pub checksum_start: u16,
    /// Where the checksum lies, from `checksum_start`.
    pub checksum_offset: u16,
}

/// The engine's part of a buffer. Meaningful only where a flag of the packet says so.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Header {
    /// The next buffer of a chain, or `END`; valid in chained packets.
    pub next: u32,
    /// Where a later buffer's bytes begin; the first one's offset is the packet's. Valid in chained packets.
    pub start: u16,
    /// Where this buffer's bytes end; it stays true while the packet's offset moves. Valid in chained packets.
    pub end: u16,
    pub offload: Offload,
    /// The number of a traced packet.
    pub trace: u32,
    /// Metadata of rooms and plugins.
    pub metadata: PacketMetadata,
}
const _: () = assert!(size_of::<Header>() == 64);

pub(crate) struct Memory {
    base: *mut u8,
    mapping: *mut u8,
    mapped: usize,
    /// A header for each buffer, in memory that is never shared.
    headers: *mut Header,
    /// The file that other processes map, if the buffers are shared, and its bytes.
    file: Option<(OwnedFd, u64)>,
    limit: u32,
    /// Buffers that have pages.
    count: AtomicU32,
}
// SAFETY: the struct itself is only addresses; access to a buffer goes through the methods below, whose callers own it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Reserves address space for `limit` buffers, without pages.
    pub fn reserve(limit: u32) -> Result<Memory, std::io::Error> {
        let bytes = (limit as usize * STRIDE).next_multiple_of(PAGE);
        let mapped = bytes + PAGE;
        // Miri knows no reservations: there the memory can be used at once.
        let (access, flags) = match cfg!(miri) {
            false => (ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE),
            true => (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE),
        };
        // SAFETY: a fresh private mapping at an address of the kernel's choice disturbs nothing.
        let mapping = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), mapped, access, flags)? };
        let base = mapping.cast::<u8>().map_addr(|a| a.next_multiple_of(PAGE));
        let (count, file) = (AtomicU32::new(0), None);
        let memory = |headers| Memory { base, mapping: mapping.cast(), mapped, headers, file, limit, count };
        map_headers(limit).map(memory).inspect_err(|_| {
            // SAFETY: the reservation made above, which nobody has seen.
            let _ = unsafe { rustix::mm::munmap(mapping, mapped) };
        })
    }
    /// Buffers that other processes can map, all of them backed at once: huge pages if there are enough, else plain ones.
    pub fn shared(buffers: u32) -> Result<(Memory, Backing), std::io::Error> {
        let mapped = (buffers as usize * STRIDE).next_multiple_of(PAGE);
        let huge = map_file(mapped, MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB).map(|made| (made, Backing::Huge));
        let ((file, base), backing) = match huge {
            Ok(made) => made,
            Err(_) => (map_file(mapped, MemfdFlags::empty())?, Backing::Plain),
        };
        let (limit, file) = ((mapped / STRIDE) as u32, Some((file, mapped as u64)));
        let count = AtomicU32::new(limit);
        let memory = |headers| Memory { base, mapping: base, mapped, headers, file, limit, count };
        let headers = map_headers(limit).inspect_err(|_| {
            // SAFETY: the mapping made above, which nobody has seen.
            let _ = unsafe { rustix::mm::munmap(base.cast(), mapped) };
        })?;
        Ok((memory(headers), backing))
    }
    /// The file that other processes map, and its bytes.
    pub fn file(&self) -> Option<&(OwnedFd, u64)> {
        self.file.as_ref()
    }
    pub fn limit(&self) -> u32 {
        self.limit
    }
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }
    /// Backs the first `bytes` up to what holds `buffers` in all; returns the range of new ids and what backs them.
    /// Called by one thread at a time (the pool's lock).
    pub fn back(&self, buffers: u32, best: Backing) -> Result<(std::ops::Range<u32>, Backing), std::io::Error> {
        let old = self.count();
        let backed = (old as usize * STRIDE).next_multiple_of(PAGE);
        let wanted = (buffers.min(self.limit) as usize * STRIDE).next_multiple_of(PAGE);
        let mut backing = best;
        if wanted > backed {
            backing = self.map(backed, wanted - backed, best)?;
        }
        let new = ((wanted.max(backed) / STRIDE) as u32).min(self.limit);
        self.count.store(new, Ordering::Release);
        Ok((old..new, backing))
    }
    fn map(&self, at: usize, bytes: usize, best: Backing) -> Result<Backing, std::io::Error> {
        if cfg!(miri) {
            return Ok(Backing::Plain);
        }
        // SAFETY: the range lies inside our own reservation.
        let place = unsafe { self.base.add(at) }.cast();
        if best == Backing::Huge && move_huge_pages_to(place, bytes) {
            return Ok(Backing::Huge);
        }
        // The reservation is never unmapped, not for a moment: another thread's memory would take its place.
        // SAFETY: the range is ours, and no buffer in it has been handed out.
        unsafe { rustix::mm::mprotect(place, bytes, MprotectFlags::READ | MprotectFlags::WRITE)? };
        // SAFETY: advice on our own mapping changes no contents.
        let advised = unsafe { rustix::mm::madvise(place, bytes, Advice::LinuxHugepage) };
        let granted = advised.is_ok()
            && std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
                .is_ok_and(|s| !s.contains("[never]"));
        Ok(if best <= Backing::Transparent && granted { Backing::Transparent } else { Backing::Plain })
    }
    /// The first byte of a buffer's data.
    ///
    /// # Safety
    /// `id` is below `count()`, which holds for every id that the pool hands out.
    #[inline(always)]
    pub unsafe fn data(&self, id: u32) -> *mut u8 {
        debug_assert!(id < self.count());
        // SAFETY: inside the mapping, by the contract.
        unsafe { self.base.add(id as usize * STRIDE) }
    }
    /// # Safety
    /// As `data`.
    #[inline(always)]
    pub unsafe fn header(&self, id: u32) -> *mut Header {
        debug_assert!(id < self.count());
        // SAFETY: inside the mapping, by the contract.
        unsafe { self.headers.add(id as usize) }
    }
}
fn map_headers(buffers: u32) -> Result<*mut Header, std::io::Error> {
    let (bytes, flags) = (buffers.max(1) as usize * size_of::<Header>(), MapFlags::PRIVATE | MapFlags::NORESERVE);
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh private mapping at an address of the kernel's choice disturbs nothing.
    let headers = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, access, flags)? };
    Ok(headers.cast())
}
/// Makes and maps memory that other processes can map, and that no process can truncate.
fn map_file(bytes: usize, pages: MemfdFlags) -> Result<(OwnedFd, *mut u8), std::io::Error> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | pages;
    let file = rustix::fs::memfd_create("quiver-buffers", flags)?;
    rustix::fs::ftruncate(&file, bytes as u64)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK)?;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
    let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &file, 0)? };
    Ok((file, base.cast()))
}
/// Maps huge pages where the kernel likes, then moves them into a reservation in one step. A fixed mapping of huge pages
/// that fails leaves a hole, which another thread's memory may have filled by then. False if the system has none to give.
fn move_huge_pages_to(place: *mut std::ffi::c_void, bytes: usize) -> bool {
    let huge = MapFlags::PRIVATE | MapFlags::HUGETLB | MapFlags::HUGE_2MB;
    // SAFETY: a fresh private mapping at an address of the kernel's choice disturbs nothing.
    let mapped =
        unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, huge) };
    let Ok(mapped) = mapped else { return false };
    // SAFETY: the source is the mapping just made, the target a part of the caller's reservation.
    let moved = unsafe { rustix::mm::mremap_fixed(mapped, bytes, bytes, MremapFlags::MAYMOVE, place) };
    if moved.is_err() {
        // SAFETY: the mapping just made, which nobody has seen.
        let _ = unsafe { rustix::mm::munmap(mapped, bytes) };
    }
    moved.is_ok()
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the last handle to it is going away.
        let _ = unsafe { rustix::mm::munmap(self.mapping.cast(), self.mapped) };
        let headers = self.limit.max(1) as usize * size_of::<Header>();
        // SAFETY: as above.
        let _ = unsafe { rustix::mm::munmap(self.headers.cast(), headers) };
    }
}
