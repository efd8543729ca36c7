//! Rows by number in pages: a copy shares all pages but those that are changed in it.
//!
//! For tables that control publishes as snapshots: a change of one row costs one page and a list of pages, however many
//! rows there are, and workers still find a row by two loads.

use std::sync::Arc;

/// Rows of a page.
pub const PAGE: usize = 256;

/// The rows. Those that were never set have the default value.
#[derive(Clone, Debug)]
pub struct Paged<T>(Vec<Arc<[T; PAGE]>>);

impl<T> Default for Paged<T> {
    fn default() -> Paged<T> {
        Paged(vec![])
    }
}

impl<T> Paged<T> {
    /// A row; None beyond the last page.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Option<&T> {
        Some(&self.page(row)?[row % PAGE])
    }
    /// The page that a row is in. Whoever looks up many rows of one page saves a load for each.
    #[inline(always)]
    pub fn page(&self, row: usize) -> Option<&[T; PAGE]> {
        self.0.get(row / PAGE).map(|page| &**page)
    }
    /// All rows, used or not.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flat_map(|page| page.iter())
    }
    /// Rows there are, used or not: whole pages.
    pub fn capacity(&self) -> usize {
        self.0.len() * PAGE
    }
}

impl<T: Clone + Default> Paged<T> {
    /// A row to be changed. Its page is copied if another copy of the rows has it, too.
    pub fn get_mut(&mut self, row: usize) -> &mut T {
        while self.0.len() <= row / PAGE {
            self.0.push(Arc::new(std::array::from_fn(|_| T::default())));
        }
        &mut Arc::make_mut(&mut self.0[row / PAGE])[row % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_copy_keeps_its_rows_whatever_happens_to_others(
            changes in prop::collection::vec((0usize..2000, 1u32..), 1..50),
            more in prop::collection::vec((0usize..3000, 1u32..), 1..50),
        ) {
            let (mut first, mut naive) = (Paged::default(), vec![0; 4096]);
            for (row, value) in changes {
                *first.get_mut(row) = value;
                naive[row] = value;
            }
            let (mut second, kept) = (first.clone(), naive.clone());
            for (row, value) in more {
                *second.get_mut(row) = value;
                naive[row] = value;
            }
            for row in 0..4096 {
                prop_assert_eq!(first.get(row).copied().unwrap_or(0), kept[row]);
                prop_assert_eq!(second.get(row).copied().unwrap_or(0), naive[row]);
            }
        }
    }

    #[test]
    fn a_change_copies_one_page() {
        let mut rows = Paged::<u64>::default();
        *rows.get_mut(10 * PAGE) = 1;
        let before = rows.clone();
        *rows.get_mut(3 * PAGE + 7) = 2;
        let differing = (0..11).filter(|page| !Arc::ptr_eq(&rows.0[*page], &before.0[*page]));
        assert_eq!(differing.collect::<Vec<_>>(), [3]);
        assert_eq!((rows.capacity(), rows.iter().count(), rows.get(11 * PAGE)), (11 * PAGE, 11 * PAGE, None));
    }
}
