//! The reference pages and the schema, generated from objects and commands.

use serde_json::{Map, Value, json};

use crate::control::Control;
use crate::object::{FieldInfo, ObjectError};

/// The page of all config objects, in Markdown.
pub fn objects_page(control: &Control) -> String {
    let mut page =
        "# Config objects\n\nEvery kind is a section of the configuration file: a list of objects with these \
        fields. A field without a default must be given. Generated from the sources.\n"
            .to_owned();
    for kind in control.objects().kinds() {
        page.push_str(&format!("\n## {}\n\n{}\n\n", kind.name(), kind.doc()));
        fields_table(&mut page, &kind.fields(), "");
    }
    page
}

fn fields_table(page: &mut String, fields: &[FieldInfo], inside: &str) {
    if inside.is_empty() {
        page.push_str("| field | meaning | expected | default |\n|---|---|---|---|\n");
    }
    for field in fields {
        let name = format!("{inside}{}", field.name);
        let default = match &field.default {
            None => String::new(),
            Some(Value::Null) => "none".to_owned(),
            Some(Value::Array(items)) if items.is_empty() => "empty".to_owned(),
            Some(value) => format!("`{}`", value.to_string().trim_matches('"')),
        };
        let key = if field.key { " (key)" } else { "" };
        let cell = |text: &str| text.replace('|', "\\|");
        let (doc, expected) = (cell(field.doc), cell(&field.expected));
        page.push_str(&format!("| `{name}`{key} | {doc} | {expected} | {} |\n", cell(&default)));
        fields_table(page, &field.fields, &format!("{name}."));
    }
}

/// The page of all commands, in Markdown.
pub fn commands_page(control: &Control) -> String {
    let mut page =
        "# Commands\n\nWords may be abbreviated as long as they are unique. `<name>` is an argument, `[x]` may \
        be left out, `(x|y)` is one of these, `{x | y}` any of these in any order, `x...` one or more. Generated from \
        the sources.\n\n| command | meaning |\n|---|---|\n"
            .to_owned();
    for (grammar, help) in control.commands().list() {
        page.push_str(&format!("| `{}` | {} |\n", grammar.replace('|', "\\|"), help.replace('|', "\\|")));
    }
    page
}

/// Checks an object against the schema, and returns the errors field by field. Checks by its room are not run. An
/// unknown kind has no objects.
pub fn problems(control: &Control, kind: &str, values: &Map<String, Value>) -> Vec<ObjectError> {
    match control.objects().kind_named(kind) {
        Some(kind) => kind.parse(values).err().unwrap_or_default(),
        None => vec![ObjectError::whole(format!("there is no kind of objects '{kind}'"))],
    }
}

/// The JSON schema of the configuration file, for editors and checkers.
pub fn schema(control: &Control) -> Value {
    let mut sections = Map::new();
    for kind in control.objects().kinds() {
        // A heading without objects is none.
        let section = json!({"type": ["array", "null"], "description": kind.doc(), "items": kind.schema()});
        sections.insert(kind.name().to_owned(), section);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Quiver configuration",
        "type": ["object", "null"],
        "properties": sections,
        "additionalProperties": false,
    })
}
