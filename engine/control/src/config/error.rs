//! Errors of a configuration file.

use super::tree::Position;
use crate::object::ObjectError;

/// An error of a configuration file: place, object, field, error text and remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("{file}:{}:{}: {error}", at.line, at.column)]
pub struct ConfigError {
    /// The file, as it was named.
    pub file: String,
    /// The place in it.
    #[serde(flatten)]
    pub at: Position,
    /// Object, field, error text, and remedy.
    #[serde(flatten)]
    pub error: ObjectError,
}
