//! The ring: memory shared with the kernel, in blocks that belong to either side.
#![allow(unsafe_code)]

use std::io::Error;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::block::STATUS;

/// Bytes of a block. The longest packet that Linux hands over, 64 KB, must fit with all headers.
pub const BLOCK: usize = 256 << 10;
/// Blocks in a ring.
pub const BLOCKS: usize = 32;
/// The smallest of a block's parts, of which Linux wants to know how many there could be.
pub const PART: usize = 2048;

/// A mapped ring, read block by block.
pub struct Ring {
    base: *mut u8,
    /// The block that the kernel hands over next, or has.
    current: usize,
}
// SAFETY: the mapping belongs to this value alone, and the kernel's side of it is synchronised by the blocks' status.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring that was set up on a socket.
    pub fn map(socket: &OwnedFd) -> Result<Ring, Error> {
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a fresh mapping at an address of the kernel's choice; the kernel refuses a length that is not the ring's.
        let base = unsafe { mmap(std::ptr::null_mut(), BLOCK * BLOCKS, read_write, shared, socket, 0)? };
        Ok(Ring { base: base.cast(), current: 0 })
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: `current` is below `BLOCKS`, so this lies inside the mapping, which lives as long as `self`; blocks begin
        // at pages, so it is aligned; the kernel writes it, too, which is what atomics are for.
        unsafe { AtomicU32::from_ptr(self.base.add(self.current * BLOCK + STATUS).cast()) }
    }

    /// The current block, if the kernel has handed it over.
    pub fn block(&self) -> Option<&[u8]> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: inside the mapping as above. The kernel writes to the block only after `release`, for which the caller
        // must have given up the slice.
        Some(unsafe { std::slice::from_raw_parts(self.base.add(self.current * BLOCK), BLOCK) })
    }

    /// Gives the current block back to the kernel, and goes to the next.
    pub fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.current = (self.current + 1) % BLOCKS;
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        let _ = unsafe { munmap(self.base.cast(), BLOCK * BLOCKS) };
    }
}
