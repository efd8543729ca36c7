//! `quiver lab list`, as users call it.

use std::process::{Command, Output};

fn list(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quiver")).args(["lab", "list"]).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn expressions_select_cases() {
    let all = list(&[]);
    let said = list(&["ip4_routing AND 64b AND 1c AND ndrpdr AND drv_memif NOT vpp"]);
    assert!(said.status.success(), "{}", text(&said.stderr));
    let lines: Vec<_> = text(&said.stdout).lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("64b-1c-1n1l-memif-ethip4-ip4scale2m-ndrpdr")), "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("64b-1c-") && line.contains("ip4")), "{lines:?}");
    let count = |output: &Output| text(&output.stdout).lines().count();
    assert!(count(&all) > 500 && lines.len() < 20, "{} {}", count(&all), lines.len());
    let summary = text(&said.stderr);
    assert!(summary.starts_with(&format!("{} of {} cases", lines.len(), count(&all))), "{summary}");
    assert!(summary.contains("No command runs them yet"), "{summary}");
    // Words need no quotes.
    assert_eq!(list(&["64b", "AND", "soak"]).stdout, list(&["64b AND soak"]).stdout);
}

#[test]
fn json_has_all_of_a_case() {
    let said = list(&["--json", "64b AND 4c AND vpp AND fib_2m AND mrr NOT routecount"]);
    let cases: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    let [case] = cases.as_array().unwrap().as_slice() else { panic!("{cases}") };
    assert_eq!(case["name"], "64b-4c-1n1l-memif-ethip4-ip4scale2m-vpp-mrr");
    assert_eq!(case["needs"], serde_json::json!({"program": "vpp", "cores": 5, "memory_gib": 4}));
    assert!(case["tags"].as_array().unwrap().contains(&"IP4FWD".into()) && case["lacks"].is_array(), "{case}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let said = list(&["64b and 1c"]);
    assert!(!said.status.success() && said.stdout.is_empty());
    assert!(text(&said.stderr).contains("column 5: no operator before 'and'"), "{}", text(&said.stderr));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let file = folder.path().join("own.yaml");
    let suite = "suites:\n  - function: l2xc\n    driver: memif\n    frame: 128\n    search: [mrr, soak]\n";
    std::fs::write(&file, suite).unwrap();
    let said = list(&["--suites", path, "128b"]);
    assert_eq!(text(&said.stdout).lines().count(), 2, "{}", text(&said.stderr));
    std::fs::write(&file, suite.replace("memif", "pg")).unwrap();
    let said = list(&["--suites", path, "128b"]);
    assert!(!said.status.success());
    let expected = format!("{}:5:19: search 'soak' contradicts driver 'pg'", file.display());
    assert!(text(&said.stderr).contains(&expected), "{}", text(&said.stderr));
    let said = list(&["--suites", "/nowhere"]);
    assert!(text(&said.stderr).contains("/nowhere: "), "{}", text(&said.stderr));
}
