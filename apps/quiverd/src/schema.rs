//! The schema of configuration files compared with their reader: field by field, of all kinds.
//!
//! Texts are only compared where the schema knows which there are, by an enumeration: it says of others that they are texts.

use quiver_control::serde_json::{Map, Value, json};
use quiver_control::{Control, docs};

use crate::pages::with_control;

/// A field of a kind: its schema, and where its value stands in an object.
struct Leaf<'s> {
    kind: &'s str,
    /// Names of fields from the object's own on, each with whether a list stands there.
    path: Vec<(&'s str, bool)>,
    schema: &'s Value,
}

impl Leaf<'_> {
    /// Whether the field can have this value, as far as it can be told by the value alone.
    fn is_read(&self, control: &Control, value: &Value) -> bool {
        let mut inside = value.clone();
        for (name, is_list) in self.path.iter().rev() {
            let item = if *is_list { json!([inside]) } else { inside };
            inside = Value::from(Map::from_iter([((*name).to_owned(), item)]));
        }
        let steps = self.path.iter().map(|(name, is_list)| format!("{name}{}", if *is_list { "[0]" } else { "" }));
        let path = steps.collect::<Vec<_>>().join(".");
        let values = inside.as_object().cloned().unwrap_or_default();
        let problems = docs::problems(control, self.kind, &values);
        !problems.iter().any(|problem| {
            let rest = problem.field.strip_prefix(&path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}

/// The fields below a schema of an object.
fn leaves<'s>(kind: &'s str, path: &[(&'s str, bool)], schema: &'s Value, found: &mut Vec<Leaf<'s>>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let step = |is_list| [path, &[(name.as_str(), is_list)]].concat();
        found.push(Leaf { kind, path: step(false), schema: field });
        match &field["items"] {
            Value::Null if field["properties"].is_null() => {}
            Value::Null => leaves(kind, &step(false), field, found),
            items if items["properties"].is_null() => found.push(Leaf { kind, path: step(true), schema: items }),
            items => leaves(kind, &step(true), items, found),
        }
    }
}

/// Whether a schema takes a value: as much of JSON Schema as ours say.
fn takes(schema: &Value, value: &Value) -> bool {
    const KNOWN: [&str; 14] = [
        "$schema",
        "title",
        "type",
        "description",
        "default",
        "minimum",
        "maximum",
        "enum",
        "anyOf",
        "items",
        "properties",
        "required",
        "additionalProperties",
        "pattern",
    ];
    for word in schema.as_object().expect("a schema is an object").keys() {
        assert!(KNOWN.contains(&word.as_str()), "the schema says {word}, which this test does not know");
    }
    let is_of = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type {other}"),
    };
    let fits_type = match &schema["type"] {
        Value::Null => true,
        Value::String(kind) => is_of(kind),
        kinds => kinds.as_array().is_some_and(|kinds| kinds.iter().filter_map(Value::as_str).any(is_of)),
    };
    let in_bounds = value.as_f64().is_none_or(|number| {
        schema["minimum"].as_f64().is_none_or(|least| number >= least)
            && schema["maximum"].as_f64().is_none_or(|most| number <= most)
    });
    let is_listed = schema["enum"].as_array().is_none_or(|words| words.contains(value));
    let is_any = schema["anyOf"].as_array().is_none_or(|any| any.iter().any(|schema| takes(schema, value)));
    let items = value.as_array().into_iter().flatten();
    let has_items = schema["items"].is_null() || items.into_iter().all(|item| takes(&schema["items"], item));
    let has_fields = value.as_object().is_none_or(|fields| has_fields(schema, fields));
    fits_type && in_bounds && is_listed && is_any && has_items && has_fields
}

fn has_fields(schema: &Value, fields: &Map<String, Value>) -> bool {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let properties = &schema["properties"];
    let fits = |(name, value): (&String, &Value)| match &properties[name.as_str()] {
        Value::Null => schema["additionalProperties"] != false,
        schema => takes(schema, value),
    };
    required.into_iter().all(|name| fields.contains_key(name)) && fields.iter().all(fits)
}

/// Values that a schema accepts: of each choice the ends and the values in between. No texts but enumerated ones.
fn generated(schema: &Value) -> Vec<Value> {
    if let Some(any) = schema["anyOf"].as_array() {
        return any.iter().flat_map(generated).collect();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.clone();
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => vec![kind.as_str().unwrap_or_default()],
    };
    let of = |kind: &str| match kind {
        "null" => vec![Value::Null],
        "boolean" => vec![true.into(), false.into()],
        "integer" => {
            let [least, most] = ["minimum", "maximum"].map(|end| schema[end].as_u64().expect("numbers have bounds"));
            let between = (0..64).map(|bits| 1_u64 << bits).filter(|number| (least..=most).contains(number));
            between.chain([least, most]).map(Value::from).collect()
        }
        "number" => ["minimum", "maximum"].map(|end| schema[end].clone()).into_iter().chain([json!(1.5)]).collect(),
        "array" => vec![json!([])],
        _ => vec![],
    };
    kinds.into_iter().flat_map(of).collect()
}

/// Values in each spelling that people use. The schema of a field must accept those that the field accepts.
fn spellings() -> Vec<Value> {
    let numbers = [0_u64, 1, 2, 7, 23, 64, 68, 80, 128, 255, 256, 1000, 1500, 4094, 4095, 65_535, 65_536, 1 << 32];
    let words = "any all default none true false on off up down yes imix tap0 tap0.10 tap0.4294967295 pg0 loop0 drop transmit \
        mark-46 permit deny 1.5 -1 10.0.0.1 10.0.0.0/8 10.0.0.1/24 :: 2001:db8::1 2001:db8::/32 2001:db8::1/64 fe80::1 \
        02:00:00:00:00:01 01:00:5e:00:00:01 1000-1999 64-1500 3x64,1x1518 64,128 random:1-5 drawn:3:1-9 \
        10.0.0.1-10.0.0.9 20-10";
    let texts = words.split_whitespace().map(Value::from).chain([json!("")]);
    let as_text = numbers.iter().map(|number| Value::from(number.to_string()));
    let others = [json!(null), json!(true), json!(false), json!(-1), json!(0.5), json!(1.5), json!(1e6)];
    let nested = [json!([]), json!({}), json!([1]), json!(["tap0"]), json!([null]), json!({"a": 1})];
    numbers.iter().map(|number| Value::from(*number)).chain(as_text).chain(texts).chain(others).chain(nested).collect()
}

#[tokio::test]
async fn the_schema_takes_what_is_read_and_what_it_takes_is_read() {
    with_control(compare).await;
}

fn compare(control: &Control) {
    let schema = docs::schema(control);
    let mut found = vec![];
    // An empty file, and a heading with nothing below it.
    assert!(takes(&schema, &Value::Null));
    for (kind, section) in schema["properties"].as_object().expect("sections") {
        assert!(takes(&schema, &Value::from(Map::from_iter([(kind.clone(), Value::Null)]))), "{kind}");
        leaves(kind, &[], &section["items"], &mut found);
    }
    assert!(found.len() > 200, "{} fields", found.len());
    let spellings = spellings();
    let mut wrong = vec![];
    for leaf in &found {
        let name = || format!("{} {:?}", leaf.kind, leaf.path.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for value in generated(leaf.schema) {
            assert!(takes(leaf.schema, &value), "{}: {value}", name());
            if !leaf.is_read(control, &value) {
                wrong.push(format!("{}: the schema takes {value}, which is not read", name()));
            }
        }
        let words = leaf.schema["enum"].as_array().cloned().unwrap_or_default();
        for value in spellings.iter().chain(&words) {
            if leaf.is_read(control, value) && !takes(leaf.schema, value) {
                wrong.push(format!("{}: {value} is read, and the schema does not take it", name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Ports of rules are written as a number or as two.
    let rule = &schema["properties"]["acls"]["items"]["properties"]["rules"]["items"]["properties"];
    for ports in [json!(23), json!("23"), json!("20-25")] {
        assert!(takes(&rule["destination-ports"], &ports), "{ports}");
    }
}
