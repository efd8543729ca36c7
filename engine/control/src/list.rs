//! Lists of which no part is ever large. A vector that grows moves all its items in one go: of a million, that takes longer than a turn
//! of the control thread may.

/// Items of a part.
const PART: usize = 1024;

/// A list in parts.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T> {
    /// All but the last one are full.
    parts: Vec<Vec<T>>,
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List { parts: Vec::new() }
    }
}

impl<T> List<T> {
    /// Appends an item.
    pub fn push(&mut self, item: T) {
        match self.parts.last_mut() {
            Some(part) if part.len() < PART => part.push(item),
            _ => self.parts.push(vec![item]),
        }
    }
    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
    /// Number of items.
    pub fn len(&self) -> usize {
        self.parts.split_last().map_or(0, |(last, full)| full.len() * PART + last.len())
    }
    /// The item of this number.
    pub fn get(&self, number: usize) -> Option<&T> {
        self.parts.get(number / PART)?.get(number % PART)
    }
    /// The items in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flatten()
    }
    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.parts.iter_mut().flatten()
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> List<T> {
        let mut list = List::default();
        for item in items {
            list.push(item);
        }
        list
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<T>>>;
    fn into_iter(self) -> Self::IntoIter {
        self.parts.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_and_no_part_is_large() {
        for count in [0, 1, PART - 1, PART, PART + 1, 10 * PART] {
            let mut list: List<usize> = (0..count).collect();
            assert!(list.parts.iter().all(|part| part.capacity() <= PART));
            assert_eq!((list.is_empty(), list.len(), list.get(count)), (count == 0, count, None));
            assert_eq!(count.checked_sub(1).map(|last| list.get(last)), count.checked_sub(1).as_ref().map(Some));
            list.iter_mut().for_each(|item| *item += 1);
            assert!(list.iter().copied().eq(1..count + 1));
            assert!(list.into_iter().eq(1..count + 1));
        }
    }
}
