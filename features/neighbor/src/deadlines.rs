//! Deadlines: one moment for each of many keys, in the order of the moments. A look costs as much as is due, not as
//! much as is waiting.

use std::collections::{BTreeMap, BTreeSet};

use quiver_control::Time;

/// Moments by thing, one for each.
#[derive(Debug)]
pub(crate) struct Deadlines<K> {
    moments: BTreeMap<K, Time>,
    ordered: BTreeSet<(Time, K)>,
}

impl<K> Default for Deadlines<K> {
    fn default() -> Deadlines<K> {
        Deadlines { moments: BTreeMap::new(), ordered: BTreeSet::new() }
    }
}

impl<K: Ord + Copy> Deadlines<K> {
    /// The thing is due then, and no more when it was before.
    pub fn set(&mut self, key: K, at: Time) {
        self.cancel(key);
        self.moments.insert(key, at);
        self.ordered.insert((at, key));
    }
    /// The thing is not due at all.
    pub fn cancel(&mut self, key: K) {
        if let Some(at) = self.moments.remove(&key) {
            self.ordered.remove(&(at, key));
        }
    }
    /// None of these things is due at all.
    pub fn cancel_if(&mut self, unwanted: impl Fn(&K) -> bool) {
        self.moments.retain(|key, _| !unwanted(key));
        self.ordered.retain(|(_, key)| !unwanted(key));
    }
    /// The first deadline, and its key.
    pub fn first(&self) -> Option<(Time, K)> {
        self.ordered.first().copied()
    }
    /// The key of the first deadline, if it has passed.
    pub fn due(&self, now: Time) -> Option<K> {
        self.first().filter(|(at, _)| *at <= now).map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_order_and_once() {
        let mut deadlines = Deadlines::default();
        for (key, at) in [(1, 30), (2, 10), (3, 20), (4, 10), (2, 40), (5, 5)] {
            deadlines.set(key, Time(at));
        }
        deadlines.cancel(5);
        deadlines.cancel(6);
        let mut due = vec![];
        while let Some(key) = deadlines.due(Time(30)) {
            deadlines.cancel(key);
            due.push(key);
        }
        assert_eq!(due, [4, 3, 1]);
        assert_eq!((deadlines.first(), deadlines.due(Time(39))), (Some((Time(40), 2)), None));
        deadlines.cancel_if(|key| *key == 2);
        assert!(deadlines.moments.is_empty() && deadlines.ordered.is_empty());
    }
}
