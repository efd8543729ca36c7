//! The ring: memory shared with the kernel, in frames that belong to either side.
#![allow(unsafe_code)]

use std::io::Error;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::frame::STATUS;

/// Bytes of a frame. A packet of the usual MTU fits in with its headers; longer ones are read from the socket.
pub const FRAME: usize = 2048;
/// Frames in a ring.
pub const FRAMES: usize = 4096;
/// Bytes that the kernel allocates at once.
pub const BLOCK: usize = 256 << 10;
const BYTES: usize = FRAME * FRAMES;
const _: () = assert!(BLOCK.is_multiple_of(FRAME) && BYTES.is_multiple_of(BLOCK));

/// A mapped ring, read frame by frame.
pub struct Ring {
    base: *mut u8,
    /// The frame that the kernel hands over next, or has.
    current: usize,
}
// SAFETY: the mapping belongs to this value alone, and the kernel's side of it is synchronised by the frames' status.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring that was set up on a socket.
    pub fn map(socket: &OwnedFd) -> Result<Ring, Error> {
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a fresh mapping at an address of the kernel's choice; the kernel refuses a length that is not the ring's.
        let base = unsafe { mmap(std::ptr::null_mut(), BYTES, read_write, shared, socket, 0)? };
        Ok(Ring { base: base.cast(), current: 0 })
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: `current` is below `FRAMES`, so this lies inside the mapping, which lives as long as `self`; frames begin
        // at multiples of `FRAME`, so it is aligned; the kernel writes it, too, which is what atomics are for.
        unsafe { AtomicU32::from_ptr(self.base.add(self.current * FRAME + STATUS).cast()) }
    }

    /// The current frame, if the kernel has handed it over.
    pub fn frame(&self) -> Option<&[u8]> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: inside the mapping as above. The kernel writes to the frame only after `release`, for which the caller
        // must have given up the slice.
        Some(unsafe { std::slice::from_raw_parts(self.base.add(self.current * FRAME), FRAME) })
    }

    /// Gives the current frame back to the kernel, and goes to the next.
    pub fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.current = (self.current + 1) % FRAMES;
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        let _ = unsafe { munmap(self.base.cast(), BYTES) };
    }
}
