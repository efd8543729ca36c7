//! Configurations change as a whole: by one at a time, for good or not at all, and back again.

use std::time::Duration;

use crate::ports::{self, Lease, Log, Port, PortName, Switch, applied, control, port, switch};
use quiver_control::Control;
use quiver_control::cli::Reply;
use quiver_control::config::Scope;
use quiver_control::transaction::{Author, Terms, TransactionError};
use quiver_testkit::executor::Executor;

const FILE: &str = "ports:\n- {name: p1, mtu: 9000}\n- name: p2\nswitches:\n- {id: 1, members: [{port: p1}]}\n";
const OTHER: &str = "ports:\n- name: p2\n";

fn apply(executor: &Executor, control: &Control, text: &str) -> Result<Reply, TransactionError> {
    executor.block_on(control.apply("f.yaml", text, Terms::default()))
}

fn confirmed_within(seconds: u32) -> Terms {
    Terms { confirm_within: Some(seconds), ..Terms::default() }
}

fn by(control: &Control, name: &str) -> Control {
    control.by(Author::new(name))
}

fn show(executor: &Executor, control: &Control, line: &str) -> Reply {
    executor.block_on(control.commands().run(control, line, &Default::default())).unwrap()
}

/// The history: action, author and state of each version, newest first.
fn history(executor: &Executor, control: &Control) -> Vec<String> {
    let rows = show(executor, control, "show history").json;
    let row = |row: &serde_json::Value| {
        let texts = ["author", "what", "state"].map(|name| row[name].as_str().unwrap_or_default().to_owned());
        texts.join(" | ")
    };
    rows.as_array().unwrap().iter().map(row).collect()
}

fn leases(count: u32) -> String {
    let line = |number: u32| format!("- {{pool: 1, address: {}}}\n", std::net::Ipv4Addr::from(number));
    format!("leases:\n{}", (0..count).map(line).collect::<String>())
}

#[test]
fn others_have_their_turn_while_a_large_file_is_applied_and_may_not_change_anything() {
    let (executor, control) = control();
    let (watcher, alice) = (by(&control, "bob"), by(&control, "alice"));
    control.spawn("watcher", async move {
        let (mut seen, mut refusals) = (Vec::new(), Vec::new());
        loop {
            watcher.yield_now().await;
            let running = watcher.objects().all::<Lease>().len();
            match running {
                0 => continue,
                5000 => break,
                _ => seen.push(running),
            }
            let text = watcher.commands().run(&watcher, "show transaction", &Default::default()).await.unwrap().text;
            assert!(text.starts_with("alice is changing the configuration: apply f.yaml, step "), "{text}");
            refusals.push(watcher.put(port("p1")).unwrap_err().to_string());
            let refused = watcher.apply("g.yaml", "", Terms::default()).await.unwrap_err();
            assert!(matches!(&refused, TransactionError::Held { by, .. } if by.to_string() == "alice"));
        }
        seen.dedup();
        assert!(seen.len() > 20, "it saw {seen:?}");
        let named = |text: &String| {
            text.starts_with("alice is changing the configuration (apply f.yaml, step ") && text.contains(" of 5000)")
        };
        assert!(refusals.iter().all(named), "{refusals:?}");
    });
    apply(&executor, &alice, &leases(5000)).unwrap();
    executor.run_ready();
    assert!(executor.task_names().is_empty(), "the watcher has seen it all");
    control.put(port("p1")).unwrap();
}

#[test]
fn a_change_goes_to_its_end_though_its_client_has_left() {
    let (executor, control) = control();
    let asked = Box::pin(control.apply("f.yaml", FILE, Terms::default()));
    let waited = executor.block_on(control.timeout(Duration::ZERO, asked));
    drop(waited);
    executor.run_ready();
    assert_eq!(control.objects().all::<Switch>().len(), 1);
    assert_eq!(history(&executor, &control)[0], "quiverd | apply f.yaml | saved");
}

#[test]
fn what_is_not_confirmed_in_time_is_taken_back() {
    let (executor, control) = control();
    apply(&executor, &by(&control, "alice"), FILE).unwrap();
    let before = control.save();
    let bob = by(&control, "bob");
    let told = executor.block_on(bob.apply("g.yaml", OTHER, confirmed_within(60))).unwrap();
    assert!(
        told.text.ends_with("this is version 3: `quiver confirm` keeps it; otherwise version 2 comes back in 60 s")
    );
    executor.run_for(Duration::from_secs(59));
    assert_eq!(control.objects().all::<Switch>().len(), 0);
    let refused = control.put(port("p3")).unwrap_err().to_string();
    assert!(refused.starts_with("what bob has done (apply g.yaml) is taken back in 1 s unless"), "{refused}");
    let refused = apply(&executor, &control, FILE).unwrap_err();
    assert!(matches!(refused, TransactionError::Unconfirmed { .. }));
    assert_eq!(history(&executor, &control)[0], "bob | apply g.yaml | confirm within 1 s");
    executor.run_for(Duration::from_secs(1));
    assert_eq!(control.save(), before);
    let expected = [
        "quiverd | rollback to version 2: 3 was not confirmed in time | saved",
        "bob | apply g.yaml | never confirmed",
        "alice | apply f.yaml | ",
        "quiverd | start | ",
    ];
    assert_eq!(history(&executor, &control), expected);
    assert!(matches!(executor.block_on(control.confirm()), Err(TransactionError::NothingUnconfirmed)));
    assert!(executor.task_names().is_empty());
}

#[test]
fn what_is_confirmed_stays() {
    let (executor, control) = control();
    executor.block_on(by(&control, "bob").apply("f.yaml", FILE, confirmed_within(60))).unwrap();
    executor.run_for(Duration::from_secs(30));
    assert_eq!(executor.block_on(control.confirm()).unwrap().text, "version 2 (apply f.yaml) is kept");
    executor.run_for(Duration::from_secs(60));
    assert_eq!(history(&executor, &control), ["bob | apply f.yaml | saved", "quiverd | start | "]);
    control.put(port("p3")).unwrap();
    // The next one that is not confirmed goes back to that, the command's change included.
    executor.block_on(control.apply("g.yaml", OTHER, confirmed_within(1))).unwrap();
    executor.run_for(Duration::from_secs(2));
    assert!(control.objects().get::<ports::Port>(&PortName("p3".into())).is_some());
    for seconds in [0, 86_401] {
        let refused = executor.block_on(control.apply("g.yaml", OTHER, confirmed_within(seconds))).unwrap_err();
        assert!(matches!(refused, TransactionError::ConfirmTime(_)));
    }
}

#[test]
fn going_back_may_fail_and_is_tried_until_it_works() {
    let (executor, control) = control();
    apply(&executor, &control, FILE).unwrap();
    let before = control.save();
    executor.block_on(control.apply("g.yaml", OTHER, confirmed_within(10))).unwrap();
    control.room_mut::<Log>().fail_at = Some(0);
    executor.run_for(Duration::from_secs(11));
    assert_ne!(control.save(), before, "the first try failed");
    executor.run_for(Duration::from_secs(10));
    assert_eq!(control.save(), before);
}

#[test]
fn rollback_takes_back_at_once_what_waits_to_be_confirmed() {
    let (executor, control) = control();
    apply(&executor, &control, FILE).unwrap();
    let before = control.save();
    executor.block_on(control.apply("g.yaml", OTHER, confirmed_within(60))).unwrap();
    show(&executor, &control, "rollback 1 comment \"it was wrong\"");
    assert_eq!(control.save(), before);
    executor.run_for(Duration::from_secs(100));
    let top = &show(&executor, &control, "show history").json[0];
    assert_eq!((&top["what"], &top["comment"]), (&"rollback to version 2".into(), &"it was wrong".into()));
    assert_eq!(control.save(), before);
}

#[test]
fn what_commands_changed_is_a_version_before_anything_replaces_it() {
    let (executor, control) = control();
    apply(&executor, &control, FILE).unwrap();
    by(&control, "bob").put(port("p7")).unwrap();
    by(&control, "alice").put(port("p8")).unwrap();
    let text = show(&executor, &control, "show transaction").text;
    assert_eq!(text, "not saved: changes by commands of alice, bob");
    assert_eq!(show(&executor, &control, "show differences").text, "+ ports p8\n+ ports p7");
    let with_commands = control.save();
    apply(&executor, &control, OTHER).unwrap();
    let expected = ["quiverd | apply f.yaml | saved", "alice, bob | commands | "];
    assert_eq!(history(&executor, &control)[..2], expected);
    show(&executor, &control, "rollback 1");
    assert_eq!(control.save(), with_commands);
    // To save is to make a version, unless it is one already.
    by(&control, "bob").put(port("p9")).unwrap();
    executor.block_on(by(&control, "carol").keep(Some("port 9".to_owned()))).unwrap();
    executor.block_on(by(&control, "carol").keep(None)).unwrap();
    let expected = ["carol | commands of bob | saved", "quiverd | rollback to version 3 | "];
    assert_eq!(history(&executor, &control)[..2], expected);
    assert_eq!(show(&executor, &control, "show transaction").text, "what runs is what is saved");
}

#[test]
fn the_candidate_is_what_was_planned_for_what_runs() {
    let (executor, control) = control();
    let (alice, bob) = (by(&control, "alice"), by(&control, "bob"));
    assert!(matches!(executor.block_on(alice.apply_candidate(Terms::default())), Err(TransactionError::NoCandidate)));
    control.put(port("p1")).unwrap();
    control.put(switch(1, &["p1"])).unwrap();
    applied(&control);
    let text = "switches:\n- {id: 1, members: [{port: p1}]}\nports:\n- {name: p1, line: b}\n- name: p2\n";
    let plan = executor.block_on(alice.plan("f.yaml", text, Scope::Whole)).unwrap();
    let expected = "\
1  - switches 1  (replaced: down and up again)
2  - ports p1  (replaced: down and up again)
3  + ports p1  (replaced: down and up again)
4  + switches 1  (replaced: down and up again)
5  + ports p2";
    assert_eq!(plan.text, expected);
    assert_eq!(plan.json[1]["object"], "ports p1");
    assert!(applied(&control).is_empty(), "a plan changes nothing");
    assert!(show(&executor, &control, "show differences candidate").text.starts_with("~ ports p1\n  - line: a"));
    let refused = executor.block_on(bob.apply_candidate(Terms::default())).unwrap_err();
    assert_eq!(refused.to_string(), "the candidate is alice's (f.yaml): plan your own with `quiver plan FILE`");
    executor.block_on(alice.apply_candidate(Terms::default())).unwrap();
    // In the order of the plan.
    assert_eq!(applied(&control), ["- switches 1", "- ports p1", "+ ports p1", "+ switches 1", "+ ports p2"]);
    let refused = executor.block_on(alice.apply_candidate(Terms::default())).unwrap_err();
    assert!(matches!(refused, TransactionError::StaleCandidate { .. }));
}

#[test]
fn a_room_that_panics_has_refused() {
    for step in 0..3 {
        let (executor, control) = control();
        control.put(port("old")).unwrap();
        let before = control.save();
        *control.room_mut::<Log>() = Log { fail_at: Some(step), panics: true, ..Log::default() };
        let refused = apply(&executor, &control, FILE).unwrap_err().to_string();
        assert!(refused.contains("this failed inside quiverd"), "{refused}");
        assert_eq!(control.save(), before, "step {step}");
        apply(&executor, &control, FILE).unwrap();
    }
}

#[test]
fn versions_that_are_not_there_are_told() {
    let (executor, control) = control();
    assert!(matches!(executor.block_on(control.rollback(0, Terms::default())), Err(TransactionError::NoHistory)));
    apply(&executor, &control, FILE).unwrap();
    let refused = executor.block_on(control.rollback(7, Terms::default())).unwrap_err();
    let expected = "there is no version 7 back; `quiver history` lists those that there are, from 0 to 1";
    assert_eq!(refused.to_string(), expected);
}

/// The names of the ports that run.
fn ports_of(control: &Control) -> Vec<String> {
    control.objects().all::<Port>().iter().map(|port| port.name.to_string()).collect()
}

#[test]
fn an_empty_file_removes_all_that_runs_only_if_that_is_allowed() {
    let (executor, control) = control();
    // Nothing runs that it could remove.
    apply(&executor, &control, "").unwrap();
    apply(&executor, &control, FILE).unwrap();
    applied(&control);
    for empty in ["", "# ports:\n", "{}", "ports: []\n"] {
        let refused = apply(&executor, &control, empty).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "f.yaml has no objects: 3 that run would be removed, and nothing was changed; allow it with --allow-empty, \
             or add a file's objects to what runs with --merge",
            "{empty:?}"
        );
    }
    // Nor does a candidate, which may be planned by a script.
    executor.block_on(control.plan("f.yaml", "", Scope::Whole)).unwrap();
    assert!(executor.block_on(control.apply_candidate(Terms::default())).is_err());
    assert!(applied(&control).is_empty());
    show(&executor, &control, "apply candidate allow-empty");
    assert_eq!(applied(&control), ["- ports p2", "- switches 1", "- ports p1"]);
    // What ran is known, even if it was nothing.
    apply(&executor, &control, FILE).unwrap();
    executor.block_on(control.rollback(1, Terms::default())).unwrap();
    assert!(ports_of(&control).is_empty());
}

#[test]
fn a_part_is_added_to_what_runs_whole_or_not_at_all() {
    let part = || Terms { scope: Scope::Part, ..Terms::default() };
    let (executor, control) = control();
    apply(&executor, &control, FILE).unwrap();
    applied(&control);
    // It may refer to what runs, changes what it names, and removes nothing.
    let text = "ports:\n- {name: p1, mtu: 1000}\n- name: p3\nswitches:\n- {id: 2, members: [{port: p2}]}\n";
    let told = executor.block_on(control.diff("g.yaml", text, Scope::Part)).unwrap();
    assert!(told.text.starts_with("~ ports p1\n") && !told.text.contains("\n- "), "{}", told.text);
    executor.block_on(control.plan("g.yaml", text, Scope::Part)).unwrap();
    assert_eq!(show(&executor, &control, "show differences candidate").text, told.text);
    executor.block_on(control.apply_candidate(Terms::default())).unwrap();
    assert_eq!(applied(&control), ["+ switches 2", "~ ports p1", "+ ports p3"]);
    assert_eq!(ports_of(&control), ["p1", "p2", "p3"]);
    assert_eq!(history(&executor, &control)[0], "quiverd | apply --merge g.yaml | saved");
    // One without objects adds none; the whole is what is saved.
    executor.block_on(control.apply("g.yaml", "", part())).unwrap();
    executor.block_on(control.apply("g.yaml", "ports:\n- name: p4\n", part())).unwrap();
    executor.block_on(control.rollback(1, Terms::default())).unwrap();
    assert_eq!(ports_of(&control), ["p1", "p2", "p3"]);
    // Refused, by a check before the first step or in the middle, it changes nothing.
    let (before, text) = (control.save(), "ports:\n- name: p5\nswitches:\n- {id: 3, members: [{port: p6}]}\n");
    assert!(executor.block_on(control.apply("g.yaml", text, part())).is_err());
    control.room_mut::<Log>().fail_at = Some(1);
    let text = "ports:\n- name: p5\nswitches:\n- {id: 3, members: [{port: p5}]}\n";
    assert!(executor.block_on(control.apply("g.yaml", text, part())).is_err());
    assert_eq!(control.save(), before);
}

#[test]
fn a_reference_to_what_runs_but_goes_says_where_to_add_it() {
    let (executor, control) = control();
    apply(&executor, &control, "ports:\n- name: p1\n- name: q1\n").unwrap();
    let refused = |port: &str| {
        let text = format!("ports:\n- name: q2\nswitches:\n- {{id: 1, members: [{{port: {port}}}]}}\n");
        apply(&executor, &control, &text).unwrap_err().to_string()
    };
    assert_eq!(
        refused("p1"),
        "f.yaml:4:28: switches 1: members[0].port: p1 runs but this file does not define it; add it under ports, or \
         apply with --merge"
    );
    // What goes is no suggestion.
    assert_eq!(refused("p2"), "f.yaml:4:28: switches 1: members[0].port: there is no port p2; did you mean 'q2'?");
}
