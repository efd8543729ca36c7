//! The audit log: every change of the configuration is there, with who made it and by which way it came.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::quiverd::{Daemon, wait};
use crate::rust::interfaces;
use crate::vppctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use serde_json::{Value, json};

/// The entries of a log.
fn entries(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// Waits for an entry from this source that names an object; the first one.
fn entry(log: &Path, source: &str, object: &str) -> Value {
    let mut found = None;
    wait(&format!("{object} from {source}"), || {
        found = entries(log).into_iter().find(|entry| {
            let changes = entry["changes"].as_array().expect("a list");
            entry["source"] == source && changes.iter().any(|change| change["object"] == object)
        });
        found.is_some()
    });
    found.expect("it was found")
}

#[test]
fn every_way_to_change_the_configuration_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("site.yaml"), "loopbacks: [{name: loop0}]\n").unwrap();
    fs::write(at("script"), "create loopback interface instance 1\n").unwrap();
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.arg("--state").arg(at("state")).arg("-c").arg(at("site.yaml")).arg("--exec").arg(at("script"));
        command.arg("--api-socket").arg(at("api.sock")).arg("--cli-listen").arg(at("cli.sock"));
        command.args(["--buffers", "4096"]).stderr(Stdio::null());
    });
    let log = at("state/audit.log");
    let started = entry(&log, "startup file", "loopbacks loop0");
    assert_eq!((&started["author"], &started["uid"]), (&json!("quiverd"), &Value::Null), "{started}");
    assert!(started["what"].as_str().unwrap().ends_with("site.yaml") && started["version"].is_u64(), "{started}");
    entry(&log, "startup script", "loopbacks loop1");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);

    let user = nix::unistd::User::from_uid(geteuid()).unwrap().unwrap().name;
    daemon.run("create loopback interface instance 2").unwrap();
    let by_command = entry(&log, "command socket", "loopbacks loop2");
    assert_eq!((&by_command["author"], &by_command["uid"]), (&json!(user), &json!(geteuid().as_raw())));
    assert_eq!((&by_command["what"], &by_command["changes"][0]["change"]), (&json!("command"), &json!("create")));

    vppctl::run(&at("cli.sock"), "create loopback interface instance 3");
    assert_eq!(entry(&log, "VPP command line", "loopbacks loop3")["author"], json!(user));

    let count = entries(&log).len();
    interfaces::run(&at("api.sock"), &mut vec![]).unwrap();
    wait("the API's client is noted", || {
        entries(&log)[count..].iter().any(|entry| entry["changes"][0]["change"] == "delete")
    });
    for entry in &entries(&log)[count..] {
        assert_eq!(entry["source"], "binary API", "{entry}");
        assert!(entry["author"].as_str().unwrap().starts_with(&format!("{user} by ")), "{entry}");
        assert_eq!(entry["uid"], json!(geteuid().as_raw()));
    }

    let file = json!({"name": "other.yaml", "text": "loopbacks: [{name: loop4}]\n", "terms": {"comment": "why"}});
    assert!(daemon.ask(&json!({"apply": file}))["error"].is_null());
    let applied = entry(&log, "command socket", "loopbacks loop4");
    assert_eq!((&applied["what"], &applied["comment"]), (&json!("apply other.yaml"), &json!("why")));

    // A refused change is none.
    let count = entries(&log).len();
    daemon.run("set interface state loop99 up").unwrap_err();
    fs::write(at("site.yaml"), "loopbacks: [{name: loop5}]\n").unwrap();
    kill(Pid::from_raw(daemon.id().cast_signed()), Signal::SIGHUP).unwrap();
    let reloaded = entry(&log, "SIGHUP", "loopbacks loop5");
    assert!(reloaded["what"].as_str().unwrap().contains("apply"), "{reloaded}");
    assert_eq!(entries(&log).len(), count + 1);

    // logrotate takes the file away.
    fs::rename(&log, at("state/audit.log.old")).unwrap();
    kill(Pid::from_raw(daemon.id().cast_signed()), Signal::SIGHUP).unwrap();
    wait("there is a new one", || log.exists());
    daemon.run("create loopback interface instance 6").unwrap();
    // What was noted last is there when it has ended.
    daemon.stop();
    assert_eq!(entries(&log).len(), 1);
    assert_eq!(entries(&log)[0]["changes"][0]["object"], "loopbacks loop6");
}

#[test]
fn a_daemon_without_a_state_folder_writes_the_file_that_it_is_given_and_hides_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.arg("--audit").arg(&log).args(["--buffers", "1000"]).stderr(Stdio::null());
    });
    let socket = folder.path().join("memif.sock");
    daemon.run(&format!("create memif socket id 3 filename {}", socket.display())).unwrap();
    daemon.run("create interface memif id 0 socket-id 3 master secret s3cret").unwrap();
    daemon.stop();
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("memif") && text.contains("\"secret\"") && !text.contains("s3cret"), "{text}");
}
