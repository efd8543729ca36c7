//! The buckets of a directory, by number.
use super::bucket::Bucket;
use std::io;

/// A number of buckets, which begin as empty. They lie in address space that gets huge pages as buckets are first written, so that a large
/// directory is there at once.
#[cfg(not(loom))]
pub(super) struct Buckets {
    cells: crate::Cells<Bucket>,
    count: usize,
}

#[cfg(not(loom))]
impl Buckets {
    pub fn new(count: usize) -> io::Result<Buckets> {
        let cells = crate::Cells::reserve(count, true)?;
        cells.commit(count)?;
        Ok(Buckets { cells, count })
    }
    /// The number of buckets.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count
    }
    /// A bucket.
    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&Bucket> {
        self.cells.get(number as usize)
    }
    /// Where a bucket is, to be fetched.
    #[inline(always)]
    pub fn address(&self, number: u32) -> *const Bucket {
        self.cells.start().as_ptr().wrapping_add(number as usize)
    }
}

/// The model has atomics of its own, which do not begin as zero bytes.
#[cfg(loom)]
pub(super) struct Buckets(Box<[Bucket]>);

#[cfg(loom)]
impl Buckets {
    pub fn new(count: usize) -> io::Result<Buckets> {
        Ok(Buckets((0..count).map(|_| Bucket::new()).collect()))
    }
    pub fn len(&self) -> usize {
        self.0.len()
    }
    pub fn get(&self, number: u32) -> Option<&Bucket> {
        self.0.get(number as usize)
    }
    pub fn address(&self, number: u32) -> *const Bucket {
        self.0.as_ptr().wrapping_add(number as usize)
    }
}

#[cfg(all(test, not(loom)))]
impl Buckets {
    pub fn iter(&self) -> impl Iterator<Item = &Bucket> {
        (0..self.count as u32).filter_map(|number| self.get(number))
    }
}
