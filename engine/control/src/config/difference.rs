//! What differs between two configurations, as lines and as JSON.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::write;
use crate::cli::Reply;
use crate::object::{Instance, Step};
use crate::pace::Pace;

/// The differences that these steps make.
///
/// ```text
/// + taps tap1
///     namespace: left
/// ~ bridge-domains 1
///   - learn: true
///   + learn: false
/// - taps tap0
/// ```
pub(crate) async fn describe(steps: &[Step], pace: &mut Pace) -> Reply {
    let mut text = String::new();
    let mut list = Vec::new();
    for step in steps {
        pace.step().await;
        let all = step.kind.fields();
        let values = |instance: &Rc<Instance>| super::concise(instance.object.values(), &all);
        let (old, new) = (step.old.as_ref().map(values), step.new.as_ref().map(values));
        let (sign, change) = match (&old, &new) {
            (None, _) => ('+', "create"),
            (_, None) => ('-', "delete"),
            _ => ('~', "update"),
        };
        text.push_str(&format!("{sign} {}\n", step.id()));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let mut fields = Vec::new();
        for field in &all {
            // A value that is left out is as its default.
            let of = |values: &Map<String, Value>| values.get(field.name).or(field.default.as_ref()).cloned();
            let (before, after) = (of(&old), of(&new));
            let lines = match change {
                "update" if before != after => [("  - ", &before), ("  + ", &after)].to_vec(),
                // Of a new object, what is not as it would be anyway; of an old one, that it goes is enough.
                "create" if !field.key && after != field.default => vec![("    ", &after)],
                _ => continue,
            };
            for (sign, value) in lines {
                text.push_str(&format!("{sign}{}: {}\n", field.name, one_line(value.as_ref().unwrap_or(&Value::Null))));
            }
            fields.push(json!({"field": field.name, "old": before, "new": after}));
        }
        list.push(json!({"change": change, "object": step.id().to_string(), "fields": fields}));
    }
    Reply::new(text, Value::Array(list))
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
        scalar => write::scalar(scalar),
    }
}
