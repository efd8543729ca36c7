//! Errors in a `startup.conf`, and notes on its settings.

use std::fmt;

/// Blocks that are nested deeper are refused.
pub(super) const DEPTH_MAX: usize = 32;
/// A place in the text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

/// Why a text is no `startup.conf`. The place is in the text that was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartupError {
    /// A block has no end.
    #[error("{0}: this `{{` is never closed: write `}}` where its block ends")]
    Unclosed(Place),
    /// An end has no block.
    #[error("{0}: this `}}` closes nothing: take it away, or open its block before")]
    ClosesNothing(Place),
    /// Blocks in blocks in blocks.
    #[error("{0}: blocks are nested more than {depth} deep: no section needs that", depth = DEPTH_MAX)]
    TooDeep(Place),
    /// A block where a section's name should be.
    #[error("{0}: a block without a name: write the section's name before `{{`, such as `unix {{ ... }}`")]
    Nameless(Place),
    /// A section without content.
    #[error("{place}: section {section}: its content is missing: write `{section} {{ ... }}`")]
    Bare {
        /// Where its name stands.
        place: Place,
        /// Its name.
        section: String,
    },
    /// A setting without its value.
    #[error("{place}: {section}: this is not complete: write `{form}`")]
    Incomplete {
        /// Where the setting stands.
        place: Place,
        /// Its section.
        section: &'static str,
        /// Its syntax.
        form: &'static str,
    },
    /// A value that does not fit.
    #[error("{place}: {section}: {setting}: '{value}' does not fit: write {expected}")]
    Value {
        /// Where the value stands.
        place: Place,
        /// The section.
        section: &'static str,
        /// The setting.
        setting: &'static str,
        /// The value.
        value: String,
        /// Valid values.
        expected: &'static str,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Severity of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing is lost.
    Info,
    /// Something that was asked for is not done.
    Warning,
}

/// A note on a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its severity.
    pub severity: Severity,
    /// Text: source, line, section and setting, with the reason.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
