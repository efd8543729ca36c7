//! Kinds of objects that are described by data, where a room's are Rust structs: those of plugins. Files, `diff`, `save`,
//! schema, documentation and references treat both alike.

use std::any::Any;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::any::{AnyKind, AnyObject};
use super::field::{FieldInfo, Problems, derived, describe};
use super::running::Running;
use super::{Change, HashSet, ObjectError, ObjectRef, Objects};
use crate::cli::{ArgumentKind, nearest};
use crate::control::Control;

/// The values of an object by its fields' names, in the order of the fields.
pub type Values = Map<String, Value>;

type Apply = Box<dyn Fn(&Control, Change<'_, Values>) -> Result<(), ObjectError>>;
type Check = Box<dyn Fn(&Values) -> Result<(), ObjectError>>;

/// Number of times that a field occurs in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// Once; it must be given unless the field has a default.
    Once,
    /// Once or not at all.
    Optional,
    /// As a list.
    List,
}

/// A field of a described kind.
pub struct DescribedField {
    /// Its name in files.
    pub name: &'static str,
    /// Help text.
    pub doc: &'static str,
    /// The type of its values: that of a command's argument, [`Commands::kind`](crate::cli::Commands::kind).
    pub kind: ArgumentKind,
    /// Number of times that it occurs.
    pub occurrence: Occurrence,
    /// The text of its value where it is left out.
    pub default: Option<String>,
    /// Whether it is part of the object's key.
    pub key: bool,
    /// Whether a change of it replaces the object.
    pub fixed: bool,
}

/// A kind of objects described by data. [`Objects::describe`] registers it.
pub struct DescribedKind {
    name: &'static str,
    doc: &'static str,
    fields: Rc<[DescribedField]>,
    infos: Rc<[FieldInfo]>,
    apply: Apply,
    check: Check,
    running: Running<Vec<KeyPart>, DescribedObject>,
}

impl DescribedKind {
    /// Creates a kind; `apply` makes its changes real and `check` checks a single object, as with
    /// [`Kind`](super::Kind). An error is the fault of the description.
    pub fn new(
        name: &'static str,
        doc: &'static str,
        fields: Vec<DescribedField>,
        apply: impl Fn(&Control, Change<'_, Values>) -> Result<(), ObjectError> + 'static,
        check: impl Fn(&Values) -> Result<(), ObjectError> + 'static,
    ) -> Result<DescribedKind, ObjectError> {
        let infos: Rc<[FieldInfo]> = fields.iter().map(DescribedField::info).collect::<Result<_, _>>()?;
        if !fields.iter().any(|field| field.key) {
            return Err(ObjectError::whole("no field is a key").remedy("mark what tells objects of the kind apart"));
        }
        for (at, field) in fields.iter().enumerate() {
            if fields[..at].iter().any(|other| other.name == field.name) {
                return Err(ObjectError::field(field.name, "there are two fields of this name").remedy("rename one"));
            }
        }
        let (apply, check) = (Box::new(apply), Box::new(check));
        let running = Running::new(DescribedObject::key);
        Ok(DescribedKind { name, doc, fields: fields.into(), infos, apply, check, running })
    }
}

impl DescribedField {
    fn info(&self) -> Result<FieldInfo, ObjectError> {
        let (list, scalar) = (self.occurrence == Occurrence::List, self.kind.schema());
        let told = |what: String| ObjectError::field(self.name, what);
        if self.key && (self.occurrence != Occurrence::Once || self.default.is_some()) {
            return Err(told("a key is given once, and has no default".into()).remedy("make it a plain field"));
        }
        let default = match (&self.default, self.occurrence) {
            (Some(text), Occurrence::Once) => Some(self.kind.read_word(text).map_err(|reason| {
                told(format!("the default '{text}' does not fit: {reason}"))
                    .remedy(format!("expected {}", self.kind.expected()))
            })?),
            (Some(_), _) => {
                return Err(told("a field with a default is given once".into()).remedy("leave out the default"));
            }
            (None, Occurrence::Once) => None,
            (None, Occurrence::Optional) => Some(Value::Null),
            (None, Occurrence::List) => Some(json!([])),
        };
        Ok(FieldInfo {
            name: self.name,
            doc: self.doc,
            expected: if list {
                format!("a list, each item {}", self.kind.expected())
            } else {
                self.kind.expected().into()
            },
            default,
            key: self.key,
            fixed: self.fixed,
            secret: false,
            schema: match self.occurrence {
                Occurrence::Once => scalar,
                Occurrence::Optional => derived::or_null(scalar),
                Occurrence::List => json!({"type": "array", "items": scalar}),
            },
            fields: vec![],
        })
    }

    fn read(&self, value: &Value, problems: &mut Problems) -> Option<Value> {
        match (self.occurrence, value) {
            (Occurrence::Optional, Value::Null) => Some(Value::Null),
            (Occurrence::List, Value::Array(items)) => {
                // Every item is read, so that every problem is told.
                let read = |(at, item)| problems.within(&format!("[{at}]"), |problems| self.read_one(item, problems));
                let items: Vec<_> = items.iter().enumerate().map(read).collect();
                items.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
            }
            (Occurrence::List, value) => {
                problems.add(format!("{} cannot stand here", describe(value)), "expected a list");
                None
            }
            (_, value) => self.read_one(value, problems),
        }
    }

    fn read_one(&self, value: &Value, problems: &mut Problems) -> Option<Value> {
        let wrong = |reason: String| match reason.is_empty() {
            true => format!("{} cannot stand here", describe(value)),
            false => reason,
        };
        let read = self.kind.read(value).map_err(wrong);
        read.map_err(|what| problems.add(what, format!("expected {}", self.kind.expected()))).ok()
    }
}

/// A part of a key, so that numbers sort as numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart {
    Number(u64),
    Text(String),
}

struct DescribedObject {
    kind: &'static str,
    fields: Rc<[DescribedField]>,
    values: Values,
}

/// A scalar as a word.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl DescribedObject {
    fn key(&self) -> Vec<KeyPart> {
        let keys = self.fields.iter().filter(|field| field.key).map(|field| &self.values[field.name]);
        keys.map(|value| value.as_u64().map_or_else(|| KeyPart::Text(word(value)), KeyPart::Number)).collect()
    }
    /// The paths and targets of its references.
    fn references(&self) -> Vec<(String, ObjectRef)> {
        let mut found = vec![];
        for (field, space) in self.fields.iter().filter_map(|field| Some((field, field.kind.space()?))) {
            match &self.values[field.name] {
                Value::Null => {}
                Value::Array(items) => {
                    let refer = |(at, item)| (format!("{}[{at}]", field.name), ObjectRef::new(space, word(item)));
                    found.extend(items.iter().enumerate().map(refer));
                }
                value => found.push((field.name.to_owned(), ObjectRef::new(space, word(value)))),
            }
        }
        found
    }
}

impl AnyObject for DescribedObject {
    fn id(&self) -> ObjectRef {
        let keys = self.fields.iter().filter(|field| field.key).map(|field| word(&self.values[field.name]));
        ObjectRef::new(self.kind, keys.collect::<Vec<_>>().join(" "))
    }
    fn provides(&self) -> Vec<ObjectRef> {
        vec![self.id()]
    }
    fn targets(&self, own: &[ObjectRef]) -> Vec<ObjectRef> {
        self.references().into_iter().map(|(_, target)| target).filter(|target| !own.contains(target)).collect()
    }
    fn paths(&self, own: &[ObjectRef]) -> Vec<String> {
        let references = self.references().into_iter().filter(|(_, target)| !own.contains(target));
        references.map(|(path, _)| path).collect()
    }
    fn without(&self, gone: &HashSet<ObjectRef>) -> Option<Rc<dyn AnyObject>> {
        let mut values = self.values.clone();
        for (field, space) in self.fields.iter().filter_map(|field| Some((field, field.kind.space()?))) {
            let is_gone = |value: &Value| gone.contains(&ObjectRef::new(space, word(value)));
            match values.get_mut(field.name) {
                Some(Value::Array(items)) if !items.is_empty() => {
                    items.retain(|item| !is_gone(item));
                    if items.is_empty() {
                        return None;
                    }
                }
                Some(value) if is_gone(value) => return None,
                _ => {}
            }
        }
        Some(Rc::new(DescribedObject { kind: self.kind, fields: self.fields.clone(), values }))
    }
    fn values(&self) -> Values {
        self.values.clone()
    }
    fn must_be_replaced_by(&self, new: &dyn AnyObject) -> bool {
        let new = new.values();
        self.fields.iter().any(|field| field.fixed && new.get(field.name) != self.values.get(field.name))
    }
    fn equals(&self, other: &dyn AnyObject) -> bool {
        other.as_any().downcast_ref::<DescribedObject>().is_some_and(|other| other.values == self.values)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

impl AnyKind for DescribedKind {
    fn name(&self) -> &'static str {
        self.name
    }
    fn doc(&self) -> &'static str {
        self.doc
    }
    fn fields(&self) -> Rc<[FieldInfo]> {
        self.infos.clone()
    }
    fn schema(&self) -> Value {
        derived::schema_of(self.doc, self.infos.to_vec())
    }
    fn parse(&self, values: &Values) -> Result<Rc<dyn AnyObject>, Vec<ObjectError>> {
        let mut problems = Problems::default();
        let names: Vec<_> = self.fields.iter().map(|field| field.name).collect();
        derived::unknown(values, &names, &mut problems);
        let mut read = Values::new();
        for (field, info) in self.fields.iter().zip(&*self.infos) {
            let value = problems.within(field.name, |problems| match (values.get(field.name), &info.default) {
                (Some(value), _) => field.read(value, problems),
                (None, Some(default)) => Some(default.clone()),
                (None, None) => {
                    problems.add("it is missing", format!("add '{}': {}", field.name, info.expected));
                    None
                }
            });
            value.into_iter().for_each(|value| drop(read.insert(field.name.to_owned(), value)));
        }
        match problems.found.is_empty() {
            true => Ok(Rc::new(DescribedObject { kind: self.name, fields: self.fields.clone(), values: read })),
            false => Err(problems.found),
        }
    }
    fn check(&self, object: &dyn AnyObject) -> Result<(), ObjectError> {
        (self.check)(&object.values()).map_err(|error| error.of(&object.id()))
    }
    fn running(&self) -> Vec<Rc<dyn AnyObject>> {
        self.running.any()
    }
    fn running_after(&self, last: Option<&dyn AnyObject>) -> Vec<Rc<dyn AnyObject>> {
        self.running.after(last)
    }
    fn sorted(&self, objects: Vec<Rc<dyn AnyObject>>) -> Vec<Rc<dyn AnyObject>> {
        self.running.sorted(objects)
    }
    fn find(&self, like: &dyn AnyObject) -> Option<Rc<dyn AnyObject>> {
        self.running.find(like)
    }
    fn apply(
        &self,
        control: &Control,
        old: Option<Rc<dyn AnyObject>>,
        new: Option<Rc<dyn AnyObject>>,
    ) -> Result<(), ObjectError> {
        self.running.change(old, new, |old, new| {
            match Change::between(old.map(|old| &old.values), new.map(|new| &new.values)) {
                Some(change) => (self.apply)(control, change),
                None => Ok(()),
            }
        })
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Objects {
    /// Registers a described kind; an error if there is a kind of this name.
    pub fn describe(&self, kind: DescribedKind) -> Result<(), ObjectError> {
        if self.kind_named(kind.name).is_some() {
            let what = format!("there is a kind of objects '{}' already", kind.name);
            return Err(ObjectError::whole(what).remedy("rename one of them"));
        }
        self.push(Rc::new(kind));
        Ok(())
    }
}

impl Control {
    /// Makes an object of the named kind run: changes these fields of the one with their key, or creates it with them.
    pub fn put_values(&self, kind: &str, values: Values) -> Result<(), ObjectError> {
        let kind = self.kind_for(kind)?;
        let mut wanted = find(&*kind, &values).map(|old| old.values()).unwrap_or_default();
        wanted.extend(values);
        let new =
            kind.read(&wanted).map_err(|errors| super::change::first(errors).of(&ObjectRef::new(kind.name(), "")))?;
        let old = kind.find(&*new);
        self.change(vec![super::Step::new(kind, old, Some(new))])
    }

    /// Deletes the object of the named kind whose key these values have.
    pub fn delete_values(&self, kind: &str, values: Values) -> Result<(), ObjectError> {
        let kind = self.kind_for(kind)?;
        let missing = || {
            let key: Vec<_> = values.values().map(word).collect();
            ObjectError::whole("it does not exist").of(&ObjectRef::new(kind.name(), key.join(" ")))
        };
        let old = Some(find(&*kind, &values).ok_or_else(missing)?);
        self.change(vec![super::Step::new(kind, old, None)])
    }

    fn kind_for(&self, name: &str) -> Result<Rc<dyn AnyKind>, ObjectError> {
        self.objects().kind_named(name).ok_or_else(|| {
            let kinds = self.objects().kinds();
            let near = nearest(name, kinds.iter().map(|kind| kind.name()));
            let remedy = near.map_or(String::new(), |near| format!("did you mean '{near}'?"));
            ObjectError::whole(format!("there is no kind of objects '{name}'")).remedy(remedy)
        })
    }
}

/// The running object with the key that is among these values.
fn find(kind: &dyn AnyKind, values: &Values) -> Option<Rc<dyn AnyObject>> {
    let keys: Vec<_> = kind.fields().iter().filter(|field| field.key).map(|field| field.name).collect();
    let same = |object: &Values| keys.iter().all(|key| object.get(*key).map(word) == values.get(*key).map(word));
    kind.running().into_iter().find(|object| same(&object.values()))
}
