//! `quiver lab list`, as users call it.

use std::process::{Command, Output};

fn list(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quiver-lab")).args(["list"]).args(arguments).output().unwrap()
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
    assert!(summary.contains("this machine has programs, cores and memory for "), "{summary}");
    // Words need no quotes.
    assert_eq!(list(&["64b", "AND", "soak"]).stdout, list(&["64b AND soak"]).stdout);
}

#[test]
fn json_has_all_of_a_case() {
    let said = list(&["--json", "64b AND 4c AND vpp AND fib_2m AND mrr NOT routecount"]);
    let cases: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    let [case] = cases.as_array().unwrap().as_slice() else { panic!("{cases}") };
    assert_eq!(case["name"], "64b-4c-1n1l-memif-ethip4-ip4scale2m-vpp-mrr");
    assert_eq!(case["needs"], serde_json::json!({"program": "vpp", "cores": 5, "memory_gib": 4, "parts": []}));
    assert!(case["tags"].as_array().unwrap().contains(&"IP4FWD".into()) && case["lacks"].is_array(), "{case}");
}

/// `lab run` could not start any of these.
#[test]
fn what_no_machine_has_is_said_before_anything_runs() {
    let why = "devices are not told yet to make their packets themselves: choose cases of another driver";
    let said = list(&["quiver AND drv_pg"]);
    let lines: Vec<_> = text(&said.stdout).lines().collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(why)), "{lines:?}");
    assert!(text(&said.stderr).contains("memory for 0 of them"), "{}", text(&said.stderr));
    let folder = tempfile::tempdir().unwrap();
    let said = lab(folder.path(), &["run", "--short", "quiver AND drv_pg AND 64b AND 1c"]);
    let [skipped, measured] = text(&said.stderr).lines().collect::<Vec<_>>()[..] else { panic!("{said:?}") };
    assert!(
        skipped.starts_with("skipped ") && skipped.ends_with(why) && measured == "0 measured, 0 failed",
        "{said:?}"
    );
    assert!(!said.status.success());
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
    let folder = tempfile::tempdir().unwrap();
    for (expression, error) in [
        ("", "the expression is empty: name cases by their tags, such as: "),
        ("  ", "the expression is empty"),
        ("quiver AND testpmd", "quiver AND testpmd: no case has such tags: `quiver lab list --json` has all"),
    ] {
        for command in [&["list", expression][..], &["run", "--short", expression]] {
            let said = lab(folder.path(), command);
            assert!(said.status.code() == Some(1) && text(&said.stderr).contains(error), "{command:?}: {said:?}");
        }
    }
    let said = list(&["--suites", "/nowhere"]);
    assert!(text(&said.stderr).contains("/nowhere: "), "{}", text(&said.stderr));
}

/// A folder of documents, one a second from this one on, of a test with these rates.
fn record(folder: &std::path::Path, revision: &str, start: usize, rates: &[f64]) {
    let name = "64b-1c-1n1l-memif-ethip4-ip4base-mrr";
    for (at, pps) in rates.iter().enumerate() {
        let time = format!("2026-11-22T14:{:02}:{:02}Z", (start + at) / 60, (start + at) % 60);
        let rate = serde_json::json!({ "values": [pps], "avg": pps, "stdev": 0.0, "unit": "pps" });
        let document = serde_json::json!({
            "duration": 0.0, "dut_type": "Quiver", "dut_version": revision, "start_time": time, "end_time": time,
            "hosts": ["perf1"], "telemetry": [], "message": "", "passed": true, "tags": ["MRR"],
            "result": { "type": "mrr", "receive_rate": { "rate": rate } }, "test_documentation": "",
            "test_id": format!("suite.{name}"), "test_name_long": name, "test_name_short": &name[7..],
            "test_type": "mrr", "tg_type": "Quiver", "tg_version": "0.1.0", "version": "1.5.1",
        });
        let folder = folder.join(format!("2026-11-22/suite.{name}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{}-{at}.json", revision)), document.to_string()).unwrap();
    }
}

fn lab(folder: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    command.args(arguments).current_dir(folder).env("XDG_STATE_HOME", folder.join("state"));
    command.output().unwrap()
}

/// A tenth of a percent of noise, the same each time.
fn rates(level: f64) -> Vec<f64> {
    (0..20).map(|at| level * (1.0 + f64::from(at * 7 % 10) * 1e-4)).collect()
}

#[test]
fn stored_results_are_compared_and_gated() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (revision, level) in [("good", 1e7), ("equal", 1e7), ("slow", 0.97e7)] {
        record(&folder.join("results"), revision, 0, &rates(level));
    }
    record(&folder.join("few"), "few", 0, &[1e7]);
    let broken = folder.join("results/2026-11-22/half.json");
    std::fs::write(&broken, "{").unwrap();
    let said = lab(folder, &["compare", "revision=good", "results,revision=slow"]);
    assert!(said.status.success(), "{}", text(&said.stderr));
    assert!(text(&said.stdout).contains("regression: -3.00 %") && text(&said.stdout).contains("10.00"), "{said:?}");
    assert!(text(&said.stderr).contains("half.json: is only half written"), "{}", text(&said.stderr));
    let said = lab(folder, &["compare", "--json", "device=quiver,revision=good", "revision=equal"]);
    let value: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(value["rows"][0]["judgement"]["verdict"], "same", "{value}");
    for (current, status, summary) in [
        ("revision=equal", 0, "passes: nothing is slower"),
        ("revision=slow", 1, "does not pass: something is slower"),
        ("few", 2, "no verdict: something is not known well enough"),
        ("revision=none", 2, "no verdict"),
    ] {
        let said = lab(folder, &["gate", "revision=good", current]);
        assert_eq!(said.status.code(), Some(status), "{current}: {}", text(&said.stderr));
        assert!(text(&said.stderr).contains(summary), "{current}: {}", text(&said.stderr));
    }
    let said = lab(folder, &["gate", "revision=good", "dut=x"]);
    assert!(said.status.code() == Some(2) && text(&said.stderr).contains("'dut=x': write revision="), "{said:?}");
}

#[test]
fn builds_are_gated_by_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (build, speed) in [("a", "100000"), ("b", "100000"), ("slow", "97000")] {
        std::fs::create_dir(folder.join(build)).unwrap();
        std::fs::write(folder.join(build).join("speed"), speed).unwrap();
    }
    // Noise of a thousandth, by how often both were measured.
    let measure = "n=$(cat runs 2>/dev/null || echo 0); echo $((n + 1)) >runs; \
        echo $(($(cat $QUIVER_BUILD/speed) + n * 7 % 100))";
    for (current, status, verdict) in [("b", 0, "same: "), ("slow", 1, "regression: -")] {
        let said = lab(folder, &["gate", "a", current, "--measure", measure, "--pairs", "12", "--seed", "1"]);
        assert_eq!(said.status.code(), Some(status), "{}", text(&said.stderr));
        assert!(text(&said.stdout).starts_with(verdict), "{}", text(&said.stdout));
        assert!(text(&said.stderr).contains("pair 12 of 12: "), "{}", text(&said.stderr));
    }
    for (arguments, why) in [
        (
            ["gate", "a", "b", "--measure", "exit 3", "--seed", "1"],
            "pair 1, current: `exit 3` ended with exit status: 3",
        ),
        (["gate", "a", "c", "--measure", "echo 1", "--seed", "1"], "c: no folder, and no commit"),
        (["gate", "a", "b", "--measure", "echo fast", "--seed", "1"], "the last line must be a number above zero"),
    ] {
        let said = lab(folder, &arguments);
        assert!(said.status.code() == Some(2) && text(&said.stderr).contains(why), "{}", text(&said.stderr));
    }
    let said = lab(folder, &["gate", "a", "b", "--measure", "touch measured; echo 1", "--pairs", "3"]);
    assert!(said.status.code() == Some(2) && text(&said.stderr).contains("8 are the least"), "{said:?}");
    assert!(!folder.join("measured").exists());
    std::fs::write(folder.join("a/quiverd"), "").unwrap();
    let said = lab(folder, &["gate", "a", "b"]);
    assert!(
        said.status.code() == Some(2) && text(&said.stderr).contains("b: stored results are not compared"),
        "{said:?}"
    );
}

/// Output of a git command, without the machine's own settings.
fn git(folder: &std::path::Path, arguments: &[&str]) -> String {
    let author = ["-c", "user.name=Quiver", "-c", "user.email=quiver@example.com"];
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.args(author).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// A repository with a commit for each speed.
fn repository(speeds: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
    for (number, speed) in speeds.iter().enumerate() {
        std::fs::write(folder.path().join("speed"), format!("{speed} {number}")).unwrap();
        git(folder.path(), &["add", "speed"]);
        git(folder.path(), &["commit", "--quiet", "-m", &format!("room: change {number}")]);
    }
    folder
}

/// After any end, the repository has no other work tree than its own.
#[test]
fn trees_of_commits_go_with_the_command() {
    let folder = repository(&["1000", "970", "960"]);
    let trees = || git(folder.path(), &["worktree", "list"]).lines().count();
    let gate = ["gate", "main~1", "main", "--measure", "echo 1"];
    let bisect = ["bisect", "main~2", "main", "--measure", "echo 1"];
    // Too few pairs, which is known before anything is built.
    let said = lab(folder.path(), &[&gate[..], &["--build", "true", "--pairs", "2"]].concat());
    assert!(said.status.code() == Some(2) && text(&said.stderr).contains("8 are the least"), "{said:?}");
    assert!(!folder.path().join("quiver-gate/builds").exists());
    for (command, status) in [(&gate[..], 2), (&bisect[..], 1)] {
        let said = lab(folder.path(), &[command, &["--build", "echo broken >&2; exit 3"]].concat());
        assert_eq!((said.status.code(), trees()), (Some(status), 1), "{said:?}");
        assert!(text(&said.stderr).contains("ended with exit status: 3: broken"), "{said:?}");
    }
    std::fs::remove_dir_all(folder.path().join("quiver-bisect")).unwrap();
    for (command, state, status) in [(&gate[..], "quiver-gate", 2), (&bisect[..], "quiver-bisect", 1)] {
        let mut ended = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
        ended.args(command).args(["--build", "touch begun; sleep 600"]).current_dir(folder.path());
        let ended = ended.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let begun = folder.path().join(state).join("tree/begun");
        while !begun.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let id = nix::unistd::Pid::from_raw(ended.id().cast_signed());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
        let said = ended.wait_with_output().unwrap();
        assert_eq!((said.status.code(), trees()), (Some(status), 1), "{said:?}");
        assert!(text(&said.stderr).contains("was interrupted"), "{said:?}");
    }
    // What was interrupted says nothing of a commit.
    assert!(!folder.path().join("quiver-bisect/state.json").exists());
}

#[test]
fn commits_are_bisected_by_commands() {
    let folder = repository(&["1000", "1000", "1000", "970", "970"]);
    // Nearly a thousandth of noise.
    let measure = "n=$(cat runs 2>/dev/null || echo 0); echo $((n + 1)) >runs; \
        echo $(($(cut -d' ' -f1 $QUIVER_BUILD/speed) * 1000 + n * 7 % 10 * 100))";
    let arguments =
        ["bisect", "main~4", "main", "--build", "cp speed $QUIVER_BUILD/", "--measure", measure, "--seed", "1"];
    let said = lab(folder.path(), &arguments);
    assert!(said.status.success(), "{}", text(&said.stderr));
    let lines: Vec<_> = text(&said.stdout).lines().collect();
    assert!(lines.len() == 2 && lines[0].ends_with(" room: change 3"), "{lines:?}");
    assert!(lines[1].starts_with("regression: -"), "{lines:?}");
    assert!(text(&said.stderr).contains(" bits: ") && text(&said.stderr).contains("in turns: "), "{said:?}");
    // Again, all is known; and the tree is gone.
    let said = lab(folder.path(), &arguments);
    assert!(said.status.success() && text(&said.stderr).contains("known: "), "{}", text(&said.stderr));
    assert!(!text(&said.stderr).contains("measuring ") && !folder.path().join("quiver-bisect/tree").exists());
    let said = lab(folder.path(), &["bisect", "main", "main~1", "--build", "true", "--measure", "echo 1"]);
    assert!(said.status.code() == Some(1) && text(&said.stderr).contains("main is not before main~1"), "{said:?}");
}

#[test]
fn kept_documents_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(&folder.join("state/quiver/lab/unsent"), "kept", 0, &[1e7, 1e7]);
    let said = lab(folder, &["send", "results"]);
    assert!(said.status.success() && text(&said.stderr).contains("2 sent"), "{said:?}");
    assert!(text(&said.stdout).lines().all(|line| line.starts_with("results/2026-11-22/")), "{said:?}");
    assert!(lab(folder, &["compare", "results", "results"]).status.success());
    record(&folder.join("kept"), "kept", 0, &[1e7]);
    std::fs::write(folder.join("kept/half.json"), "{").unwrap();
    let said = lab(folder, &["send", "results", "--from", "kept"]);
    assert!(said.status.code() == Some(1) && text(&said.stderr).contains("1 sent, 1 are still in kept"), "{said:?}");
    let said = lab(folder, &["send", "gs://bucket"]);
    assert!(said.status.code() == Some(1) && text(&said.stderr).contains("must be s3://BUCKET"), "{said:?}");
}

#[test]
fn a_place_that_is_not_there_is_no_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(&folder.join("results"), "old", 0, &[1e7]);
    std::fs::write(folder.join("file"), "").unwrap();
    std::fs::create_dir(folder.join("empty")).unwrap();
    let export = |place: &str| lab(folder, &["export", "--parquet", "lab.parquet", "--results", place]);
    assert!(export("results").status.success());
    let table = std::fs::read(folder.join("lab.parquet")).unwrap();
    for place in ["nowhere", "file"] {
        let error = format!("{place}: cannot be read: ");
        let remedy = "; name a folder with results, or s3://BUCKET/PREFIX";
        for (said, status) in [
            (lab(folder, &["compare", "results", place]), 1),
            (lab(folder, &["compare", "revision=old", "revision=new", "--results", place]), 1),
            (lab(folder, &["gate", "results", place]), 2),
            (lab(folder, &["send", "results", "--from", place]), 1),
            (export(place), 1),
        ] {
            assert_eq!(said.status.code(), Some(status), "{said:?}");
            assert!(text(&said.stderr).contains(&error) && text(&said.stderr).contains(remedy), "{said:?}");
        }
    }
    // A folder without documents is one, but no reason to have a table without rows.
    assert!(lab(folder, &["compare", "results", "empty"]).status.success());
    let said = export("empty");
    assert!(!said.status.success() && text(&said.stderr).contains("there is no document to export"), "{said:?}");
    assert_eq!(std::fs::read(folder.join("lab.parquet")).unwrap(), table);
    assert!(lab(folder, &["send", "results"]).status.success(), "nothing was kept yet");
}

/// Nothing is measured that could not be kept: below a file, and in folders that are full or may only be read.
#[test]
fn a_place_that_takes_nothing_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("file"), "").unwrap();
    let case = "quiver AND l2xcbase AND eth AND drv_memif AND 64b AND 1c AND mrr";
    let refused = |said: &Output, place: &str| {
        let error = format!("nothing is measured: {place}: cannot be written: ");
        let remedy = "; free that place, or name another with --results";
        assert!(text(&said.stderr).contains(&error) && text(&said.stderr).contains(remedy), "{said:?}");
        assert!(said.status.code() == Some(1) && !text(&said.stderr).contains(" ..."), "{said:?}");
    };
    refused(&lab(folder, &["run", "--short", "--results", "file/below", case]), "file/below");
    std::fs::create_dir(folder.join("mounted")).unwrap();
    for options in ["size=64k", "ro"] {
        let script = format!("mount -t tmpfs -o {options} none mounted && echo mounted >&2 && exec \"$0\" \"$@\"");
        let program = env!("CARGO_BIN_EXE_quiver-lab");
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, program, "run", "--short"]);
        let said = command.args(["--results", "mounted", case]).current_dir(folder).output().unwrap();
        if !text(&said.stderr).starts_with("mounted\n") {
            println!("left out: no namespace with a mount of its own: {}", text(&said.stderr));
            return;
        }
        refused(&said, "mounted");
    }
}
