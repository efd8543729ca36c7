//! Leaves out values that equal their default.

use serde_json::{Map, Value};

use crate::object::{AnyObject, FieldInfo};

/// The values of an object without those that are as their default; keys stay.
///
/// PERF: most fields of most objects are as their default. Those are not even written, where the object's type can tell.
pub(super) fn concise_values(object: &dyn AnyObject, fields: &[FieldInfo]) -> Map<String, Value> {
    let Some(values) = object.concise_values() else { return concise(object.values(), fields) };
    debug_assert_eq!(values, concise(object.values(), fields), "both ways agree");
    values
}

/// The values without those that are as their default; keys stay.
fn concise(mut values: Map<String, Value>, fields: &[FieldInfo]) -> Map<String, Value> {
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
