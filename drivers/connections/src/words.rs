//! Reads loads as users write them: words and their values, `#` begins a comment.

use std::fmt::Display;
use std::str::FromStr;

use quiver_control::object::Scalar;

/// Why a text is no load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A word that begins nothing.
    #[error("`{word}` is unknown: write one of {known}")]
    Unknown {
        /// The word.
        word: String,
        /// The known words.
        known: String,
    },
    /// The last word lacks its value.
    #[error("{word}: a value is missing: write {wanted}")]
    Missing {
        /// The word.
        word: String,
        /// Form of its values.
        wanted: String,
    },
    /// A value that is none.
    #[error("{word} {value}: {why}")]
    Wrong {
        /// The word.
        word: String,
        /// The value.
        value: String,
        /// The error and the remedy.
        why: String,
    },
    /// Values that do not go together.
    #[error("{0}")]
    Together(String),
}

/// The words of a text, from first to last.
pub(crate) struct Words<'t> {
    rest: Vec<&'t str>,
    /// The word whose value is read.
    word: &'t str,
}

impl<'t> Words<'t> {
    pub fn new(text: &'t str) -> Words<'t> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let mut rest: Vec<_> =
            lines.flat_map(str::split_whitespace).filter(|word| !matches!(*word, "{" | "}")).collect();
        rest.reverse();
        Words { rest, word: "" }
    }
    /// All words that are left, in a line.
    pub fn join(&self) -> String {
        self.rest.iter().rev().copied().collect::<Vec<_>>().join(" ")
    }
    /// The next word.
    pub fn next(&mut self) -> Option<&'t str> {
        self.word = self.rest.pop()?;
        Some(self.word)
    }
    /// The value of this word; `wanted` tells what values there are.
    fn value(&mut self, wanted: impl Display) -> Result<&'t str, LoadError> {
        let missing = || LoadError::Missing { word: self.word.into(), wanted: wanted.to_string() };
        self.rest.pop().ok_or_else(missing)
    }
    fn wrong(&self, value: &str, why: impl Display) -> LoadError {
        LoadError::Wrong { word: self.word.into(), value: value.into(), why: why.to_string() }
    }
    /// A text without blanks.
    pub fn text(&mut self) -> Result<&'t str, LoadError> {
        self.value("a text without blanks")
    }
    /// A whole number within bounds.
    pub fn number(&mut self, least: u32, most: u32) -> Result<u32, LoadError> {
        let wanted = format!("a number from {least} to {most}");
        let value = self.value(&wanted)?;
        let number = value.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.wrong(value, format!("write {wanted}")))
    }
    /// A number of a million and more, such as 1e6, or with a fraction, within bounds.
    pub fn real(&mut self, least: f64, most: f64) -> Result<f64, LoadError> {
        let wanted = format!("a number from {least} to {most}");
        let value = self.value(&wanted)?;
        let number = value.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.wrong(value, format!("write {wanted}")))
    }
    /// A value of a type that says itself what is wrong.
    pub fn read<T: FromStr<Err: Display>>(&mut self, wanted: &str) -> Result<T, LoadError> {
        let value = self.value(wanted)?;
        value.parse().map_err(|error| self.wrong(value, error))
    }
    /// One of some words.
    pub fn choice<T: Scalar>(&mut self) -> Result<T, LoadError> {
        let wanted = T::choices().join(" or ");
        let value = self.value(&wanted)?;
        T::parse(value).map_err(|_| self.wrong(value, format!("write {wanted}")))
    }
    /// Whether something is so.
    pub fn is(&mut self) -> Result<bool, LoadError> {
        match self.value("yes or no")? {
            "yes" => Ok(true),
            "no" => Ok(false),
            value => Err(self.wrong(value, "write yes or no")),
        }
    }
    /// Takes `until-close`, if that comes next.
    pub fn until_close(&mut self) -> Result<bool, LoadError> {
        let is_next = self.rest.last() == Some(&"until-close");
        if is_next {
            self.rest.pop();
        }
        Ok(is_next)
    }
}
