//! Values as YAML text that [`super::tree`] reads back the same.

use std::fmt::Write;

use serde_json::{Map, Value};

/// Begins the list of records that is the value of `name`.
pub(super) fn section(out: &mut String, name: &str) {
    out.push_str(name);
    out.push_str(":\n");
}

/// Writes a record of the list.
pub(super) fn record(out: &mut String, record: &Value) {
    item(out, record, 2);
}

/// `- value` at this indentation.
fn item(out: &mut String, value: &Value, indent: usize) {
    out.extend([" ".repeat(indent).as_str(), "-"]);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            // The first field stands behind the dash.
            let mut text = String::new();
            mapping(&mut text, fields, indent + 2);
            out.push(' ');
            out.push_str(&text[indent + 2..]);
        }
        _ => after(out, value, indent),
    }
}

fn mapping(out: &mut String, fields: &Map<String, Value>, indent: usize) {
    for (name, value) in fields {
        out.extend([" ".repeat(indent).as_str(), &scalar(&Value::from(name.as_str())), ":"]);
        after(out, value, indent);
    }
}

/// A value behind `name:` or `-`.
fn after(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Array(items) if items.is_empty() => out.push_str(" []\n"),
        Value::Object(fields) if fields.is_empty() => out.push_str(" {}\n"),
        Value::Array(items) => {
            out.push('\n');
            items.iter().for_each(|value| item(out, value, indent + 2));
        }
        Value::Object(fields) => {
            out.push('\n');
            mapping(out, fields, indent + 2);
        }
        value => {
            let _ = writeln!(out, " {}", scalar(value));
        }
    }
}

/// A scalar on one line, quoted where it would be read as something else.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        // JSON's strings are YAML's double-quoted ones.
        value => value.to_string(),
    }
}

/// Whether a text can stand without quotes, for readers of YAML 1.1 too.
fn is_plain(text: &str) -> bool {
    const WORDS_OF_OLD: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "true", "false"];
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:@+".contains(c))
        && !text.ends_with(':')
        && !text.chars().all(|c| c.is_ascii_digit() || c == ':')
        && !WORDS_OF_OLD.contains(&text.to_ascii_lowercase().as_str())
        && super::tree::resolve(text) == *text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tree;
    use crate::pace::{Pace, at_once};

    #[test]
    fn what_is_written_is_read_back() {
        let record = serde_json::json!({
            "name": "tap0", "odd": ["", " ", "a b", "- x", "#", "yes", "1", "1e3", "0x1", "null", "~", "a: b", "a:",
            "12:34", "42:01:0a:0a:01:01", "10.0.0.0/8", "é", "\"", "\\", "line\nbreak", "'", "[", "{", "*x", "&x", "!x"],
            "numbers": [0, 18446744073709551615u64, -1], "truth": true, "nothing": null, "empty": [], "none": {},
            "nested": {"list": [{"a": 1, "b": [1]}, {"c": {"d": "e"}}], "more": [[1, 2], []]},
        });
        let mut text = String::new();
        section(&mut text, "things");
        super::record(&mut text, &record);
        super::record(&mut text, &serde_json::json!({"a": 1}));
        let (node, problems) = at_once(tree::read(&text, &mut Pace::at_once()));
        assert!(problems.is_empty(), "{problems:?}\n{text}");
        assert_eq!(node.unwrap().to_value(), serde_json::json!({"things": [record, {"a": 1}]}), "{text}");
    }

    #[test]
    fn it_looks_as_people_write_it() {
        let record = serde_json::json!({"name": "tap0", "paths": [{"via": "192.0.2.1", "weight": 2}], "tags": ["a"]});
        let mut text = String::new();
        section(&mut text, "taps");
        super::record(&mut text, &record);
        let expected =
            "taps:\n  - name: tap0\n    paths:\n      - via: 192.0.2.1\n        weight: 2\n    tags:\n      - a\n";
        assert_eq!(text, expected);
    }
}
