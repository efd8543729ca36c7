//! Secrets in configurations: hidden unless a command asks for them.

use serde_json::{Map, Value};

use super::{HEADING, write};
use crate::control::Control;
use crate::object::{FieldInfo, HIDDEN};

/// Hides the secrets of a record; true if there are any.
pub(super) fn hide(values: &mut Map<String, Value>, fields: &[FieldInfo]) -> bool {
    fields.iter().fold(false, |found, field| match values.get_mut(field.name) {
        Some(value) => hide_of(value, field) || found,
        None => found,
    })
}

/// Hides the secrets in the value of a field; true if there are any.
pub(super) fn hide_of(value: &mut Value, field: &FieldInfo) -> bool {
    match value {
        Value::Null => false,
        value if field.secret => {
            *value = HIDDEN.into();
            true
        }
        Value::Object(values) => hide(values, &field.fields),
        Value::Array(items) => {
            let mut found = false;
            for values in items.iter_mut().filter_map(Value::as_object_mut) {
                found |= hide(values, &field.fields);
            }
            found
        }
        _ => false,
    }
}

/// A file without its secrets, as text and as JSON, which it is given as; a file without any is left as it is.
pub(crate) fn without_secrets(control: &Control, text: String, mut value: Value) -> (String, Value) {
    let Some(sections) = value.as_object_mut() else { return (text, value) };
    let mut found = false;
    for kind in control.objects().kinds() {
        let (fields, records) = (kind.fields(), sections.get_mut(kind.name()).and_then(Value::as_array_mut));
        let records = records.into_iter().flatten().filter_map(Value::as_object_mut);
        found = records.fold(found, |found, values| hide(values, &fields) || found);
    }
    if !found {
        return (text, value);
    }
    let mut text = HEADING.to_owned();
    for (name, records) in sections.iter() {
        write::section(&mut text, name);
        records.as_array().into_iter().flatten().for_each(|record| write::record(&mut text, record));
    }
    (text, value)
}
