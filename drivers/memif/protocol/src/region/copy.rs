//! Copies between our memory and a region's, and what helps caches with them.
#![allow(unsafe_code)]

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Copies bytes; packets are mostly short, and a call for each would cost more than the copy.
///
/// # Safety
/// Both ranges are valid and do not overlap. The other process may write to its one meanwhile.
#[inline(always)]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    if !(LINE..=4 * LINE).contains(&length) {
        // SAFETY: by the contract, and each length is that of its arm.
        return unsafe {
            match length {
                32..LINE => copy_ends::<32>(from, to, length),
                16..32 => copy_ends::<16>(from, to, length),
                _ => std::ptr::copy_nonoverlapping(from, to, length),
            }
        };
    }
    let mut at = 0;
    while at + LINE < length {
        // SAFETY: `at + LINE` is within the length.
        unsafe { copy_line(from.add(at), to.add(at)) };
        at += LINE;
    }
    // The last line may overlap the one before.
    // SAFETY: the length is at least a line.
    unsafe { copy_line(from.add(length - LINE), to.add(length - LINE)) };
}
/// The first and the last so many bytes, which overlap or meet.
///
/// # Safety
/// As `copy`, for a length of `N` to twice that.
#[inline(always)]
unsafe fn copy_ends<const N: usize>(from: *const u8, to: *mut u8, length: usize) {
    for at in [0, length - N] {
        // SAFETY: by the contract; unaligned on both sides.
        unsafe { to.add(at).cast::<[u8; N]>().write_unaligned(from.add(at).cast::<[u8; N]>().read_unaligned()) };
    }
}
/// # Safety
/// As `copy`, for one line.
#[inline(always)]
pub(super) unsafe fn copy_line(from: *const u8, to: *mut u8) {
    // SAFETY: by the contract; unaligned on both sides.
    unsafe { to.cast::<[u8; LINE]>().write_unaligned(from.cast::<[u8; LINE]>().read_unaligned()) };
}
/// # Safety
/// `to` is valid for a line and aligned to one.
#[inline(always)]
pub(crate) unsafe fn stream_line(from: &[u8; LINE], to: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        for i in 0..4 {
            // SAFETY: every x86-64 processor has SSE2; four times 16 bytes are a line, and `to` is aligned.
            unsafe {
                let part = _mm_loadu_si128(from.as_ptr().cast::<__m128i>().add(i));
                _mm_stream_si128(to.cast::<__m128i>().add(i), part);
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: by the contract.
    unsafe {
        copy_line(from.as_ptr(), to)
    };
}
/// Takes a line from the core that wrote or read it last, to be written to.
///
/// PERF: a store to a line that another core has read waits until it has given it up, and all stores behind it wait, too.
/// It may be anywhere.
#[inline(always)]
pub(crate) fn claim_line(base: *const u8, offset: usize) {
    // By its name, since the intrinsic is a plain prefetch where the compiler is not told that the processor has this one;
    // those that have it not do nothing (Intel SDM, volume 2, PREFETCHW; it is in the first x86-64 processors of AMD).
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it has no effect but on caches, and none where nothing is mapped.
    unsafe {
        std::arch::asm!("prefetchw [{} + {}]", in(reg) base.addr(), in(reg) offset, options(nomem, nostack, preserves_flags))
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (base, offset);
}
/// Makes what was streamed visible before anything that is stored from now on.
#[inline(always)]
pub fn fence_streams() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, which has no effect but on order.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}
