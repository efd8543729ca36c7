//! Rows by number in pages: a copy shares all pages but those that are changed in it.
//!
//! For tables that control publishes as snapshots: a change of one row copies its page, the list of 32 pages that it is in, and the
//! list of these lists, however many rows there are. Workers find a row by three loads.

use std::sync::Arc;

/// Rows of a page, where rows are small. A change copies a page, so tables with large rows have fewer of them in each.
pub const PAGE: usize = 256;

/// Pages whose list is shared or copied as one. PERF: a copy counts each page's users, and so does its end; most tables have a few
/// pages.
const PAGES: usize = 32;

type Page<T, const ROWS: usize> = Arc<[T; ROWS]>;

/// The rows. Those that were never set have the default value.
#[derive(Debug)]
pub struct Paged<T, const ROWS: usize = PAGE> {
    /// Lists of pages. Places behind the last page have a blank one: a reader need not ask whether there is one.
    lists: Vec<Arc<[Page<T, ROWS>; PAGES]>>,
    pages: usize,
}

impl<T, const ROWS: usize> Default for Paged<T, ROWS> {
    fn default() -> Paged<T, ROWS> {
        Paged { lists: vec![], pages: 0 }
    }
}

impl<T, const ROWS: usize> Clone for Paged<T, ROWS> {
    fn clone(&self) -> Paged<T, ROWS> {
        Paged { lists: self.lists.clone(), pages: self.pages }
    }
}

impl<T, const ROWS: usize> Paged<T, ROWS> {
    /// A row; None far beyond the last one that was set.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Option<&T> {
        Some(&self.page(row)?[row % ROWS])
    }
    /// The page that a row is in. A caller that looks up many rows of one page saves two loads for each.
    #[inline(always)]
    pub fn page(&self, row: usize) -> Option<&[T; ROWS]> {
        Some(&self.lists.get(row / (PAGES * ROWS))?[row / ROWS % PAGES])
    }
    /// All rows, used or not.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.lists.iter().flat_map(|list| list.iter()).take(self.pages).flat_map(|page| page.iter())
    }
    /// Rows there are, used or not: whole pages.
    pub fn capacity(&self) -> usize {
        self.pages * ROWS
    }
}

impl<T: Clone + Default, const ROWS: usize> Paged<T, ROWS> {
    /// A row to be changed. Its page is copied if another copy of the rows has it, too.
    pub fn get_mut(&mut self, row: usize) -> &mut T {
        self.reach(row / ROWS);
        let list = Arc::make_mut(&mut self.lists[row / (PAGES * ROWS)]);
        &mut Arc::make_mut(&mut list[row / ROWS % PAGES])[row % ROWS]
    }
    /// Grows the table up to this page. New pages share one blank page until they are changed.
    fn reach(&mut self, page: usize) {
        if page >= self.lists.len() * PAGES {
            let blank: Page<T, ROWS> = Arc::new(std::array::from_fn(|_| T::default()));
            let lists = page / PAGES + 1 - self.lists.len();
            self.lists.extend(std::iter::repeat_n(Arc::new(std::array::from_fn(|_| blank.clone())), lists));
        }
        self.pages = self.pages.max(page + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_copy_keeps_its_rows_whatever_happens_to_others(
            changes in prop::collection::vec((0usize..20_000, 1u32..), 1..50),
            more in prop::collection::vec((0usize..40_000, 1u32..), 1..50),
        ) {
            let (mut first, mut naive) = (Paged::<u32>::default(), vec![0; 40_960]);
            for (row, value) in changes {
                *first.get_mut(row) = value;
                naive[row] = value;
            }
            let (mut second, kept) = (first.clone(), naive.clone());
            for (row, value) in more {
                *second.get_mut(row) = value;
                naive[row] = value;
            }
            for row in 0..40_960 {
                prop_assert_eq!(first.get(row).copied().unwrap_or(0), kept[row]);
                prop_assert_eq!(second.get(row).copied().unwrap_or(0), naive[row]);
            }
        }
    }

    #[test]
    fn pages_may_have_fewer_rows() {
        let mut rows = Paged::<u64, 16>::default();
        *rows.get_mut(100) = 1;
        let before = rows.clone();
        *rows.get_mut(80) = 2;
        let differing =
            (0..7).filter(|page| !std::ptr::eq(rows.page(page * 16).unwrap(), before.page(page * 16).unwrap()));
        assert_eq!(differing.collect::<Vec<_>>(), [5]);
        assert_eq!((rows.capacity(), rows.get(100), rows.get(80), before.get(80)), (112, Some(&1), Some(&2), Some(&0)));
        assert_eq!((rows.get(PAGES * 16 - 1), rows.get(PAGES * 16)), (Some(&0), None));
    }

    #[test]
    fn a_change_copies_one_page() {
        let mut rows = Paged::<u64>::default();
        *rows.get_mut(10 * PAGE) = 1;
        let before = rows.clone();
        *rows.get_mut(3 * PAGE + 7) = 2;
        let differing =
            (0..11).filter(|page| !std::ptr::eq(rows.page(page * PAGE).unwrap(), before.page(page * PAGE).unwrap()));
        assert_eq!(differing.collect::<Vec<_>>(), [3]);
        assert_eq!((rows.capacity(), rows.iter().count(), rows.get(64 * PAGE)), (11 * PAGE, 11 * PAGE, None));
        *rows.get_mut(200 * PAGE) = 3;
        assert_eq!((rows.get(10 * PAGE), rows.iter().position(|row| *row == 3)), (Some(&1), Some(200 * PAGE)));
    }
}
