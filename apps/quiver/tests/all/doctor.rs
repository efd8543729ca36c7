//! `quiver doctor` as a program calls it.

use std::process::{Command, Output};

fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.args(["--socket", "/nowhere/quiverd.sock", "doctor"]).args(arguments).output().unwrap()
}

#[test]
fn the_exit_status_agrees_with_the_verdicts() {
    let output = doctor(&["--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let is_something_missing = findings.iter().any(|finding| finding["verdict"] == "missing");
    assert_eq!(report["verdict"] == "missing", is_something_missing);
    assert_eq!(output.status.success(), !is_something_missing);
    for finding in findings {
        assert_eq!(finding["verdict"] == "ok", finding["remedy"].is_null(), "{finding}");
    }
    let daemon = findings.iter().find(|finding| finding["about"] == "quiverd").unwrap();
    assert_eq!(daemon["verdict"], "degraded");
}

#[test]
fn the_text_says_the_same_and_has_no_colours_in_a_pipe() {
    let report: serde_json::Value = serde_json::from_slice(&doctor(&["--json"]).stdout).unwrap();
    let text = String::from_utf8(doctor(&[]).stdout).unwrap();
    assert!(!text.contains('\x1b'));
    for finding in report["findings"].as_array().unwrap() {
        let (verdict, about) = (finding["verdict"].as_str().unwrap(), finding["about"].as_str().unwrap());
        assert!(text.lines().any(|line| line.starts_with(verdict) && line.contains(about)), "{about} in {text}");
    }
}
