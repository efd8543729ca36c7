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
//! says what would change, [`Control::apply`] makes it so, [`Control::save`] writes what runs.

mod difference;
mod tree;
mod write;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::cli::Reply;
use crate::control::Control;
use crate::object::{AnyKind, AnyObject, FieldInfo, ObjectError, ObjectRef, Step};
pub use tree::Position;
use tree::{Data, Entry, Node};

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
    /// What applying this file would change.
    pub fn diff(&self, file: &str, text: &str) -> Result<Reply, Vec<ConfigError>> {
        let desired = Desired::read(self, file, text)?;
        let steps = desired.steps(self);
        self.check_steps(&steps).map_err(|errors| desired.place(errors))?;
        Ok(difference::describe(&steps))
    }

    /// Makes the running configuration that of the file. When a change fails, those before it are undone.
    pub fn apply(&self, file: &str, text: &str) -> Result<Reply, Vec<ConfigError>> {
        let desired = Desired::read(self, file, text)?;
        let steps = desired.steps(self);
        let told = difference::describe(&steps);
        self.apply_steps(steps).map_err(|errors| desired.place(errors))?;
        Ok(told)
    }

    /// The running configuration as a file that [`Control::apply`] takes back. What is as its default is left out.
    pub fn save(&self) -> Reply {
        let mut text = "# A configuration of Quiver: `quiver apply FILE` makes it run.\n".to_owned();
        let mut json = Map::new();
        for kind in self.objects().kinds() {
            let fields = kind.fields();
            let mut records = Vec::new();
            for object in kind.running() {
                let values = concise(object.values(), &fields);
                records.push(values);
            }
            if !records.is_empty() {
                write::section(&mut text, kind.name(), &records);
                json.insert(kind.name().to_owned(), records.into_iter().map(Value::Object).collect());
            }
        }
        Reply::new(text, Value::Object(json))
    }
}

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
struct Desired {
    file: String,
    objects: Vec<Wanted>,
}

impl Desired {
    /// Reads a file, and tells all that is wrong with it by itself.
    fn read(control: &Control, file: &str, text: &str) -> Result<Desired, Vec<ConfigError>> {
        let mut reader = Reader { file, errors: Vec::new(), objects: Vec::new() };
        let (root, malformed) = tree::read(text);
        for problem in malformed {
            reader.add(problem.at, ObjectError::whole(problem.what).remedy(problem.remedy));
        }
        if let Some(root) = root {
            reader.sections(control, root);
        }
        let Reader { mut errors, objects, .. } = reader;
        errors.sort_by_key(|error| error.at);
        if errors.is_empty() { Ok(Desired { file: file.to_owned(), objects }) } else { Err(errors) }
    }

    /// The changes from what runs to what is wanted.
    fn steps(&self, control: &Control) -> Vec<Step> {
        let mut steps = Vec::new();
        let wanted: HashSet<ObjectRef> = self.objects.iter().map(|wanted| wanted.object.id()).collect();
        for kind in control.objects().kinds().into_iter().rev() {
            for old in kind.running().into_iter().filter(|old| !wanted.contains(&old.id())) {
                steps.push(Step { kind: kind.clone(), old: Some(old), new: None });
            }
        }
        for Wanted { kind, object, .. } in &self.objects {
            let old = kind.find(&**object);
            if old.as_ref().is_none_or(|old| !old.equals(&**object)) {
                steps.push(Step { kind: kind.clone(), old, new: Some(object.clone()) });
            }
        }
        steps
    }

    /// Finds the places of errors by their objects. What is not in the file is told at its beginning.
    fn place(&self, errors: Vec<ObjectError>) -> Vec<ConfigError> {
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

struct Reader<'a> {
    file: &'a str,
    errors: Vec<ConfigError>,
    objects: Vec<Wanted>,
}

impl Reader<'_> {
    /// More problems than this help nobody.
    const ERRORS_MAX: usize = 100;

    fn add(&mut self, at: Position, error: ObjectError) {
        if self.errors.len() < Self::ERRORS_MAX {
            self.errors.push(ConfigError { file: self.file.to_owned(), at, error });
        }
    }

    fn sections(&mut self, control: &Control, root: Node) {
        let sections = match root.data {
            Data::Mapping(sections) => sections,
            Data::Scalar(Value::Null) => return,
            _ => {
                let remedy = "write sections such as 'taps:', each with a list of objects";
                return self.add(root.at, ObjectError::whole("the file is no mapping of sections").remedy(remedy));
            }
        };
        self.open(control, &sections);
        let kinds = control.objects().kinds();
        let names = || kinds.iter().map(|kind| kind.name());
        for section in sections {
            let Some(kind) = kinds.iter().find(|kind| kind.name() == section.name) else {
                let remedy = match crate::cli::nearest(&section.name, names()) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None => format!("the kinds are: {}", names().collect::<Vec<_>>().join(", ")),
                };
                let error = ObjectError::whole(format!("there is no kind of objects '{}'", section.name));
                self.add(section.at, error.remedy(remedy));
                continue;
            };
            match section.value.data {
                Data::List(items) => self.objects(kind, items),
                Data::Scalar(Value::Null) => {}
                _ => {
                    let error = ObjectError::whole(format!("'{}' is no list", section.name));
                    self.add(section.value.at, error.remedy("write each object behind '- '"));
                }
            }
        }
    }

    /// Opens the objects that bring further kinds into being. What is wrong with them otherwise is told when they are read.
    fn open(&mut self, control: &Control, sections: &[Entry]) {
        let kinds: Vec<_> = control.objects().kinds().into_iter().filter(|kind| kind.opens()).collect();
        for section in sections {
            let Some(kind) = kinds.iter().find(|kind| kind.name() == section.name) else { continue };
            let Data::List(items) = &section.value.data else { continue };
            for item in items {
                let Value::Object(values) = item.to_value() else { continue };
                if let Err(error) = kind.read(&values).map_or(Ok(()), |object| kind.open(control, &*object)) {
                    self.add(item.position_of(&error.field, true), error);
                }
            }
        }
    }

    fn objects(&mut self, kind: &Rc<dyn AnyKind>, items: Vec<Node>) {
        let mut first_lines: HashMap<String, usize> = HashMap::new();
        for item in items {
            let Value::Object(values) = item.to_value() else {
                let error = ObjectError::whole(format!("{}: this is no object", kind.name()));
                self.add(item.at, error.remedy("write its fields as 'name: value' behind '- '"));
                continue;
            };
            match kind.read(&values) {
                Ok(object) => {
                    let name = object.id();
                    match first_lines.get(&name.name) {
                        Some(line) => {
                            let error = ObjectError::whole(format!("it stands here again, first in line {line}"));
                            self.add(item.at, error.remedy("give it another key, or leave it out").of(&name));
                        }
                        None => {
                            first_lines.insert(name.name.clone(), item.at.line);
                            self.objects.push(Wanted { kind: kind.clone(), object, node: item });
                        }
                    }
                }
                Err(problems) => {
                    // The key may be what is wrong: the object is named by as much of it as is there.
                    let key: Vec<String> = kind
                        .fields()
                        .iter()
                        .filter(|field| field.key)
                        .filter_map(|field| values.get(field.name))
                        .map(write::scalar)
                        .collect();
                    let name = ObjectRef::new(kind.name(), key.join(" "));
                    for problem in problems {
                        // A field that is unknown is pointed at by its name, one that is wrong by its value.
                        let at = item.position_of(&problem.field, !problem.is_unknown_field());
                        self.add(at, problem.of(&name));
                    }
                }
            }
        }
    }
}
