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
//! Each kind is a section. The objects of a missing section are deleted, unless the file is a part ([`Scope::Part`]).
//! [`Control::diff`] shows the changes, [`Control::apply`] makes them (see [`transaction`](crate::transaction)),
//! [`Control::save`] writes the running configuration.

mod defaults;
mod difference;
mod error;
mod file;
mod reader;
mod scope;
mod secrets;
mod tree;
mod write;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::cli::{Listing, Output, Reply};
use crate::control::Control;
pub use crate::list::List;
use crate::object::{self, AnyKind, AnyObject, ByKey, FieldInfo, ObjectError, ObjectRef, Spread, Step, Waiting};
use crate::pace::{Pace, at_once, free};
use defaults::concise_values;
pub(crate) use difference::{Difference, describe, list_differences};
pub use error::ConfigError;
pub(crate) use file::list_file;
use reader::{Reader, Wanted};
pub use scope::Scope;
pub use tree::{Data, Entry, Malformed, Node, Position};

impl Control {
    /// The running configuration, with the objects that wait, as a file for [`Control::apply`]. Defaults are left out.
    pub fn save(&self) -> Reply {
        let mut json = Map::new();
        let mut record = |kind: &str, record: &Value| collect(&mut json, kind, record);
        let text = at_once(self.written(&mut Pace::at_once(), Some(&mut record)));
        Reply::new(text, Value::Object(json))
    }

    /// The same in turns, as text; `record` gets the kind and the record of each object.
    pub(crate) async fn written(&self, pace: &mut Pace, mut record: Option<Recorded<'_>>) -> String {
        let mut text = HEADING.to_owned();
        for kind in self.objects().kinds() {
            let (fields, mut is_first) = (kind.fields(), true);
            for object in self.objects().pending.configured(&kind) {
                pace.step().await;
                let written = Written::of(&*kind, &*object, &fields, (true, record.is_some()), pace).await;
                written.put(&mut text, is_first.then_some(kind.name()));
                if let Some((record, values)) = record.as_mut().zip(written.record) {
                    record(kind.name(), &values);
                }
                is_first = false;
            }
        }
        text
    }

    /// The same, given out as it is written.
    pub(crate) async fn list_written(&self, output: &Output, has_secrets: bool) -> Reply {
        let mut listing = Listing::new(self, output);
        listing.text().push_str(HEADING);
        for kind in self.objects().kinds() {
            let fields = kind.fields();
            let mut is_first = true;
            for object in self.objects().pending.configured(&kind) {
                listing.step().await;
                let how = (has_secrets, output.wants_json());
                let written = Written::of(&*kind, &*object, &fields, how, &Pace::in_turns(self)).await;
                written.put(listing.text(), is_first.then_some(kind.name()));
                if let Some(record) = written.record {
                    listing.element_of(kind.name(), || record);
                }
                is_first = false;
            }
        }
        listing.end()
    }
}

/// Adds a record of a kind to a configuration in JSON.
pub(crate) fn collect(json: &mut Map<String, Value>, kind: &str, record: &Value) {
    if let Value::Array(records) = json.entry(kind).or_insert_with(|| Value::Array(vec![])) {
        records.push(record.clone());
    }
}

/// Gets the kind and the record of an object.
pub(crate) type Recorded<'r> = &'r mut dyn FnMut(&'static str, &Value);

/// An object as a file has it.
struct Written {
    text: String,
    /// Its record, if that is wanted.
    record: Option<Value>,
}

impl Written {
    /// Writes an object, a long one by a helper: with its secrets or without, and with its record or without.
    async fn of(
        kind: &dyn AnyKind,
        object: &dyn AnyObject,
        fields: &Rc<[FieldInfo]>,
        how: (bool, bool),
        pace: &Pace,
    ) -> Written {
        if kind.is_long(object)
            && let Some(write) = object.write_aside()
        {
            let fields = fields.to_vec();
            if let Ok(written) = pace.aside(move || Written::by(write(), &fields, how)).await {
                return written;
            }
        }
        Written::by(concise_values(object, fields), fields, how)
    }
    fn by(mut values: Map<String, Value>, fields: &[FieldInfo], (has_secrets, has_record): (bool, bool)) -> Written {
        if !has_secrets {
            secrets::hide(&mut values, fields);
        }
        let (record, mut text) = (Value::Object(values), String::new());
        write::record(&mut text, &record);
        Written { text, record: has_record.then_some(record) }
    }
    /// Puts it behind others of its kind's section, which begins with the first.
    fn put(&self, text: &mut String, section: Option<&str>) {
        if let Some(kind) = section {
            write::section(text, kind);
        }
        text.push_str(&self.text);
    }
}

/// Reads a YAML file of another kind: its tree, or nothing if it is empty, and its errors. A file with duplicate names
/// has a tree nevertheless, so that the rest can be checked.
pub fn read_yaml(text: &str) -> (Option<Node>, Vec<Malformed>) {
    at_once(tree::read(text, &mut Pace::at_once()))
}

/// Comment at the top of a written configuration.
const HEADING: &str = "# A configuration of Quiver: `quiver apply FILE` makes it run.\n";

/// Objects that a file demands.
pub(crate) struct Desired {
    file: String,
    objects: List<Wanted>,
}

impl Desired {
    /// Reads a file, and tells all that is wrong with it by itself.
    pub async fn read(control: &Control, file: &str, text: &str, pace: &mut Pace) -> Result<Desired, Vec<ConfigError>> {
        let mut reader = Reader { file, errors: Vec::new(), objects: List::default() };
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

    /// The same, but objects that are pending already and unchanged may go on to wait.
    pub async fn read_ready(
        control: &Control,
        file: &str,
        text: &str,
        pace: &mut Pace,
    ) -> Result<Desired, Vec<ConfigError>> {
        let mut desired = Desired::read(control, file, text, pace).await?;
        let missing = desired.missing(control, false, pace).await;
        desired.set_aside(&missing, Default::default(), pace).await;
        Ok(desired)
    }

    /// The pending objects, as a file that wants them.
    pub fn of(waiting: &[Waiting]) -> Desired {
        let nowhere = Node { at: Position { line: 1, column: 1 }, data: Data::Scalar(Value::Null) };
        let wanted = |one: &Waiting| {
            let (kind, object, node) = (one.kind.clone(), one.object.clone(), nowhere.clone());
            Wanted { kind, runs: Some(object.clone()), object, node }
        };
        Desired { file: String::new(), objects: waiting.iter().map(wanted).collect() }
    }

    /// The wanted objects that lack something outside: of `all` objects, or of those that are pending already.
    pub async fn missing(&self, control: &Control, all: bool, pace: &mut Pace) -> BTreeMap<ObjectRef, ObjectError> {
        let mut missing = BTreeMap::new();
        for Wanted { kind, object, .. } in self.objects.iter().filter(|wanted| wanted.kind.is_outside()) {
            pace.step().await;
            let runs = kind.find(&**object).is_some_and(|old| !old.must_be_replaced_by(&**object));
            if !runs
                && (all || control.objects().pending.has(&**object))
                && let Err(error) = kind.needs(&**object)
            {
                missing.insert(object.id(), error);
            }
        }
        missing
    }

    /// Leaves out missing objects, objects that need them, and references to names that are `gone`. Returns the objects
    /// that wait.
    pub async fn set_aside(
        &mut self,
        missing: &BTreeMap<ObjectRef, ObjectError>,
        gone: object::HashSet<ObjectRef>,
        pace: &mut Pace,
    ) -> Vec<Waiting> {
        // Most files want nothing that is missing, and some very many objects.
        if missing.is_empty() && gone.is_empty() {
            return vec![];
        }
        let mut objects = vec![];
        for wanted in self.objects.iter() {
            pace.step().await;
            objects.push((wanted.kind.clone(), wanted.object.clone()));
        }
        let (runs, waiting) = object::set_aside(&objects, missing, gone, pace).await;
        free(objects, pace).await;
        for (wanted, runs) in self.objects.iter_mut().zip(runs) {
            pace.step().await;
            wanted.runs = runs;
        }
        waiting
    }

    /// The wanted object that reaches outside and was refused, if that is all that went wrong.
    pub fn refused_outside(&self, errors: &[ObjectError]) -> Option<(ObjectRef, ObjectError)> {
        let [error] = errors else { return None };
        let mut outside = self.objects.iter().filter(|wanted| wanted.kind.is_outside());
        let refused = outside.find(|wanted| wanted.object.id().to_string() == error.object)?;
        Some((refused.object.id(), error.clone()))
    }

    /// Whether this object, which it wants, waits already, just so.
    pub fn waits_already(&self, control: &Control, id: &ObjectRef) -> bool {
        let mut objects = self.objects.iter();
        objects.any(|wanted| wanted.object.id() == *id && control.objects().pending.has(&*wanted.object))
    }

    /// The names of all objects that it wants.
    pub fn ids(&self) -> HashSet<ObjectRef> {
        self.objects.iter().map(|wanted| wanted.object.id()).collect()
    }

    /// Whether it wants no object at all.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The changes from the running to the desired configuration.
    pub async fn steps(&self, control: &Control, scope: Scope, pace: &mut Pace) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut wanted = Spread::default();
        for runs in self.objects.iter().filter_map(|of_file| of_file.runs.as_ref()) {
            pace.step().await;
            wanted.insert(runs.id(), ());
        }
        let kinds = control.objects().kinds();
        for kind in kinds.into_iter().rev().filter(|_| scope == Scope::Whole) {
            for old in ByKey::running(&kind) {
                pace.step().await;
                if !wanted.contains_key(&old.id()) {
                    steps.push(Step::new(kind.clone(), Some(old), None));
                }
            }
        }
        free(wanted.into_entries(), pace).await;
        for Wanted { kind, runs, .. } in self.objects.iter() {
            pace.step().await;
            let Some(object) = runs else { continue };
            let old = kind.find(&**object);
            if old.as_ref().is_none_or(|old| !old.equals(&**object)) {
                steps.push(Step::new(kind.clone(), old, Some(object.clone())));
            }
        }
        steps
    }

    /// Frees it in turns.
    pub async fn free(self, pace: &mut Pace) {
        for wanted in self.objects {
            pace.step().await;
            if wanted.node.is_long() {
                let node = wanted.node;
                // If it fails, it is freed all the same.
                let _ = pace.aside(move || drop(node)).await;
            }
        }
    }

    /// Finds the places of errors by their objects. Errors of objects that the file does not have get its first line.
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
