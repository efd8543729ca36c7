//! Errors of a configuration file.

use super::tree::Position;
use crate::object::ObjectError;

/// A problem of a configuration file: where, which object and field, what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("{file}:{}:{}: {error}", at.line, at.column)]
pub struct ConfigError {
    /// The file, as it was named.
    pub file: String,
    /// The place in it.
    #[serde(flatten)]
    pub at: Position,
    /// The object, the field, what is wrong, and the remedy.
    #[serde(flatten)]
    pub error: ObjectError,
}
