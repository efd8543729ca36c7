//! Fields and records: how typed structs read and write JSON-like values, with every problem told apart by its path.

use std::fmt;

use serde_json::{Map, Value, json};

use super::error::UNKNOWN;
use super::scalar::Scalar;
use super::{ObjectError, ObjectRef};

/// Text that is shown in place of a secret. No secret has this value.
pub const HIDDEN: &str = "<hidden>";

/// Description of a record's field: one source for file, schema, documentation and help.
#[derive(Clone, Debug)]
pub struct FieldInfo {
    /// The name in files and documentation (`mac-age`).
    pub name: &'static str,
    /// The doc comment.
    pub doc: &'static str,
    /// Expected input, as it stands after "expected".
    pub expected: String,
    /// The value when it is left out; nothing if it must be given.
    pub default: Option<Value>,
    /// Whether it is part of the object's key.
    pub key: bool,
    /// Whether a change of it replaces the object.
    pub fixed: bool,
    /// Whether it is shown only on request.
    pub secret: bool,
    /// The JSON schema of its value.
    pub schema: Value,
    /// The fields of the record, or of the records in the list, that stands here.
    pub fields: Vec<FieldInfo>,
}

/// Type of a field: a scalar, an `Option`, a `Vec`, or a [`Record`].
pub trait Field: Sized + 'static {
    /// Reads the value, and adds all errors to `problems`.
    fn read(value: &Value, problems: &mut Problems) -> Option<Self>;
    /// Writes the value as [`Field::read`] takes it.
    fn write(&self) -> Value;
    /// The same; records inside leave out fields that are as their default.
    fn write_concise(&self) -> Value {
        self.write()
    }
    /// The value as a difference to another one tells it, or as a new object's: as [`Field::write_concise`] writes it, but of a list of
    /// very many items only their number and those that differ, see [`list_difference`].
    fn write_difference(&self, _other: Option<&Self>) -> Value {
        self.write_concise()
    }
    /// Whether both are written the same.
    fn is(&self, other: &Self) -> bool {
        self.write() == other.write()
    }
    /// The value of a field that is left out, where the type has one.
    fn absent() -> Option<Self> {
        None
    }
    /// Calls `found` with the place and the target of every reference in the value, which stands at a place itself.
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef));
    /// The value without references to names that are gone; a list keeps its other items. None if the value cannot
    /// exist without them, or if a list has lost its last item.
    fn without(self, gone: &dyn Fn(&ObjectRef) -> bool) -> Option<Self> {
        let mut refers = false;
        self.references(&Place::Whole, &mut |_, target| refers |= gone(&target));
        (!refers).then_some(self)
    }
    /// Expected input, as it stands after "expected".
    fn expected() -> String;
    /// The JSON schema.
    fn schema() -> Value;
    /// The fields of records inside.
    fn fields() -> Vec<FieldInfo> {
        Vec::new()
    }
}

/// A struct of fields. Derive it: `#[derive(Record)]`, with `#[default(...)]` where a field has a default other than
/// that of its type (`Option`: none; `Vec`: empty).
pub trait Record: Sized + 'static {
    /// The doc comment of the struct.
    const DOC: &'static str;
    /// The fields, in order.
    fn record_fields() -> Vec<FieldInfo>;
    /// Reads the record from the values of its fields.
    fn read_record(values: &Map<String, Value>, problems: &mut Problems) -> Option<Self>;
    /// The values of all fields, in order.
    fn write_record(&self) -> Map<String, Value>;
    /// The same without those that are as their default; keys stay.
    fn write_concise_record(&self) -> Map<String, Value>;
    /// The fields that differ from those of another record, or from their defaults, as [`Field::write_difference`] writes them; keys
    /// of a record that is compared with its defaults stay.
    fn write_record_difference(&self, other: Option<&Self>) -> Map<String, Value>;
    /// Calls `found` with the place and the target of every reference in the record, which stands at a place itself.
    fn record_references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef));
    /// The record without references to names that are gone; see [`Field::without`].
    fn record_without(self, gone: &dyn Fn(&ObjectRef) -> bool) -> Option<Self>;
}

/// Items of a list up to which a difference tells all of them.
const TOLD_MAX: usize = 256;

/// A list as a difference tells it: all of its items if they are few; otherwise their number and, beside another list, the items
/// between those that both begin and end with, or their range: `{"items": 10000, "from": 17, "changed": [...]}`.
pub fn list_difference<T: Field>(items: &[T], other: Option<&[T]>, same: impl Fn(&T, &T) -> bool) -> Value {
    let write = |items: &[T]| Value::Array(items.iter().map(T::write_concise).collect());
    if items.len().max(other.map_or(0, <[T]>::len)) <= TOLD_MAX {
        return write(items);
    }
    let Some(other) = other else { return json!({"items": items.len()}) };
    let from = items.iter().zip(other).take_while(|(one, other)| same(one, other)).count();
    let (rest, other) = (&items[from..], &other[from..]);
    let behind = rest.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| same(one, other)).count();
    let changed = &rest[..rest.len() - behind];
    match changed.len() <= TOLD_MAX {
        true => json!({"items": items.len(), "from": from, "changed": write(changed)}),
        false => json!({"items": items.len(), "from": from, "to": from + changed.len()}),
    }
}

/// Collects the errors of a value, each with the path of its field.
#[derive(Debug, Default)]
pub struct Problems {
    path: String,
    /// Problems found so far.
    pub found: Vec<ObjectError>,
}

impl Problems {
    /// Notes a problem at the field that is being read.
    pub fn add(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        let error = ObjectError::field(self.path.clone(), what).remedy(remedy);
        self.found.push(error);
    }

    /// Runs `read` one step further down the path.
    pub fn within<T>(&mut self, step: &str, read: impl FnOnce(&mut Problems) -> T) -> T {
        let length = self.path.len();
        self.path = join(&self.path, step);
        let result = read(self);
        self.path.truncate(length);
        result
    }
}

/// Where in an object a value stands. It is a text only where something is wrong there.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The object itself.
    Whole,
    /// A field of the record at a place.
    Field(&'a Place<'a>, &'a str),
    /// An item of the list at a place.
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Field(Place::Whole, name) => f.write_str(name),
            Place::Field(of, name) => write!(f, "{of}.{name}"),
            Place::Item(of, index) => write!(f, "{of}[{index}]"),
        }
    }
}

/// A path one step longer: `paths` and `[1]` are `paths[1]`, `paths[1]` and `via` are `paths[1].via`.
pub fn join(path: &str, step: &str) -> String {
    let dot = if path.is_empty() || step.starts_with('[') { "" } else { "." };
    format!("{path}{dot}{step}")
}

impl<T: Scalar> Field for T {
    fn read(value: &Value, problems: &mut Problems) -> Option<Self> {
        match T::from_value(value) {
            Ok(scalar) => Some(scalar),
            Err(reason) if reason.is_empty() => {
                problems.add(format!("{} cannot stand here", describe(value)), format!("expected {}", T::EXPECTED));
                None
            }
            Err(reason) => {
                problems.add(reason, format!("expected {}", T::EXPECTED));
                None
            }
        }
    }
    fn write(&self) -> Value {
        self.to_value()
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        if let Some(space) = T::SPACE {
            found(at, ObjectRef::new(space, self.to_string()));
        }
    }
    fn expected() -> String {
        T::EXPECTED.to_owned()
    }
    fn schema() -> Value {
        T::schema()
    }
}

impl<T: Field> Field for Option<T> {
    fn read(value: &Value, problems: &mut Problems) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::read(value, problems).map(Some),
        }
    }
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }
    fn write_concise(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write_concise)
    }
    fn write_difference(&self, other: Option<&Self>) -> Value {
        let other = other.and_then(Option::as_ref);
        self.as_ref().map_or(Value::Null, |value| value.write_difference(other))
    }
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(one), Some(other)) => one.is(other),
            (one, other) => one.is_none() == other.is_none(),
        }
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        if let Some(value) = self {
            value.references(at, found);
        }
    }
    fn without(self, gone: &dyn Fn(&ObjectRef) -> bool) -> Option<Self> {
        match self {
            Some(value) => value.without(gone).map(Some),
            None => Some(None),
        }
    }
    fn expected() -> String {
        T::expected()
    }
    fn schema() -> Value {
        derived::or_null(T::schema())
    }
    fn fields() -> Vec<FieldInfo> {
        T::fields()
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(value: &Value, problems: &mut Problems) -> Option<Self> {
        let Value::Array(items) = value else {
            problems.add(format!("{} cannot stand here", describe(value)), format!("expected {}", Self::expected()));
            return None;
        };
        // Every item is read, so that every problem is told; one bad item spoils the list.
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| problems.within(&format!("[{index}]"), |problems| T::read(item, problems)))
            .collect();
        read.into_iter().collect()
    }
    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).collect())
    }
    fn write_concise(&self) -> Value {
        Value::Array(self.iter().map(T::write_concise).collect())
    }
    fn write_difference(&self, other: Option<&Self>) -> Value {
        list_difference(self, other.map(Vec::as_slice), T::is)
    }
    fn is(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(one, other)| one.is(other))
    }
    fn absent() -> Option<Self> {
        Some(Vec::new())
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        for (index, item) in self.iter().enumerate() {
            item.references(&Place::Item(at, index), found);
        }
    }
    fn without(self, gone: &dyn Fn(&ObjectRef) -> bool) -> Option<Self> {
        let was_empty = self.is_empty();
        let rest: Vec<T> = self.into_iter().filter_map(|item| item.without(gone)).collect();
        (was_empty || !rest.is_empty()).then_some(rest)
    }
    fn expected() -> String {
        format!("a list, each item {}", T::expected())
    }
    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }
    fn fields() -> Vec<FieldInfo> {
        T::fields()
    }
}

/// Describes the type of a value, for messages.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

/// Functions that derived code calls; not for use by hand.
#[doc(hidden)]
pub mod derived {
    use super::*;
    pub use crate::object::{Object, ObjectRef, Record};
    pub use serde_json::{Map, Value};

    /// The facts of one field.
    pub fn info<T: Field>(
        name: &'static str,
        doc: &'static str,
        default: Option<T>,
        key: bool,
        fixed: bool,
        secret: bool,
    ) -> FieldInfo {
        FieldInfo {
            name,
            doc,
            expected: T::expected(),
            default: default.or_else(T::absent).map(|value| value.write()),
            key,
            fixed,
            secret,
            schema: T::schema(),
            fields: T::fields(),
        }
    }

    /// Whether a field is as its default.
    pub fn is_default<T: Field>(value: &T, default: Option<T>) -> bool {
        default.or_else(T::absent).is_some_and(|default| value.is(&default))
    }

    /// Reads one field of a record: its value, or its default, or a problem.
    pub fn field<T: Field>(
        values: &Map<String, Value>,
        name: &'static str,
        default: Option<T>,
        problems: &mut Problems,
    ) -> Option<T> {
        let value = match values.get(name) {
            Some(value) => value,
            None => match default.or_else(T::absent) {
                Some(value) => return Some(value),
                None => {
                    let remedy = format!("add '{name}': {}", T::expected());
                    problems.within(name, |problems| problems.add("it is missing", remedy));
                    return None;
                }
            },
        };
        problems.within(name, |problems| T::read(value, problems))
    }

    /// Notes the names in `values` that no field has.
    pub fn unknown(values: &Map<String, Value>, names: &[&'static str], problems: &mut Problems) {
        for name in values.keys().filter(|name| !names.contains(&name.as_str())) {
            let remedy = match crate::cli::nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("the fields are: {}", names.join(", ")),
            };
            problems.within(name, |problems| problems.add(UNKNOWN, remedy));
        }
    }

    /// Reads a record from a value that should be a mapping.
    pub fn read<R: Record>(value: &Value, problems: &mut Problems) -> Option<R> {
        match value {
            Value::Object(values) => R::read_record(values, problems),
            other => {
                problems.add(format!("{} cannot stand here", describe(other)), format!("expected {}", expected::<R>()));
                None
            }
        }
    }

    /// Expected input for a record, as it stands after "expected".
    pub fn expected<R: Record>() -> String {
        let names: Vec<_> = R::record_fields().iter().map(|field| field.name).collect();
        format!("a mapping of {}", names.join(", "))
    }

    /// The JSON schema of a record.
    pub fn schema<R: Record>() -> Value {
        schema_of(R::DOC, R::record_fields())
    }

    /// The JSON schema of a value or null.
    pub fn or_null(mut schema: Value) -> Value {
        match schema.get_mut("type") {
            Some(kind) => *kind = json!([kind.take(), "null"]),
            None => match schema.get_mut("anyOf").and_then(Value::as_array_mut) {
                Some(choices) => choices.push(json!({"type": "null"})),
                None => {
                    let words = schema.get_mut("enum").and_then(Value::as_array_mut);
                    words.into_iter().for_each(|words| words.push(Value::Null));
                }
            },
        }
        schema
    }

    /// The JSON schema of a record with these fields.
    pub fn schema_of(doc: &str, fields: Vec<FieldInfo>) -> Value {
        let required: Vec<_> = fields.iter().filter(|field| field.default.is_none()).map(|field| field.name).collect();
        let mut properties = Map::new();
        for field in fields {
            let mut schema = field.schema;
            if let (Value::Object(schema), Some(default)) = (&mut schema, field.default) {
                schema.insert("default".to_owned(), default);
            }
            if let Value::Object(schema) = &mut schema {
                schema.insert("description".to_owned(), Value::from(field.doc));
            }
            properties.insert(field.name.to_owned(), schema);
        }
        json!({
            "type": "object",
            "description": doc,
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}
