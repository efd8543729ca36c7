//! Which words of the memory are free.

/// Words that are given out at least: a cache line.
const SMALLEST: usize = 8;
/// Sizes that are given back: from the smallest on, each double the one before.
const CLASSES: usize = 40;

/// Free words: what was given back, by size, and what has never been given out.
#[derive(Debug)]
pub struct Space {
    next: usize,
    end: usize,
    free: [Vec<usize>; CLASSES],
}

impl Space {
    /// All words from `next` to before `end`.
    pub fn new(next: usize, end: usize) -> Space {
        Space { next: next.next_multiple_of(SMALLEST), end, free: [const { vec![] }; CLASSES] }
    }
    /// Words that have never been given out.
    pub fn left(&self) -> usize {
        self.end - self.next.min(self.end)
    }
    /// The first word that has never been given out; what is behind it has not, either.
    pub fn first_fresh(&self) -> usize {
        self.next
    }
    /// Words for good: the first one's number, which a cache line begins with. None if there are not so many.
    pub fn reserve(&mut self, words: usize) -> Option<usize> {
        let words = words.checked_next_multiple_of(SMALLEST)?;
        let at = self.next;
        if words > self.end.checked_sub(at)? {
            return None;
        }
        self.next = at + words;
        Some(at)
    }
    /// Words for a while, and how many they are: at least those asked for. What was there before is still in them.
    pub fn take(&mut self, words: usize) -> Option<(usize, usize)> {
        let (class, words) = class(words)?;
        let at = self.free[class].pop().or_else(|| self.reserve(words))?;
        Some((at, words))
    }
    /// Gives back what was taken.
    pub fn give_back(&mut self, at: usize, words: usize) {
        if let Some((class, _)) = class(words) {
            self.free[class].push(at);
        }
    }
}

/// The class of a size, and the words of that class. None for what no memory has.
fn class(words: usize) -> Option<(usize, usize)> {
    let words = words.max(SMALLEST).checked_next_power_of_two()?;
    let class = (words / SMALLEST).trailing_zeros() as usize;
    (class < CLASSES).then_some((class, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_taken_again_and_what_is_given_out_never_overlaps() {
        let mut space = Space::new(3, 1000);
        let (first, words) = space.take(9).expect("there is room");
        assert_eq!((first, words), (8, 16));
        assert_eq!(space.reserve(1), Some(24));
        assert_eq!(space.take(16), Some((32, 16)));
        space.give_back(first, words);
        assert_eq!(space.take(12), Some((8, 16)));
        assert_eq!(space.take(1), Some((48, 8)));
    }

    #[test]
    fn when_there_is_no_room_nothing_changes() {
        let mut space = Space::new(0, 64);
        for words in [65, 1 << 40, usize::MAX] {
            assert_eq!((space.reserve(words), space.take(words)), (None, None));
        }
        assert_eq!(space.reserve(64), Some(0));
        assert_eq!(space.take(1), None);
    }
}
