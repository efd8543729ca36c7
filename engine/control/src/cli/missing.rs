//! Commands of missing features: the error names the feature instead of other possible words.

use std::cell::RefCell;

use super::CommandError;
use super::words::Token;

/// Missing features: the first words of their commands, and the errors for these.
#[derive(Default)]
pub(super) struct Missing(RefCell<Vec<(Vec<&'static str>, String)>>);

impl Missing {
    pub fn add(&self, words: &'static str, told: String) {
        self.0.borrow_mut().push((words.split_whitespace().collect(), told));
    }

    /// The error for a line that fits no command, if it begins as a command of a missing feature. All of these words but the last
    /// may be abbreviated.
    pub fn explain(&self, words: &[Token], error: &CommandError) -> Option<CommandError> {
        let wrong = error.place.as_ref()?.start;
        let missing = self.0.borrow();
        let fits = |begins: &[&str]| {
            let Some((last, before)) = begins.split_last() else { return false };
            let Some(word) = words.get(before.len()).filter(|word| word.text == *last) else { return false };
            let abbreviates = |(begin, word): (&&str, &Token)| !word.text.is_empty() && begin.starts_with(&word.text);
            wrong < word.span.end && before.iter().zip(words).all(abbreviates)
        };
        let found = missing.iter().filter(|(begins, _)| fits(begins)).max_by_key(|(begins, _)| begins.len());
        let (begins, told) = found?;
        let (first, last) = (words.first()?, words.get(begins.len() - 1)?);
        Some(CommandError::new(told.clone()).at(first.span.start..last.span.end))
    }
}
