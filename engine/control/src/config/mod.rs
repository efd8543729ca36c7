//! The configuration file: the desired state of all kinds of objects in one YAML file.
//!
//! ```yaml
//! taps:
//!   - name: tap0
//! bridge-domains:
//!   - id: 1
//!     learn: false
//! ```
//!
//! Each kind is a section; a section that is not there has no objects, and what runs of it goes. [`Control::diff`]
//! says what would change, [`Control::apply`] makes it so (see [`transaction`](crate::transaction)), [`Control::save`]
//! writes what runs.

mod difference;
mod reader;
mod tree;
mod write;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::cli::Reply;
use crate::control::Control;
use crate::object::{AnyKind, AnyObject, FieldInfo, ObjectError, ObjectRef, Step};
use crate::pace::{Pace, at_once};
pub(crate) use difference::describe;
use reader::Reader;
pub use tree::{Data, Entry, Malformed, Node, Position};

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

impl Control {
    /// The running configuration as a file that [`Control::apply`] takes back. What is as its default is left out.
    pub fn save(&self) -> Reply {
        at_once(self.written(&mut Pace::at_once()))
    }

    /// The same, in turns.
    pub(crate) async fn written(&self, pace: &mut Pace) -> Reply {
        let mut text = HEADING.to_owned();
        let mut json = Map::new();
        for kind in self.objects().kinds() {
            let fields = kind.fields();
            let mut records = Vec::new();
            for object in kind.running() {
                pace.step().await;
                if records.is_empty() {
                    write::section(&mut text, kind.name());
                }
                let record = Value::Object(concise(object.values(), &fields));
                write::record(&mut text, &record);
                records.push(record);
            }
            if !records.is_empty() {
                json.insert(kind.name().to_owned(), Value::Array(records));
            }
        }
        Reply::new(text, Value::Object(json))
    }
}

/// Reads a file of another kind than the configuration: its tree, or nothing if it is empty, and what is wrong with it. A
/// file with duplicate names has a tree nevertheless, so that the rest can be checked.
pub fn read_yaml(text: &str) -> (Option<Node>, Vec<Malformed>) {
    at_once(tree::read(text, &mut Pace::at_once()))
}

/// What a file says, as JSON has it; null where it is no YAML.
pub(crate) async fn value_of(text: &str, pace: &mut Pace) -> Value {
    tree::read(text, pace).await.0.map_or(Value::Null, |root| root.to_value())
}

/// How a written configuration begins.
const HEADING: &str = "# A configuration of Quiver: `quiver apply FILE` makes it run.\n";

/// The values without those that are as their default; keys stay.
fn concise(mut values: Map<String, Value>, fields: &[FieldInfo]) -> Map<String, Value> {
    for field in fields {
        let Some(value) = values.get_mut(field.name) else { continue };
        if !field.key && field.default.as_ref() == Some(value) {
            // Not swap_remove: the order of the fields stays.
            values.shift_remove(field.name);
        } else if !field.fields.is_empty() {
            concise_inside(value, &field.fields);
        }
    }
    values
}

/// The same for the record, or for each record of the list, that `value` is.
fn concise_inside(value: &mut Value, fields: &[FieldInfo]) {
    match value {
        Value::Object(values) => *values = concise(std::mem::take(values), fields),
        Value::Array(items) => items.iter_mut().for_each(|item| concise_inside(item, fields)),
        _ => {}
    }
}

/// An object that a file wants, and where it stands.
struct Wanted {
    kind: Rc<dyn AnyKind>,
    object: Rc<dyn AnyObject>,
    node: Node,
}

/// What a file wants.
pub(crate) struct Desired {
    file: String,
    objects: Vec<Wanted>,
}

impl Desired {
    /// Reads a file, and tells all that is wrong with it by itself.
    pub async fn read(control: &Control, file: &str, text: &str, pace: &mut Pace) -> Result<Desired, Vec<ConfigError>> {
        let mut reader = Reader { file, errors: Vec::new(), objects: Vec::new() };
        let (root, malformed) = tree::read(text, pace).await;
        for problem in malformed {
            reader.add(problem.at, ObjectError::whole(problem.what).remedy(problem.remedy));
        }
        if let Some(root) = root {
            reader.sections(control, root, pace).await;
        }
        let Reader { mut errors, objects, .. } = reader;
        errors.sort_by_key(|error| error.at);
        if errors.is_empty() { Ok(Desired { file: file.to_owned(), objects }) } else { Err(errors) }
    }

    /// The changes from what runs to what is wanted.
    pub async fn steps(&self, control: &Control, pace: &mut Pace) -> Vec<Step> {
        let mut steps = Vec::new();
        let wanted: HashSet<ObjectRef> = self.objects.iter().map(|wanted| wanted.object.id()).collect();
        for kind in control.objects().kinds().into_iter().rev() {
            for old in kind.running() {
                pace.step().await;
                if !wanted.contains(&old.id()) {
                    steps.push(Step::new(kind.clone(), Some(old), None));
                }
            }
        }
        for Wanted { kind, object, .. } in &self.objects {
            pace.step().await;
            let old = kind.find(&**object);
            if old.as_ref().is_none_or(|old| !old.equals(&**object)) {
                steps.push(Step::new(kind.clone(), old, Some(object.clone())));
            }
        }
        steps
    }

    /// Finds the places of errors by their objects. What is not in the file is told at its beginning.
    pub fn place(&self, errors: Vec<ObjectError>) -> Vec<ConfigError> {
        let places: HashMap<String, &Node> =
            self.objects.iter().map(|wanted| (wanted.object.id().to_string(), &wanted.node)).collect();
        let place = |error: &ObjectError| match places.get(&error.object) {
            Some(node) => node.position_of(&error.field, true),
            None => Position { line: 1, column: 1 },
        };
        let mut errors: Vec<_> =
            errors.into_iter().map(|error| ConfigError { file: self.file.clone(), at: place(&error), error }).collect();
        errors.sort_by_key(|error| error.at);
        errors
    }
}
