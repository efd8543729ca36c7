//! The types of arguments.

use std::rc::Rc;

use serde_json::Value;

use crate::control::Control;
use crate::object::{ObjectRef, Scalar};

/// Finds the words that can stand somewhere, in the live system.
type Complete = Rc<dyn Fn(&Control) -> Vec<String>>;

/// A type of arguments: how a word of it is checked and completed.
///
/// Made from a [`Scalar`]; a reference (`Scalar::SPACE`) is completed from the names that exist, and refuses others.
#[derive(Clone)]
pub struct ArgumentKind {
    pub(super) name: &'static str,
    pub(super) expected: &'static str,
    space: Option<&'static str>,
    parse: fn(&str) -> Result<(), String>,
    read: fn(&Value) -> Result<Value, String>,
    read_word: fn(&str) -> Result<Value, String>,
    schema: fn() -> Value,
    choices: fn() -> &'static [&'static str],
    complete: Option<Complete>,
}

impl ArgumentKind {
    /// The type whose values are `T`, under the name that `T` has in grammars.
    pub fn of<T: Scalar>() -> ArgumentKind {
        ArgumentKind {
            name: T::NAME,
            expected: T::EXPECTED,
            space: T::SPACE,
            parse: |text| T::parse(text).map(|_| ()),
            read: |value| T::from_value(value).map(|value| value.to_value()),
            read_word: |text| T::parse(text).map(|value| value.to_value()),
            schema: T::schema,
            choices: T::choices,
            complete: None,
        }
    }

    /// The same under another name, with its own expected text: `.named("node", "the name of a graph node")`.
    pub fn named(self, name: &'static str, expected: &'static str) -> ArgumentKind {
        ArgumentKind { name, expected, ..self }
    }

    /// Completes words of this type by the names that `names` finds in the live system.
    pub fn completed_by(self, names: impl Fn(&Control) -> Vec<String> + 'static) -> ArgumentKind {
        ArgumentKind { complete: Some(Rc::new(names)), ..self }
    }

    /// Its name in grammars.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Expected input, as it stands after "expected".
    pub fn expected(&self) -> &'static str {
        self.expected
    }

    /// The space of names that its words refer to.
    pub fn space(&self) -> Option<&'static str> {
        self.space
    }

    /// Reads a value as files have it; returns it in its usual form. The error may be empty.
    pub fn read(&self, value: &Value) -> Result<Value, String> {
        (self.read)(value)
    }

    /// Reads a word; returns the value as files have it. The error may be empty.
    pub fn read_word(&self, word: &str) -> Result<Value, String> {
        (self.read_word)(word)
    }

    /// The JSON schema of its values in files.
    pub fn schema(&self) -> Value {
        (self.schema)()
    }

    /// The words that can stand here, as far as they are known.
    pub(super) fn known(&self, control: &Control) -> Vec<String> {
        match (&self.complete, self.space) {
            (Some(complete), _) => complete(control),
            (None, Some(space)) => control.objects().names_in(space),
            (None, None) => (self.choices)().iter().map(|&word| word.to_owned()).collect(),
        }
    }

    /// Whether the word is the name of something that exists, or one of few fixed words.
    pub(super) fn is_known(&self, control: &Control, word: &str) -> bool {
        match self.space {
            Some(space) => control.objects().exists(&ObjectRef::new(space, word)),
            None => (self.choices)().contains(&word),
        }
    }

    /// Checks a word, or returns an error text.
    pub(super) fn check(&self, control: &Control, word: &str) -> Result<(), String> {
        (self.parse)(word).map_err(|reason| {
            if reason.is_empty() { format!("'{word}' does not fit: expected {}", self.expected) } else { reason }
        })?;
        match self.space {
            Some(space) if !self.is_known(control, word) => {
                let names = control.objects().names_in(space);
                Err(match super::nearest(word, names.iter().map(String::as_str)) {
                    Some(near) => format!("there is no {space} '{word}'; did you mean '{near}'?"),
                    None => format!("there is no {space} '{word}'"),
                })
            }
            _ => Ok(()),
        }
    }
}
