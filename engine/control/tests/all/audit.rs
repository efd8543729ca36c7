//! The audit log: every change is noted, with who made it, by which way it came, and what changed.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ports::{Lease, Log, control, port, switch};
use quiver_control::Control;
use quiver_control::transaction::{Audit, Author, Entry, Source, Terms};
use quiver_testkit::executor::Executor;
use serde_json::{Value, json};

/// Keeps entries.
#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<Value>>>);

impl Audit for Kept {
    fn note(&self, entry: &Entry<'_>) {
        self.0.borrow_mut().push(serde_json::to_value(entry).unwrap());
    }
}

impl Kept {
    /// The entries since the last call.
    fn take(&self) -> Vec<Value> {
        self.0.take()
    }
}

fn audited() -> (Executor, Control, Kept) {
    let ((executor, control), kept) = (control(), Kept::default());
    control.audit_to(Rc::new(kept.clone()));
    (executor, control, kept)
}

fn apply(executor: &Executor, control: &Control, text: &str, terms: Terms) -> bool {
    executor.block_on(control.apply("f.yaml", text, terms)).is_ok()
}

#[test]
fn an_entry_says_who_did_what_by_which_way_and_what_changed() {
    let (executor, control, kept) = audited();
    let alice = control.by(Author::new("alice").with_uid(1000)).through(Source("command socket"));
    alice.put(port("p1")).unwrap();
    let [entry]: [Value; 1] = kept.take().try_into().unwrap();
    for (field, value) in [("author", "alice"), ("source", "command socket"), ("what", "command")] {
        assert_eq!(entry[field], value, "{entry}");
    }
    assert_eq!((&entry["uid"], entry["time"].as_str()), (&json!(1000), Some("1970-01-01T00:00:00Z")));
    assert_eq!(entry["changes"], json!([{"change": "create", "object": "ports p1", "fields": []}]));

    let terms = Terms { comment: Some("why".to_owned()), confirm_within: Some(10), ..Terms::default() };
    assert!(apply(&executor, &alice, "ports: [{name: p2}]\n", terms));
    let [applied]: [Value; 1] = kept.take().try_into().unwrap();
    assert_eq!((&applied["what"], &applied["comment"]), (&json!("apply f.yaml"), &json!("why")));
    let version = applied["version"].as_u64().unwrap();
    let changes: Vec<_> = applied["changes"].as_array().unwrap().iter().map(|one| one["change"].as_str()).collect();
    assert_eq!(changes, [Some("delete"), Some("create")], "{applied}");
    // It is not confirmed: the daemon takes it back.
    executor.run_for(std::time::Duration::from_secs(11));
    let [back]: [Value; 1] = kept.take().try_into().unwrap();
    assert_eq!((&back["author"], &back["source"], &back["uid"]), (&json!("quiverd"), &json!("quiverd"), &Value::Null));
    assert!(back["what"].as_str().unwrap().contains(&format!("{version} was not confirmed in time")), "{back}");

    alice.delete::<crate::ports::Port>(&crate::ports::PortName("p1".to_owned())).unwrap();
    executor.block_on(alice.keep(None)).unwrap();
    let whats: Vec<_> = kept.take().iter().map(|entry| entry["what"].clone()).collect();
    assert_eq!(whats, ["command", "save"]);
}

#[test]
fn what_was_refused_or_changed_nothing_is_not_noted() {
    let (executor, control, kept) = audited();
    control.put(port("p1")).unwrap();
    kept.take();
    control.put(port("p1")).unwrap();
    control.put(switch(1, &["p9"])).unwrap_err();
    control.room_mut::<Log>().fail_at = Some(1);
    assert!(!apply(&executor, &control, "ports: [{name: p2}, {name: p3}]\n", Terms::default()));
    assert!(!apply(&executor, &control, "ports: [{name: p2, color: red}]\n", Terms::default()));
    let noted = kept.take();
    // What commands had changed before is a version by now, which is no change of what runs.
    assert_eq!(noted, [] as [Value; 0]);
}

#[test]
fn an_entry_names_a_thousand_objects_and_counts_the_others() {
    let (executor, control, kept) = audited();
    let line = |number: u32| format!("- {{pool: 1, address: {}}}\n", std::net::Ipv4Addr::from(number));
    let leases = format!("leases:\n{}", (0..1500).map(line).collect::<String>());
    assert!(apply(&executor, &control, &leases, Terms::default()));
    let [entry]: [Value; 1] = kept.take().try_into().unwrap();
    assert_eq!((entry["changes"].as_array().unwrap().len(), &entry["more"]), (1000, &json!(500)));
    assert_eq!(control.objects().all::<Lease>().len(), 1500);
}
