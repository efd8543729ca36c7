//! A node's shape, in one word: how far to shift an address, and how many words there are to choose from.
//!
//! Bits 0 to 6 are the shift, bits 8 to 15 the number of words without the fallback. In bits 16 to 31 the writer counts the
//! routes whose words these are.

/// Bits of an address that a node for few routes decides about.
pub(super) const STRIDE: u8 = 3;
/// Cells of memory in a block, which is half a cache line.
pub(super) const BLOCK_CELLS: usize = 4;
/// Where a node's words begin, in halves of cells: behind the key's four, and the shape.
pub(super) const WORDS: usize = 5;

/// Bits of the shift.
const SHIFT: u32 = 0x7f;
/// Where the number of words begins.
const CHOICES: u32 = 8;
/// Where the writer's count begins.
pub(super) const COUNT: u32 = 16;

/// The kinds of nodes, by the blocks that they take: tails, narrow and wide nodes.
pub(super) const SIZES: &[u32] = &[1, 2, 10];

/// A node without routes that decides about `stride` bits behind the first `start` ones.
pub(super) fn new(start: u8, stride: u8) -> u32 {
    u32::from(128 - start - stride) | 1 << (stride + CHOICES as u8)
}

/// Number of words without the fallback, which follows them.
#[inline(always)]
pub(super) fn choices(shape: u32) -> usize {
    (shape >> CHOICES & 0xff) as usize
}

/// Shift of an address.
#[inline(always)]
pub(super) fn shift(shape: u32) -> u32 {
    shape & SHIFT
}

/// The shape of a node with nothing but a fallback, which decides within the first half, as most do.
pub(super) const NOTHING: u32 = 64;

/// Which of a node's words is for an address: the fallback if it does not have the key's bits. The key is given by halves; it has zeros
/// where the node decides, and behind.
#[inline(always)]
pub(super) fn index(shape: u32, first: u64, second: impl FnOnce() -> u64, address: u128) -> usize {
    let differs = (address >> 64) as u64 ^ first;
    // PERF: only nodes that decide behind bit 64 need the second half, and twice as many instructions.
    let behind = match shift(shape).checked_sub(64) {
        Some(by) => differs >> by,
        None => {
            let all = (u128::from(differs) << 64 | u128::from(address as u64 ^ second())) >> shift(shape);
            if all >> 64 == 0 { all as u64 } else { u64::MAX }
        }
    };
    behind.min(choices(shape) as u64) as usize
}

/// The index of its size.
pub(super) fn size(shape: u32) -> usize {
    (choices(shape).ilog2() / u32::from(STRIDE)) as usize
}

/// Cells of memory of a node.
pub(super) fn cells(shape: u32) -> usize {
    SIZES[size(shape)] as usize * BLOCK_CELLS
}
