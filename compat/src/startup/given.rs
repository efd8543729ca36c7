//! The arguments that a text gives a setting.

use std::path::PathBuf;
use std::str::FromStr;

use super::error::{Place, StartupError};
use super::grammar::{Block, Item, Word};
use super::values::{cores, size};

/// The values and blocks that a text gives a setting.
pub struct GivenValues {
    pub(super) section: &'static str,
    pub(super) setting: &'static str,
    /// Its values and blocks.
    pub(super) arguments: Vec<Item>,
}

impl GivenValues {
    pub(super) fn word(&self) -> Result<&Word, StartupError> {
        let word = self.arguments.iter().find_map(|item| match item {
            Item::Word(word) => Some(word),
            Item::Block(_) => None,
        });
        // The form has a value wherever this is called: the table's test reads all of them.
        word.ok_or_else(|| self.wrong(None, "a value"))
    }

    pub(super) fn text(&self) -> Result<String, StartupError> {
        Ok(self.word()?.text.clone())
    }

    pub(super) fn path(&self) -> Result<Option<PathBuf>, StartupError> {
        Ok(Some(PathBuf::from(self.text()?)))
    }

    pub(super) fn block(&self) -> Option<&Block> {
        self.arguments.iter().find_map(|item| match item {
            Item::Word(_) => None,
            Item::Block(block) => Some(block),
        })
    }

    pub(super) fn number<T: FromStr>(&self) -> Result<T, StartupError> {
        let word = self.word()?;
        word.text.parse().map_err(|_| self.wrong(Some(word), "a number"))
    }

    /// Bytes: `64M`, `2g`, `1024`.
    pub(super) fn size(&self) -> Result<u64, StartupError> {
        let word = self.word()?;
        size(&word.text).ok_or_else(|| self.wrong(Some(word), "a size such as 64M or 2G"))
    }

    pub(super) fn cores(&self) -> Result<Vec<usize>, StartupError> {
        let word = self.word()?;
        cores(&word.text).ok_or_else(|| self.wrong(Some(word), "cores such as 2-3,18-19"))
    }

    pub(super) fn choice<T: Copy>(&self, known: &[(&str, T)], expected: &'static str) -> Result<T, StartupError> {
        let word = self.word()?;
        let found = known.iter().find(|(name, _)| *name == word.text);
        found.map(|(_, value)| *value).ok_or_else(|| self.wrong(Some(word), expected))
    }

    pub(super) fn wrong(&self, word: Option<&Word>, expected: &'static str) -> StartupError {
        let place = word.map_or(Place { line: 1, column: 1 }, |word| word.place);
        let value = word.map(|word| word.text.clone()).unwrap_or_default();
        StartupError::Value { place, section: self.section, setting: self.setting, value, expected }
    }
}
