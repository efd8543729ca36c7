//! Differences between two configurations, as lines and as JSON.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::defaults::concise;
use super::{secrets, write};
use crate::cli::{Listing, Output, Reply};
use crate::control::Control;
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
    let (mut text, mut list) = (String::new(), Vec::new());
    for step in steps {
        pace.step().await;
        list.push(difference(step, &mut text));
    }
    Reply::new(text, Value::Array(list))
}

/// The same, given out as it is made; the steps are freed on the way.
pub(crate) async fn list_differences(control: &Control, output: &Output, steps: Vec<Step>) -> Reply {
    let mut listing = Listing::new(control, output);
    for step in steps {
        listing.step().await;
        let json = difference(&step, listing.text());
        listing.element(|| json);
    }
    listing.end()
}

/// Writes the differences that a step makes, and tells them as JSON.
fn difference(step: &Step, text: &mut String) -> Value {
    let all = step.kind.fields();
    let values = |instance: &Rc<Instance>| concise(instance.object.values(), &all);
    let (old, new) = (step.old.as_ref().map(values), step.new.as_ref().map(values));
    let (sign, change) = match (&old, &new) {
        (None, _) => ('+', "create"),
        (_, None) => ('-', "delete"),
        _ => ('~', "update"),
    };
    text.push_str(&format!("{sign} {}\n", step.id()));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let mut fields = Vec::new();
    for field in &*all {
        // A value that is left out is as its default.
        let of = |values: &Map<String, Value>| values.get(field.name).or(field.default.as_ref()).cloned();
        let (mut before, mut after) = (of(&old), of(&new));
        let is_other = before != after;
        for value in [&mut before, &mut after].into_iter().flatten() {
            secrets::hide_of(value, field);
        }
        let lines = match change {
            "update" if is_other => [("  - ", &before), ("  + ", &after)].to_vec(),
            // Of a created object only values other than the defaults are shown; of a deleted one only its deletion.
            "create" if !field.key && after != field.default => vec![("    ", &after)],
            _ => continue,
        };
        for (sign, value) in lines {
            text.push_str(&format!("{sign}{}: {}\n", field.name, one_line(value.as_ref().unwrap_or(&Value::Null))));
        }
        fields.push(json!({"field": field.name, "old": before, "new": after}));
    }
    json!({"change": change, "object": step.id().to_string(), "fields": fields})
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
        scalar => write::scalar(scalar),
    }
}
