//! Differences between two configurations, as lines and as JSON.

use serde::Serialize;
use serde_json::{Map, Value};

use super::defaults::{concise_inside, concise_values};
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
pub(crate) async fn list_differences(control: &Control, output: &Output, steps: impl Iterator<Item = Step>) -> Reply {
    let mut listing = Listing::new(control, output);
    for step in steps {
        listing.step().await;
        let difference = Difference::of(&step);
        difference.write(listing.text());
        listing.element(|| difference.into_json());
    }
    listing.end()
}

/// Changes that a step makes.
#[derive(Serialize)]
pub(crate) struct Difference {
    change: Change,
    object: String,
    fields: Vec<ChangedField>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Change {
    Create,
    Update,
    Delete,
}

/// A field that is not as it was, or, of a new object, as it would be anyway. A value that is left out is as its default.
#[derive(Serialize)]
struct ChangedField {
    #[serde(rename = "field")]
    name: &'static str,
    old: Option<Value>,
    new: Option<Value>,
}

impl ChangedField {
    /// The same without its secrets.
    fn without_secrets(mut self, field: &FieldInfo) -> ChangedField {
        for value in [&mut self.old, &mut self.new].into_iter().flatten() {
            secrets::hide_of(value, field);
        }
        self
    }
}

impl Difference {
    pub fn of(step: &Step) -> Difference {
        let change = match (&step.old, &step.new) {
            (None, _) => Change::Create,
            (_, None) => Change::Delete,
            _ => Change::Update,
        };
        let all = step.kind.fields();
        // Of a long object not all is told: a list of thousands of items is in the configuration.
        let short = |one: &Instance, other: Option<&Instance>| {
            let objects = [Some(&one.object), other.map(|other| &other.object)];
            let is_long = objects.into_iter().flatten().any(|object| step.kind.is_long(&**object));
            is_long.then(|| one.object.difference(other.map(|other| &*other.object)))?
        };
        let fields = match (&step.old, &step.new) {
            (None, Some(new)) => {
                let values = short(new, None).unwrap_or_else(|| concise_values(&*new.object, &all));
                created(&all, values)
            }
            (Some(old), Some(new)) if let Some((old, new)) = short(old, Some(new)).zip(short(new, Some(old))) => {
                let sides = by_field(old, &all).into_iter().zip(by_field(new, &all));
                let told = all.iter().zip(sides).filter(|(_, (old, new))| old.is_some() || new.is_some());
                let field = |(field, (old, new)): (&FieldInfo, _)| {
                    ChangedField { name: field.name, old, new }.without_secrets(field)
                };
                told.map(field).collect()
            }
            (Some(old), Some(new)) => {
                let sides = by_field(old.object.values(), &all).into_iter().zip(by_field(new.object.values(), &all));
                all.iter().zip(sides).filter_map(|(field, (old, new))| updated(field, old, new)).collect()
            }
            // Of an old object, that it goes is enough.
            _ => vec![],
        };
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
        let field = |ChangedField { name, old, new }: ChangedField| {
            mapping([("field", name.into()), ("old", old.unwrap_or_default()), ("new", new.unwrap_or_default())])
        };
        let fields = self.fields.into_iter().map(field).collect();
        // A word: it cannot fail to be written.
        let change = serde_json::to_value(self.change).unwrap_or_default();
        mapping([("change", change), ("object", self.object.into()), ("fields", fields)])
    }
}

/// A mapping of these values. PERF: `json!` would copy them.
fn mapping<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
}

/// The fields of a new object that are not as their default; its key is in its name.
fn created(fields: &[FieldInfo], mut values: Map<String, Value>) -> Vec<ChangedField> {
    let told = fields.iter().filter(|field| !field.key).filter_map(|field| {
        let new = values.get_mut(field.name).map(Value::take)?;
        Some(ChangedField { name: field.name, old: field.default.clone(), new: Some(new) }.without_secrets(field))
    });
    told.collect()
}

/// The change of a field; none where there is nothing to tell.
fn updated(field: &FieldInfo, old: Option<Value>, new: Option<Value>) -> Option<ChangedField> {
    let of = |value: Option<Value>| match value {
        Some(value) if field.default.as_ref() != Some(&value) => Some(concise_inside(value, &field.fields)),
        _ => field.default.clone(),
    };
    let (old, new) = (of(old), of(new));
    (old != new).then(|| ChangedField { name: field.name, old, new }.without_secrets(field))
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
