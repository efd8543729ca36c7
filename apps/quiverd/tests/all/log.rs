//! What becomes of the daemon with its log.

use crate::quiverd::Daemon;

#[test]
fn a_log_that_nobody_reads_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    // It says where it serves, at the latest, and what this machine's memory lacks before.
    drop(reader);
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.args(["--buffers", "512", "--buffers-limit", "512"]).env("RUST_LOG", "info").stderr(writer);
    });
    daemon.run("show version").unwrap();
    daemon.stop();
}
