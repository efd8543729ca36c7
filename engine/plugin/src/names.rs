//! Names that live as long as the process, as the graph wants them. Each is kept once, however often it is asked for.

use std::cell::RefCell;
use std::collections::HashSet;

/// The names.
#[derive(Default)]
pub(crate) struct Names(RefCell<HashSet<&'static str>>);

impl Names {
    /// The name, kept for good: plugins are never unloaded.
    pub fn keep(&self, name: &str) -> &'static str {
        let mut names = self.0.borrow_mut();
        match names.get(name) {
            Some(kept) => kept,
            None => {
                let kept: &'static str = String::from(name).leak();
                names.insert(kept);
                kept
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        let names = Names::default();
        let (first, again) = (names.keep("a"), names.keep("a"));
        assert!(std::ptr::eq(first, again));
        assert_eq!((names.keep("b"), names.0.borrow().len()), ("b", 2));
    }
}
