//! Flow hashing of both families: the key of a flow, and the mixing of words.

use std::ops::{BitXor, Shl, Shr};

/// Fields of one packet, or of eight, that may be part of the flow key. Fields that a packet does not have are 0.
#[derive(Clone, Copy, Debug)]
pub struct FlowKey<W> {
    /// The words of the sender's address.
    pub source: [W; 4],
    /// Those of the receiver's.
    pub destination: [W; 4],
    /// The sender's port, and the receiver's.
    pub ports: [W; 2],
    /// The protocol.
    pub protocol: W,
    /// The flow label.
    pub label: W,
    /// The tunnel's number.
    pub tunnel: W,
}

/// A mask that keeps a word, or makes nothing of it.
pub(crate) const fn kept(is_kept: bool) -> u32 {
    if is_kept { !0 } else { 0 }
}

/// Mixes words into one whose low four bits depend on all their bits: by adding and shifting, since lanes have no
/// multiplication (after Jenkins' one-at-a-time). `add` wraps around.
#[inline(always)]
pub(super) fn mix<W, const N: usize>(words: [W; N], add: impl Fn(W, W) -> W) -> W
where
    W: Copy + BitXor<Output = W> + Shl<u32, Output = W> + Shr<u32, Output = W>,
{
    let mut h = words[0];
    for word in &words[1..] {
        h = add(h, h << 10);
        h = add(h ^ (h >> 6), *word);
    }
    finish(h, add)
}

/// Makes the low four bits depend on all.
#[inline(always)]
fn finish<W>(mut h: W, add: impl Fn(W, W) -> W) -> W
where
    W: Copy + BitXor<Output = W> + Shl<u32, Output = W> + Shr<u32, Output = W>,
{
    h = add(h, h << 10);
    h = h ^ (h >> 6);
    h = add(h, h << 3);
    h = h ^ (h >> 11);
    h = h ^ (h >> 20);
    h ^ (h >> 8) ^ (h >> 4)
}

/// The same of all words of a key.
pub(crate) fn mix_all<W>(words: &[W; 14], add: impl Fn(W, W) -> W) -> W
where
    W: Copy + BitXor<Output = W> + Shl<u32, Output = W> + Shr<u32, Output = W>,
{
    let mut h = words[0];
    for word in &words[1..] {
        h = add(h, h << 10);
        h = add(h ^ (h >> 6), *word);
    }
    finish(h, add)
}

#[cfg(test)]
pub(super) mod tests {
    /// Asserts that the hashes of 16,000 flows, each a little different from the one before, fall evenly into 16 buckets.
    pub fn assert_even(way: &str, hash: impl Fn(u32) -> u32) {
        let mut counts = [0; 16];
        (0..16_000).for_each(|i| counts[hash(i) as usize % 16] += 1);
        let (least, most) = (counts.iter().min().expect("sixteen"), counts.iter().max().expect("sixteen"));
        assert!(*least > 700 && *most < 1300, "{way}: {least} to {most} of 1000");
    }
}
