//! Tags of a bucket's slots, compared all at once.
#![allow(unsafe_code)]

pub(super) use imp::Tags;

/// Slots of a bucket: a line of them. The model of loom needs few.
pub(super) const SLOTS: usize = if cfg!(loom) { 2 } else { 8 };

/// A slot's tag is in the bits of its word from here on.
pub(super) const TAG_SHIFT: u32 = 48;

/// PERF: with SSE2, 11 instructions for a bucket in place of 50.
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
mod imp {
    use std::arch::asm;
    use std::arch::x86_64::*;

    use crate::directory::tags::SLOTS;
    use crate::sync::AtomicU64;

    /// The tags of eight slots, in their order.
    #[derive(Clone, Copy)]
    pub struct Tags(__m128i);

    impl Tags {
        /// The tags of words, which are their upper 16 bits.
        #[inline(always)]
        pub fn of(words: &[AtomicU64; SLOTS]) -> Tags {
            // SAFETY: each x86-64 CPU has SSE2.
            Tags(unsafe { packed(words) })
        }
        /// The slots with a tag, a bit each.
        #[inline(always)]
        pub fn equal(self, tag: u16) -> u32 {
            Tags::equal_of_both([self; 2], tag) & 0xff
        }
        /// The same of two buckets, those of the second behind those of the first.
        #[inline(always)]
        pub fn equal_of_both([first, second]: [Tags; 2], tag: u16) -> u32 {
            // SAFETY: each x86-64 CPU has SSE2.
            unsafe { equal(first.0, second.0, tag) }
        }
    }

    /// The words, two by two, that other threads may write meanwhile: each is as it was at one moment.
    #[target_feature(enable = "sse2")]
    #[inline]
    fn pairs(words: &[AtomicU64; SLOTS]) -> [__m128i; 4] {
        let (a, b, c, d): (__m128i, __m128i, __m128i, __m128i);
        // SAFETY: all eight words are there. The loads are the program's and not the compiler's, so they may meet stores of other threads;
        // on x86 each aligned word of them is read at once, and no load passes an earlier locked instruction.
        unsafe {
            asm!(
                "movdqu {a}, [{words}]",
                "movdqu {b}, [{words} + 16]",
                "movdqu {c}, [{words} + 32]",
                "movdqu {d}, [{words} + 48]",
                words = in(reg) words,
                a = out(xmm_reg) a,
                b = out(xmm_reg) b,
                c = out(xmm_reg) c,
                d = out(xmm_reg) d,
                options(nostack, preserves_flags, readonly),
            );
        }
        [a, b, c, d]
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn packed(words: &[AtomicU64; SLOTS]) -> __m128i {
        let [a, b, c, d] = pairs(words).map(|pair| _mm_castsi128_ps(pair));
        // The upper halves of four words, and of those the upper halves: by a signed shift, so that nothing saturates.
        let four = |low, high| _mm_srai_epi32::<16>(_mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(low, high)));
        _mm_packs_epi32(four(a, b), four(c, d))
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn equal(first: __m128i, second: __m128i, tag: u16) -> u32 {
        let tag = _mm_set1_epi16(tag as i16);
        let [first, second] = [first, second].map(|tags| _mm_cmpeq_epi16(tags, tag));
        _mm_movemask_epi8(_mm_packs_epi16(first, second)) as u32
    }
}

#[cfg(not(all(target_arch = "x86_64", not(any(loom, miri)))))]
mod imp {
    use crate::directory::tags::{SLOTS, TAG_SHIFT};
    use crate::sync::{AtomicU64, Ordering};

    /// The tags of a bucket's slots, in their order.
    #[derive(Clone, Copy)]
    pub struct Tags([u16; SLOTS]);

    impl Tags {
        /// The tags of words, which are their upper 16 bits.
        pub fn of(words: &[AtomicU64; SLOTS]) -> Tags {
            Tags(std::array::from_fn(|slot| (words[slot].load(Ordering::SeqCst) >> TAG_SHIFT) as u16))
        }
        /// The slots with a tag, a bit each.
        pub fn equal(self, tag: u16) -> u32 {
            (0..SLOTS).fold(0, |slots, slot| slots | u32::from(self.0[slot] == tag) << slot)
        }
        /// The same of two buckets, those of the second behind those of the first.
        pub fn equal_of_both([first, second]: [Tags; 2], tag: u16) -> u32 {
            first.equal(tag) | second.equal(tag) << SLOTS
        }
    }
}
