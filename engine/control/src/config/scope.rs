//! Whether a file is the whole configuration or a part of it.

use serde::{Deserialize, Serialize};

/// Treatment of running objects that a file does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Deletes them: the file is the whole configuration.
    #[default]
    Whole,
    /// Keeps them: the file is a part, merged into the running configuration.
    Part,
}

impl Scope {
    /// Whether the file is the whole configuration.
    pub fn is_whole(&self) -> bool {
        *self == Scope::Whole
    }
}
