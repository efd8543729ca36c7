//! Differences between two configurations, as lines and as JSON.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::defaults::concise_inside;
use super::{secrets, write};
use crate::cli::{Listing, Output, Reply};
use crate::control::Control;
use crate::object::{FieldInfo, Instance, Step};
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
        let difference = Difference::of(step);
        difference.write(&mut text);
        list.push(difference.into_json());
    }
    Reply::new(text, Value::Array(list))
}

/// The same, given out as it is made; the steps are freed on the way.
pub(crate) async fn list_differences(control: &Control, output: &Output, steps: Vec<Step>) -> Reply {
    let mut listing = Listing::new(control, output);
    for step in steps {
        listing.step().await;
        let difference = Difference::of(&step);
        difference.write(listing.text());
        listing.element(|| difference.into_json());
    }
    listing.end()
}

/// The same as JSON alone.
pub(crate) fn differences(steps: &[Step]) -> Vec<Value> {
    steps.iter().map(|step| Difference::of(step).into_json()).collect()
}

/// Changes that a step makes.
struct Difference {
    object: String,
    change: Change,
    fields: Vec<ChangedField>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Create,
    Update,
    Delete,
}

/// A field that is not as it was, or, of a new object, as it would be anyway. A value that is left out is as its default.
struct ChangedField {
    name: &'static str,
    old: Option<Value>,
    new: Option<Value>,
}

impl Difference {
    fn of(step: &Step) -> Difference {
        let change = match (&step.old, &step.new) {
            (None, _) => Change::Create,
            (_, None) => Change::Delete,
            _ => Change::Update,
        };
        let mut fields = vec![];
        // Of an old object, that it goes is enough.
        if change != Change::Delete {
            let all = step.kind.fields();
            let values = |instance: &Option<Rc<Instance>>| {
                let values = instance.as_ref().map(|instance| instance.object.values());
                by_field(values.unwrap_or_default(), &all)
            };
            let sides = values(&step.old).into_iter().zip(values(&step.new));
            fields.extend(all.iter().zip(sides).filter_map(|(field, (old, new))| changed(change, field, old, new)));
        }
        Difference { object: step.id().to_string(), change, fields }
    }

    fn write(&self, text: &mut String) {
        let sign = match self.change {
            Change::Create => '+',
            Change::Update => '~',
            Change::Delete => '-',
        };
        text.push_str(&format!("{sign} {}\n", self.object));
        for ChangedField { name, old, new } in &self.fields {
            let lines = match self.change {
                Change::Update => [("  - ", old), ("  + ", new)].to_vec(),
                _ => vec![("    ", new)],
            };
            for (sign, value) in lines {
                text.push_str(&format!("{sign}{name}: {}\n", one_line(value.as_ref().unwrap_or(&Value::Null))));
            }
        }
    }

    fn into_json(self) -> Value {
        let change = match self.change {
            Change::Create => "create",
            Change::Update => "update",
            Change::Delete => "delete",
        };
        let field = |ChangedField { name, old, new }| json!({"field": name, "old": old, "new": new});
        let fields = Value::Array(self.fields.into_iter().map(field).collect());
        // PERF: `json!` would copy the fields.
        let whole = [("change", change.into()), ("object", self.object.into()), ("fields", fields)];
        Value::Object(whole.map(|(name, value): (&str, Value)| (name.to_owned(), value)).into_iter().collect())
    }
}

/// The change of a field; none where there is nothing to tell.
fn changed(change: Change, field: &FieldInfo, old: Option<Value>, new: Option<Value>) -> Option<ChangedField> {
    // What is inside may be left out, too, or be a secret that hides what it is.
    let is_plain = field.fields.is_empty() && !field.secret;
    let is_default = new.is_none() || new == field.default;
    if change == Change::Create && (field.key || is_plain && is_default) {
        return None;
    }
    let of = |value: Option<Value>| match value {
        Some(value) if field.default.as_ref() != Some(&value) => Some(concise_inside(value, &field.fields)),
        _ => field.default.clone(),
    };
    let (mut old, mut new) = (of(old), of(new));
    let is_other = old != new;
    for value in [&mut old, &mut new].into_iter().flatten() {
        secrets::hide_of(value, field);
    }
    let is_told = match change {
        Change::Create => new != field.default,
        Change::Update => is_other,
        Change::Delete => false,
    };
    is_told.then_some(ChangedField { name: field.name, old, new })
}

/// The values of a record in the order of its fields.
fn by_field(values: Map<String, Value>, fields: &[FieldInfo]) -> Vec<Option<Value>> {
    let (mut found, mut next) = (vec![None; fields.len()], 0);
    for (name, value) in values {
        // Records have their fields in order, so a search begins behind the last one.
        let place = (next..fields.len()).chain(0..next).find(|place| fields[*place].name == name);
        if let Some(place) = place {
            (found[place], next) = (Some(value), place + 1);
        }
    }
    found
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
        scalar => write::scalar(scalar),
    }
}
