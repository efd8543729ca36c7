//! Errors of config objects.

use super::ObjectRef;

/// Error text for a field that no record of the kind has.
pub(crate) const UNKNOWN: &str = "there is no such field";
/// Why an object was refused: object, field, error text and remedy.
///
/// A room fills in field, error text and, where there is one, the remedy; the registry fills in the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("{}", self.text())]
pub struct ObjectError {
    /// The object, such as `taps tap0`; empty where no object is concerned.
    pub object: String,
    /// The path of the field, such as `paths[1].via`; empty where the object as a whole is meant.
    pub field: String,
    /// Error text.
    pub what: String,
    /// Remedy; may be empty.
    pub remedy: String,
}

impl ObjectError {
    /// Something is wrong with a field.
    pub fn field(field: impl Into<String>, what: impl Into<String>) -> ObjectError {
        ObjectError { object: String::new(), field: field.into(), what: what.into(), remedy: String::new() }
    }

    /// Something is wrong with the object as a whole.
    pub fn whole(what: impl Into<String>) -> ObjectError {
        ObjectError::field("", what)
    }

    /// It is the room's fault.
    pub(crate) fn inside() -> ObjectError {
        ObjectError::whole("this failed inside quiverd").remedy("report it with what quiverd's log says")
    }

    /// Adds a remedy.
    pub fn remedy(mut self, remedy: impl Into<String>) -> ObjectError {
        self.remedy = remedy.into();
        self
    }

    /// Names the object, unless one is named already.
    pub fn of(mut self, object: &ObjectRef) -> ObjectError {
        if self.object.is_empty() {
            self.object = object.to_string();
        }
        self
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for part in [&self.object, &self.field] {
            if !part.is_empty() {
                text.push_str(part);
                text.push_str(": ");
            }
        }
        text.push_str(&self.what);
        if !self.remedy.is_empty() {
            text.push_str("; ");
            text.push_str(&self.remedy);
        }
        text
    }

    /// Whether the field named is one that does not exist.
    pub(crate) fn is_unknown_field(&self) -> bool {
        self.what == UNKNOWN
    }
}
