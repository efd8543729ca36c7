//! The lowest free number of what has numbers of its own.

use std::cell::Cell;

/// Remembers below which number none is free, so that to find one among very many takes no longer than among few.
#[derive(Debug, Default)]
pub struct LowestFree(Cell<u32>);

impl LowestFree {
    /// The lowest number that is not taken.
    pub fn find(&self, is_taken: impl Fn(u32) -> bool) -> u32 {
        let mut number = self.0.get();
        while is_taken(number) && number < u32::MAX {
            number += 1;
        }
        self.0.set(number);
        number
    }

    /// Notes that a number is free again.
    pub fn release(&self, number: u32) {
        self.0.set(self.0.get().min(number));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::LowestFree;

    #[test]
    fn the_lowest_number_is_found_after_others_came_and_went() {
        let (free, mut taken) = (LowestFree::default(), BTreeSet::new());
        for number in 0..5 {
            assert_eq!(free.find(|number| taken.contains(&number)), number);
            taken.insert(number);
        }
        for number in [3, 1] {
            taken.remove(&number);
            free.release(number);
        }
        for number in [1, 3, 5] {
            assert_eq!(free.find(|number| taken.contains(&number)), number);
            taken.insert(number);
        }
        // One that was taken out of turn is passed over.
        taken.insert(6);
        assert_eq!(free.find(|number| taken.contains(&number)), 7);
    }
}
