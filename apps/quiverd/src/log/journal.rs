//! Standard error where it is the journal of systemd: each line begins with its priority, `<4>`, which the journal takes from it
//! (`sd-daemon(3)`).

use std::io::{self, Write};

use rustix::fs::fstat;

use super::message::Sink;

/// Whether standard error is the stream that systemd names in `JOURNAL_STREAM`, as device and inode. It is not if
/// standard error was redirected.
pub(super) fn is_stderr() -> bool {
    let Some(stream) = std::env::var("JOURNAL_STREAM").ok() else { return false };
    fstat(io::stderr()).is_ok_and(|about| stream == format!("{}:{}", about.st_dev, about.st_ino))
}

/// Standard error, as the journal reads it.
#[derive(Clone)]
pub(super) struct Journal;

impl Sink for Journal {
    fn send(&self, severity: u8, text: &[u8]) {
        // The log's reader may have gone away.
        let _ = io::stderr().write_all(&lines(severity, text));
    }
}

/// The journal makes an entry of each line, so each has the priority.
fn lines(priority: u8, text: &[u8]) -> Vec<u8> {
    let mut all = vec![];
    for line in text.trim_ascii_end().split(|&byte| byte == b'\n') {
        all.extend_from_slice(format!("<{priority}>").as_bytes());
        all.extend_from_slice(line);
        all.push(b'\n');
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_priority() {
        assert_eq!(String::from_utf8_lossy(&lines(4, b"one\ntwo\n")), "<4>one\n<4>two\n");
    }
}
