//! Documents on disk: written whole, read back, and everything else named.

mod documents;

use std::fs;
use std::path::Path;

use documents::{amount, at, document, documents, outcomes};
use quiver_result::{Document, Invalid, Skipped, Store, StoreError, Stored};
use serde_json::{Value, json};

fn one() -> Document {
    let (test_type, outcome) = outcomes().swap_remove(2);
    document(test_type, outcome)
}

/// All that a store has, and the messages about what it has not.
fn contents(store: &Store) -> (Vec<Stored>, Vec<String>) {
    let (documents, skipped): (Vec<_>, Vec<_>) = store.read().unwrap().partition(Result::is_ok);
    let messages = skipped.into_iter().filter_map(Result::err).map(|skipped| skipped.to_string());
    (documents.into_iter().flatten().collect(), messages.collect())
}

/// The document with another value, or without it.
fn with(pointer: &str, value: Option<Value>) -> Vec<u8> {
    let mut changed = serde_json::to_value(one()).unwrap();
    let (object, name) = pointer.rsplit_once('/').unwrap();
    let object = changed.pointer_mut(object).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => object.insert(name.into(), value),
        None => object.shift_remove(name),
    };
    changed.to_string().into_bytes()
}

#[test]
fn what_is_written_is_read_in_order() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path().join("results"));
    let mut written = documents();
    for (index, document) in written.iter_mut().enumerate() {
        document.test_id = format!("suite.{index}");
        store.write(document).unwrap();
    }
    let (read, skipped) = contents(&store);
    assert_eq!(skipped, [] as [String; 0]);
    assert_eq!(read.iter().map(|stored| &stored.document).collect::<Vec<_>>(), written.iter().collect::<Vec<_>>());
    let path = read[0].path.strip_prefix(root.path()).unwrap();
    assert_eq!(path, Path::new("results/2026-11-22/suite.0/14-00-00.000000.json"));
}

#[test]
fn nothing_is_written_over() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path());
    let (first, mut second) = (one(), one());
    second.tags.push("SECOND".into());
    let paths = [store.write(&first).unwrap(), store.write(&second).unwrap(), store.write(&first).unwrap()];
    let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["14-00-00.000000.json", "14-00-00.000000-2.json", "14-00-00.000000-3.json"]);
    assert_eq!(contents(&store).0.len(), 3);
    assert_eq!(Document::parse(&fs::read(&paths[1]).unwrap()).unwrap(), second);
}

#[test]
fn whatever_is_no_document_is_named_and_the_rest_is_read() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path());
    let path = store.write(&one()).unwrap();
    let text = fs::read(&path).unwrap();
    let folder = path.parent().unwrap();
    let files: [(&str, &[u8], &str); 9] = [
        ("1.json", &text[..text.len() / 2], "1.json: is only half written"),
        ("2.json", b"", "2.json: is only half written"),
        ("3.json", b"\xff\xfe", "3.json: is no result: "),
        ("4.json", b"[1, 2]", "4.json: is no result: "),
        ("5.json", &with("/version", Some(json!("2.0.0"))), "version is \"2.0.0\", must be \"1.5.1\": read it with"),
        ("6.json", &with("/quiver/version", Some(json!(2))), "6.json: quiver.version is 2, must be 1: read it with"),
        ("7.json", &with("/tags", None), "missing field `tags`"),
        ("8.json", &with("/new", Some(json!(1))), "unknown field `new`"),
        (".9-x.unfinished", &text[..9], ".9-x.unfinished: was not finished: the test was cut off, repeat it"),
    ];
    for (name, text, _) in &files {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("README.md"), "not looked at").unwrap();
    fs::create_dir(folder.join("folder.json")).unwrap();
    std::os::unix::fs::symlink("/nonexistent", folder.join("link.json")).unwrap();
    std::os::unix::fs::symlink(root.path(), folder.join("circle.json")).unwrap();
    let (read, skipped) = contents(&store);
    assert_eq!(read.len(), 1);
    let wanted =
        files.iter().map(|(_, _, message)| *message).chain(["link.json: cannot be read", "circle.json: cannot be"]);
    for message in wanted {
        let found = skipped.iter().filter(|skipped| skipped.contains(message)).count();
        assert_eq!(found, 1, "{message}: {skipped:#?}");
    }
    assert_eq!(skipped.len(), files.len() + 2);
    assert_eq!(fs::read(folder.join("2.json")).unwrap(), b"", "skipped files stay as they are");
}

#[test]
fn no_half_of_a_document_is_taken_for_one() {
    let text = one().text().unwrap();
    for length in 0..text.trim_end().len() {
        let half = Document::parse(&text.as_bytes()[..length]);
        assert!(matches!(half, Err(Invalid::HalfWritten)), "{length}: {half:?}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for none in [std::path::Path::new("/nonexistent/results"), file.path()] {
        let refused = Store::new(none).read().err();
        assert!(matches!(&refused, Some(Skipped::Unreadable { path, .. }) if path == none), "{refused:?}");
    }
    // Below a file even root can make none, and that is known before there is a document.
    let below_a_file = Store::new(file.path().join("results")).probe().unwrap_err();
    assert!(matches!(below_a_file, StoreError::Write { .. }), "{below_a_file}");
    let below_a_file = Store::new(file.path().join("results")).write(&one()).unwrap_err();
    assert!(matches!(below_a_file, StoreError::Write { .. }), "{below_a_file}");
}

#[test]
fn a_folder_may_be_named_by_a_link() {
    let root = tempfile::tempdir().unwrap();
    Store::new(root.path().join("there")).probe().unwrap();
    Store::new(root.path().join("there")).write(&one()).unwrap();
    std::os::unix::fs::symlink(root.path().join("there"), root.path().join("link")).unwrap();
    assert_eq!(contents(&Store::new(root.path().join("link"))).0.len(), 1);
}

#[test]
fn tests_cannot_be_stored_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path().join("results"));
    for test_id in ["../escape", "/etc", "a/b/c", "...", "name with spaces", &"x".repeat(201)] {
        let document = Document { test_id: test_id.into(), ..one() };
        assert!(matches!(store.write(&document), Err(StoreError::TestId { .. })), "{test_id}");
    }
    assert!(!root.path().join("results").exists());
}

#[test]
fn what_contradicts_itself_is_refused_both_ways() {
    let wrong = [
        ("message", Document { message: "but".into(), ..one() }),
        ("message", Document { passed: false, ..one() }),
        ("end_time", Document { end_time: at(0), start_time: at(1), ..one() }),
        ("duration", Document { duration: amount(24.0), ..one() }),
        ("hosts", Document { hosts: vec![], ..one() }),
        ("dut_type", Document { dut_type: String::new(), ..one() }),
        ("test_id", Document { test_id: "ab".into(), ..one() }),
    ];
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path());
    for (name, document) in wrong {
        let text = serde_json::to_vec(&document).unwrap();
        let read = Document::parse(&text).unwrap_err();
        assert!(matches!(read, Invalid::Field { field, .. } if field == name), "{name}: {read}");
        let error = store.write(&document).unwrap_err().to_string();
        assert!(error.contains(&format!("{name} is ")) && error.contains(", must be "), "{error}");
    }
    assert_eq!(contents(&store).0, []);
}
