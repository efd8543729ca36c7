//! The daemon itself, killed at any moment: it starts again with a configuration that was whole and confirmed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use crate::quiverd::Daemon;
use serde_json::{Value, json};

/// A daemon that keeps its state in the folder.
fn start(folder: &Path) -> Daemon {
    Daemon::start_in(folder, |command| {
        command.args(["--buffers", "1000"]).arg("--state").arg(folder.join("state")).stderr(Stdio::null());
    })
}

fn show(daemon: &Daemon, line: &str) -> Value {
    daemon.run(line).unwrap()
}

/// A bridge with loopbacks and many routes by them.
fn configuration(routes: u32, last: u8) -> String {
    let mut text = "loopbacks: [{name: loop0}]\ninterfaces: [{name: loop0, state: up}]\n".to_owned();
    text.push_str("interface-addresses: [{interface: loop0, address: 10.0.0.1/24}]\nroutes:\n");
    for route in 0..routes {
        let prefix = std::net::Ipv4Addr::from(0x1400_0000 + (route << 8));
        text.push_str(&format!("- {{prefix: {prefix}/24, paths: [{{via: 10.0.0.{last}, interface: loop0}}]}}\n"));
    }
    text
}

fn apply(text: &str, confirm_within: Option<u32>) -> Value {
    let terms = confirm_within.map_or(json!({}), |seconds| json!({"confirm-within": seconds}));
    json!({"apply": {"name": "f.yaml", "text": text, "json": true, "terms": terms}})
}

#[test]
fn a_daemon_that_dies_before_a_change_is_confirmed_starts_with_what_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = start(folder.path());
    let done = daemon.ask(&apply(&configuration(3, 2), None));
    assert_eq!(done["done"]["json"]["version"], 2, "{done}");
    daemon.ask(&json!({"command": {"line": "ip route add 30.0.0.0/8 via 10.0.0.9"}}));
    let before = show(&daemon, "show configuration");
    let done = daemon.ask(&apply(&configuration(3, 7), Some(60)));
    assert_eq!(done["done"]["json"]["confirm-within"], 60, "{done}");
    assert_ne!(show(&daemon, "show configuration"), before);
    let refused = daemon.ask(&apply(&configuration(1, 7), None));
    assert_eq!(refused["error"]["reason"], "unconfirmed", "{refused}");
    drop(daemon);
    let daemon = start(folder.path());
    assert_eq!(show(&daemon, "show configuration"), before);
    let history = show(&daemon, "show history");
    assert_eq!(history[0]["what"], "rollback to version 3: quiverd ended before 4 was confirmed", "{history}");
    assert_eq!(history[1]["state"], "never confirmed");
    assert_eq!(history[2]["what"], "commands");
    // The author is who the kernel says.
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().unwrap().name;
    assert_eq!((&history[1]["author"], &history[2]["author"]), (&json!(user), &json!(user)));
}

/// An access list that a helper thread reads, compiles and writes.
fn list(rules: u32, protocol: u8) -> String {
    let rule = |rule: u32| {
        let source = std::net::Ipv4Addr::from(0x1400_0000 + (rule << 8));
        format!("  - {{action: permit, source: {source}/24, protocol: {protocol}}}\n")
    };
    format!("loopbacks: [{{name: loop0}}]\nacls:\n- id: 0\n  rules:\n{}", (0..rules).map(rule).collect::<String>())
}

#[test]
fn a_daemon_killed_at_any_moment_of_a_change_starts_with_one_of_the_two() {
    starts_with_one_of([configuration(2000, 2), configuration(2000, 7)], drop);
}

#[test]
fn a_daemon_stopped_while_a_helper_compiles_a_list_ends_and_starts_with_one_of_the_two() {
    starts_with_one_of([list(3000, 6), list(3000, 17)], Daemon::stop);
}

/// Ends daemons at each moment of a change from one of these configurations to the other.
fn starts_with_one_of(files: [String; 2], end: fn(Daemon)) {
    let folder = tempfile::tempdir().unwrap();
    let daemon = start(folder.path());
    let texts = files.each_ref().map(|file| {
        let done = daemon.ask(&apply(file, None));
        assert!(done["error"].is_null(), "{done}");
        show(&daemon, "show configuration")
    });
    let started = Instant::now();
    daemon.ask(&apply(&files[0], None));
    let whole = started.elapsed();
    drop(daemon);
    let mut expected = None;
    for round in 0..13u32 {
        let daemon = start(folder.path());
        let running = show(&daemon, "show configuration");
        let which = texts.iter().position(|text| *text == running);
        let which = which.unwrap_or_else(|| panic!("round {round}: neither of the two, but {running}"));
        assert!(expected.is_none_or(|expected| expected == which), "round {round}: it has {which}");
        let history = show(&daemon, "show history");
        assert!(history.as_array().unwrap().iter().filter(|version| version["state"] == "saved").count() == 1);
        // The other one, and death somewhere on the way; in two rounds surely before the change, and surely after it.
        let request = apply(&files[1 - which], None);
        let stream = match round {
            // Without its end it is never answered.
            0 => daemon.send(&request.to_string()),
            _ => daemon.send(&format!("{request}\n")),
        };
        expected = match round {
            0 => Some(which),
            1 => {
                let mut answer = String::new();
                BufReader::new(&stream).read_line(&mut answer).unwrap();
                Some(1 - which)
            }
            _ => {
                std::thread::sleep(whole * (round - 2) / 10);
                None
            }
        };
        end(daemon);
    }
}
