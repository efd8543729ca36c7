//! Whether a file is the whole configuration or a part of it.

use serde::{Deserialize, Serialize};

/// What becomes of running objects that a file does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// They go: the file is the whole configuration.
    #[default]
    Whole,
    /// They stay: the file is a part, merged into what runs.
    Part,
}

impl Scope {
    /// Whether the file is the whole configuration.
    pub fn is_whole(&self) -> bool {
        *self == Scope::Whole
    }
}
