//! Handling of the log file by the daemon.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::quiverd::{Daemon, wait};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const SMALL: [&str; 4] = ["--buffers", "512", "--buffers-limit", "512"];

#[test]
fn a_log_that_nobody_reads_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    // It says where it serves, at the latest, and what this machine's memory lacks before.
    drop(reader);
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.args(SMALL).env("RUST_LOG", "info").stderr(writer);
    });
    daemon.run("show version").unwrap();
    daemon.stop();
}

#[test]
fn a_log_file_that_was_renamed_is_opened_anew_by_a_hangup() {
    let folder = tempfile::tempdir().unwrap();
    let [log, old] = ["log", "log.1"].map(|name| folder.path().join(name));
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    // Its path is another one by the time that it is opened anew.
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.current_dir(folder.path()).args(SMALL).args([
            "--log-file",
            "log",
            "--runtime-dir",
            "run",
            "--no-state",
        ]);
    });
    wait("it logs", || read(&log).contains("serving commands at"));
    fs::rename(&log, &old).unwrap();
    let hang_up = || kill(Pid::from_raw(daemon.id().cast_signed()), Signal::SIGHUP).unwrap();
    hang_up();
    wait("it logs to the new file", || read(&log).contains("SIGHUP: "));
    assert!(read(&old).contains("serving commands at") && !read(&old).contains("SIGHUP: "));
    // If the new file cannot be opened, logging to the old file goes on.
    fs::rename(&log, folder.path().join("log.2")).unwrap();
    fs::create_dir(&log).unwrap();
    hang_up();
    wait("it says so", || read(&folder.path().join("log.2")).contains("lines go on to the file that was open"));
    daemon.stop();
}

#[test]
fn lines_for_the_journal_begin_with_their_priority_and_others_do_not() {
    for is_journal in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = File::create(&path).unwrap();
        let about = journal.metadata().unwrap();
        let inode = about.ino() + u64::from(!is_journal);
        let script = folder.path().join("script");
        fs::write(&script, "frobnicate\n").unwrap();
        let daemon = Daemon::start_in(folder.path(), |command| {
            command.args(SMALL).env("RUST_LOG", "info").env("JOURNAL_STREAM", format!("{}:{inode}", about.dev()));
            command.arg("--exec").arg(&script).arg("--exec-all").stderr(journal);
        });
        daemon.stop();
        let text = fs::read_to_string(&path).unwrap();
        let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(lines("<6>") > 0, is_journal, "{text}");
        assert_eq!(lines("<3>"), usize::from(is_journal), "{text}");
        assert_eq!(lines("<") == text.lines().count(), is_journal, "{text}");
    }
}
