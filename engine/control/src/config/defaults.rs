//! Leaves out values that equal their default.

use serde_json::{Map, Value};

use crate::object::FieldInfo;

/// The values without those that are as their default; keys stay.
pub(super) fn concise(mut values: Map<String, Value>, fields: &[FieldInfo]) -> Map<String, Value> {
    for field in fields {
        let Some(value) = values.get_mut(field.name) else { continue };
        if !field.key && field.default.as_ref() == Some(value) {
            // Not swap_remove: the order of the fields stays.
            values.shift_remove(field.name);
        } else if !field.fields.is_empty() {
            *value = concise_inside(std::mem::take(value), &field.fields);
        }
    }
    values
}

/// The same for the record, or for each record of the list, that `value` is.
pub(super) fn concise_inside(value: Value, fields: &[FieldInfo]) -> Value {
    match value {
        value if fields.is_empty() => value,
        Value::Object(values) => Value::Object(concise(values, fields)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| concise_inside(item, fields)).collect()),
        value => value,
    }
}
