//! A run of hours asks first, on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::openpty;

/// Four hours.
const LONG: &str = "quiver AND l2xcbase AND drv_memif AND eth AND 64b AND 1c AND endurance";

/// A terminal whose user answers a question once it is there: all that was shown, and whether the run succeeded. `until` ends what
/// would take long: once it was shown, the run is killed.
fn on_terminal(folder: &Path, arguments: &[&str], answer: &str, until: &str) -> (String, bool) {
    let pty = openpty(None, None).unwrap();
    let slave = || pty.slave.try_clone().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    command.args(["run", "--results"]).arg(folder.join("results")).args(arguments).env("TERM", "xterm");
    let mut child = command.stdin(slave()).stdout(Stdio::null()).stderr(slave()).spawn().unwrap();
    drop(pty.slave);
    // Held by the command, too.
    drop(command);
    let mut terminal = File::from(pty.master);
    let (mut shown, mut bytes, mut is_answered) = (String::new(), [0; 4096], false);
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        shown += &String::from_utf8_lossy(&bytes[..count]);
        if !is_answered && shown.contains("[y/N] ") {
            terminal.write_all(answer.as_bytes()).unwrap();
            is_answered = true;
        }
        if shown.contains(until) {
            child.kill().unwrap();
            break;
        }
    }
    (shown, child.wait().unwrap().success())
}

#[test]
fn a_run_of_hours_begins_when_the_user_agrees() {
    let Some(_cores) = super::cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    const BEGUN: &str = "endurance: ";
    let (shown, succeeded) = on_terminal(folder.path(), &[LONG], "n\n", BEGUN);
    assert!(shown.contains("1 case to measure, about 4.") && shown.contains(" h. Ctrl-C ends it"), "{shown}");
    assert!(!succeeded && shown.contains("nothing is measured; ") && !shown.contains(BEGUN), "{shown}");
    assert!(!folder.path().join("results").exists(), "{shown}");
    let (shown, _) = on_terminal(folder.path(), &[LONG], "y\n", BEGUN);
    assert!(shown.contains("[y/N] ") && shown.contains(BEGUN), "{shown}");
    let (shown, _) = on_terminal(folder.path(), &["--yes", LONG], "", BEGUN);
    assert!(!shown.contains("[y/N] ") && shown.contains("1 case to measure, about 4."), "{shown}");
    assert!(shown.contains(BEGUN), "{shown}");
}
