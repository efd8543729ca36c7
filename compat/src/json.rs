//! The `.api.json` files, from which clients learn how messages are built.

use serde_json::{Map, Value, json};

use crate::api::{Api, Entry, Service};
use crate::definition::{Definition, Field, Kind, Shape, Type};

/// A file of definitions for each file of messages: its name, without `.api.json`, and its content.
pub fn files(api: &Api) -> Vec<(&'static str, Value)> {
    let of = |(index, file): (usize, &crate::api::ApiFile)| {
        let entries: Vec<&Entry> = api.entries.iter().flatten().filter(|entry| entry.file == index).collect();
        let (major, minor, patch) = file.version;
        (file.name, self::file(&entries, &file.types, &format!("{major}.{minor}.{patch}")))
    };
    api.files.iter().enumerate().map(of).collect()
}

fn file(entries: &[&Entry], more: &[Type], version: &str) -> Value {
    let definitions: Vec<&Definition> = entries.iter().filter_map(|entry| entry.definition.as_ref()).collect();
    let mut types: Vec<Type> = vec![];
    for of in definitions.iter().flat_map(|definition| definition.types()).chain(more.iter().flat_map(Type::parts)) {
        if !types.contains(&of) {
            types.push(of);
        }
    }
    let of_kind = |wanted: fn(&Kind) -> bool, value: fn(&Type) -> Value| -> Vec<Value> {
        types.iter().filter(|of| wanted(&of.kind)).map(value).collect()
    };
    let aliases: Map<String, Value> = types.iter().filter_map(alias).collect();
    let services: Map<String, Value> =
        entries.iter().filter_map(|entry| Some((entry.name.clone(), service(entry.service.as_ref()?)))).collect();
    // A checksum over the checksums: a file whose messages differ has another one.
    let all: String = entries.iter().map(|entry| entry.name_crc.as_str()).collect();
    json!({
        "types": of_kind(|kind| matches!(kind, Kind::Struct(_)), fields_of),
        "messages": definitions.iter().map(|definition| message(definition)).collect::<Vec<_>>(),
        "unions": of_kind(|kind| matches!(kind, Kind::Union(_)), fields_of),
        "enums": of_kind(|kind| matches!(kind, Kind::Enum { .. }), values_of),
        "enumflags": of_kind(|kind| matches!(kind, Kind::Flags { .. }), values_of),
        "services": services,
        "options": { "version": version },
        "aliases": aliases,
        "vl_api_version": format!("{:#010x}", crc32fast::hash(all.as_bytes())),
        "imports": [],
        "counters": [],
        "paths": [],
    })
}

fn field(Field { name, of, shape }: &Field) -> Value {
    match shape {
        Shape::One => json!([of.in_field(), name]),
        Shape::Array(length) => json!([of.in_field(), name, length]),
        Shape::Counted(count) => json!([of.in_field(), name, 0, count]),
    }
}

fn fields_of(of: &Type) -> Value {
    let fields = of.fields().iter().map(field);
    [Value::from(of.name.clone())].into_iter().chain(fields).collect()
}

fn values_of(of: &Type) -> Value {
    let (Kind::Enum { base, values } | Kind::Flags { base, values }) = &of.kind else { return Value::Null };
    let values = values.iter().map(|(name, value)| json!([name, value]));
    [Value::from(of.name.clone())].into_iter().chain(values).chain([json!({ "enumtype": base })]).collect()
}

fn alias(of: &Type) -> Option<(String, Value)> {
    match &of.kind {
        Kind::Alias { of: other, length: 0 } => Some((of.name.clone(), json!({ "type": other.in_field() }))),
        Kind::Alias { of: other, length } => {
            Some((of.name.clone(), json!({ "type": other.in_field(), "length": length })))
        }
        _ => None,
    }
}

fn message(definition: &Definition) -> Value {
    let number = json!(["u16", "_vl_msg_id"]);
    let about = json!({
        "crc": format!("{:#010x}", definition.crc()),
        "options": {},
        "comment": format!("/* {} */", definition.text),
    });
    let fields = definition.fields.iter().map(|of| {
        let mut value = field(of);
        let default = definition.defaults.iter().find(|(name, _)| *name == of.name);
        if let (Some((_, default)), Some(parts)) = (default, value.as_array_mut()) {
            // Numbers and truth values are written as JSON writes them.
            parts.push(json!({ "default": default.parse::<Value>().unwrap_or_default() }));
        }
        value
    });
    [Value::from(definition.name.clone()), number].into_iter().chain(fields).chain([about]).collect()
}

fn service(service: &Service) -> Value {
    let mut value = match (&service.reply, &service.details) {
        (Some(reply), Some(details)) => json!({ "reply": reply, "stream": true, "stream_msg": details }),
        (Some(reply), None) => json!({ "reply": reply }),
        (None, Some(details)) => json!({ "reply": details, "stream": true }),
        (None, None) => json!({ "reply": "null" }),
    };
    if !service.events.is_empty() {
        value["events"] = json!(service.events);
    }
    value
}
