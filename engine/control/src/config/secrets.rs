//! Secrets in configurations: hidden unless a command asks for them.

use serde_json::{Map, Value};

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
