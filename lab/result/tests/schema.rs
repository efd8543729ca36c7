//! The published schema is that of the types, and allows what they read, and nothing else: said by another
//! implementation, PyPI's jsonschema.

mod documents;

use std::fs;
use std::path::Path;

use documents::documents;
use libtest_mimic::{Arguments, Failed, Trial};
use quiver_oracle::Packages;
use quiver_result::{Document, schema};
use serde_json::{Value, json};

const ROOM: &str = env!("CARGO_MANIFEST_DIR");
const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requirements.txt");
/// CSIT's own schema as JSON, for who has it: nothing of CSIT's is in here.
const CSITS: &str = "UTI_SCHEMA";

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let packages = Packages::install(&arguments, env!("CARGO_TARGET_TMPDIR"), "jsonschema", REQUIREMENTS);
    let csits = std::env::var_os(CSITS);
    let without_csits = packages.are_missing() || csits.is_none();
    let with_csits = move |python: &Path| valid_uti(python, Path::new(&csits.unwrap_or_default()));
    let trials = vec![
        Trial::test("schema.json is the types' schema", is_published),
        packages.test("schema and types allow the same", same_verdicts),
        packages.test("without extension documents are valid UTI", with_csits).with_ignored_flag(without_csits),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn is_published() -> Result<(), Failed> {
    let path = Path::new(ROOM).join("schema.json");
    let text = serde_json::to_string_pretty(&schema())? + "\n";
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &text)?;
    }
    match fs::read_to_string(&path).is_ok_and(|published| published == text) {
        true => Ok(()),
        false => Err("schema.json is not what the types say: run this test with UPDATE=1, and read the diff".into()),
    }
}

/// Each error that the validator finds, for each document.
fn validate(python: &Path, schema: &Value, documents: &[Value]) -> Result<Vec<Vec<String>>, Failed> {
    let asked = json!({ "schema": schema, "documents": documents }).to_string();
    let answer = quiver_oracle::answer(python, &Path::new(ROOM).join("tests/validate.py"), &asked)?;
    Ok(serde_json::from_str(&answer)?)
}

fn same_verdicts(python: &Path) -> Result<(), Failed> {
    // The extension is the same in all.
    let mut all = documents();
    let others = all.split_off(1).into_iter().map(Document::without_extension);
    all.extend(others);
    let valid: Vec<Value> = all.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    let mut changed: Vec<(String, Value)> = Vec::new();
    for (index, document) in valid.iter().enumerate() {
        changed.push((format!("{index}, as it is"), document.clone()));
        every_change(document, &mut |pointer, other| changed.push((format!("{index}, {pointer}"), other)));
    }
    let others: Vec<Value> = changed.iter().map(|(_, other)| other.clone()).collect();
    let verdicts = validate(python, &schema(), &others)?;
    let (mut refused, mut different) = (0, Vec::new());
    for ((what, other), errors) in changed.iter().zip(&verdicts) {
        let read = Document::parse(other.to_string().as_bytes());
        refused += usize::from(read.is_err());
        if read.is_ok() != errors.is_empty() {
            different.push(format!("{what}: schema {errors:?}, types {:?}", read.err().map(|error| error.to_string())));
        }
    }
    println!("{} documents, {refused} of them refused by both", changed.len());
    match different.is_empty() && refused > changed.len() / 2 {
        true => Ok(()),
        false => Err(format!("{} of {} differ:\n{}", different.len(), changed.len(), different.join("\n")).into()),
    }
}

/// The document with each of its values gone, or another one, and each of its objects with one more.
fn every_change(document: &Value, tell: &mut dyn FnMut(String, Value)) {
    let mut waiting = vec![String::new()];
    while let Some(pointer) = waiting.pop() {
        let Some(here) = document.pointer(&pointer) else { continue };
        let mut other = |what: &str, value: Value| {
            let mut changed = document.clone();
            if let Some(place) = changed.pointer_mut(&pointer) {
                *place = value;
            }
            tell(format!("{pointer} {what}"), changed);
        };
        // Times are read with more care than a schema has, and follow each other: `tests/store.rs`.
        let is_time = pointer.ends_with("_time") || pointer == "/duration";
        other("null", Value::Null);
        other("a list in a list", json!([[]]));
        match here {
            Value::Object(object) => {
                let mut more = object.clone();
                more.insert("surplus".into(), json!(1));
                other("with one more", Value::Object(more));
                for name in object.keys() {
                    let mut less = object.clone();
                    less.shift_remove(name);
                    other(&format!("without {name}"), Value::Object(less));
                    waiting.push(format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")));
                }
            }
            Value::Array(list) => {
                other("empty", json!([]));
                waiting.extend((0..list.len()).map(|index| format!("{pointer}/{index}")));
            }
            Value::String(_) => {
                for text in ["", "a", "pps"].into_iter().filter(|text| !is_time || text.is_empty()) {
                    other(text, json!(text));
                }
            }
            Value::Number(_) => {
                let numbers = [json!(-1), json!(-0.5), json!("1")];
                let more = [json!(0), json!(7), json!(0.5)].into_iter().filter(|_| !is_time);
                numbers.into_iter().chain(more).for_each(|number| other(&number.to_string(), number));
            }
            Value::Bool(is) => other("the contrary", json!(!is)),
            Value::Null => {}
        }
    }
}

fn valid_uti(python: &Path, csits: &Path) -> Result<(), Failed> {
    let csits: Value = serde_json::from_str(&fs::read_to_string(csits)?)?;
    let plain = documents().into_iter().map(Document::without_extension);
    let plain: Vec<Value> = plain.map(serde_json::to_value).collect::<Result<_, _>>()?;
    match validate(python, &csits, &plain)?.concat() {
        errors if errors.is_empty() => Ok(()),
        errors => Err(errors.join("\n").into()),
    }
}
