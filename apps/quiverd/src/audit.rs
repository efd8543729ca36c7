//! The audit log: a line of JSON for each change of the configuration, in a file that only quiverd's user reads.
//!
//! A thread of its own writes it, so that control waits for no disk. The queue of lines is bounded, and so is the file:
//! a full one becomes `FILE.1`. Lines that could not be written are counted, and the next line has their number.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use quiver_control::transaction::{Audit, Entry};

use crate::line::line_of;

/// Bytes of the file, after which the next one is begun.
const FILE_MAX: u64 = 64 << 20;
/// Bytes that are written at once, about: those of lines that have come by then.
const WRITE_MAX: usize = 64 << 10;
/// Bytes that wait for the disk, at most.
const QUEUE_MAX: usize = 16 << 20;
/// Time limit for the disk when quiverd ends.
const END_WAIT: Duration = Duration::from_secs(5);

/// The audit log.
pub struct AuditLog {
    writer: Sender<Message>,
    /// Bytes that wait for the disk, and lines that were left out since.
    queued: Arc<AtomicUsize>,
    left_out: Arc<AtomicUsize>,
    /// Closed when the writer has ended.
    ended: RefCell<Receiver<()>>,
}

enum Message {
    Line(Vec<u8>),
    /// logrotate has renamed the file.
    Reopen,
    End,
}

impl AuditLog {
    /// Appends to this file from now on; it is made if it is not there.
    pub fn open(path: &Path) -> Result<AuditLog, String> {
        let refused =
            |error: io::Error| format!("the audit log {}: {error}; name another file with --audit", path.display());
        // quiverd may go to another folder.
        let path = std::path::absolute(path).map_err(refused)?;
        let mut file = LineFile {
            file: open(&path).map_err(refused)?,
            path: path.clone(),
            size: 0,
            limit: FILE_MAX,
            is_torn: false,
        };
        file.size = file.file.metadata().map_err(refused)?.len();
        let (writer, lines) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let (queued, left_out) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let counters = (queued.clone(), left_out.clone());
        let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
            write_lines(&mut file, &lines, &counters.0, &counters.1);
            drop(end);
        });
        thread.map_err(refused)?;
        Ok(AuditLog { writer, queued, left_out, ended: RefCell::new(ended) })
    }

    /// Goes on in the file that has the name now; a new one if it was renamed.
    pub fn reopen(&self) {
        let _ = self.writer.send(Message::Reopen);
    }

    /// Waits until everything is written, within limits.
    pub fn finish(&self) {
        let _ = self.writer.send(Message::End);
        if self.ended.borrow().recv_timeout(END_WAIT) == Err(RecvTimeoutError::Timeout) {
            tracing::error!("the audit log's disk does not answer: its last lines are lost");
        }
    }
}

impl Audit for AuditLog {
    fn note(&self, entry: &Entry<'_>) {
        let line = line_of(entry);
        let length = line.len();
        let is_full = self.queued.fetch_add(length, Ordering::Relaxed) + length > QUEUE_MAX;
        if is_full || self.writer.send(Message::Line(line)).is_err() {
            self.queued.fetch_sub(length, Ordering::Relaxed);
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes received lines, until the end.
fn write_lines(file: &mut LineFile, lines: &Receiver<Message>, queued: &AtomicUsize, left_out: &AtomicUsize) {
    let (mut has_failed, mut next) = (false, None);
    while let Some(message) = next.take().or_else(|| lines.recv().ok()) {
        let done = match message {
            Message::End => return,
            Message::Reopen => file.reopen(),
            Message::Line(mut all) => {
                // A client makes thousands of changes a second: a write for each would take longer than these.
                let mut count = 1;
                while all.len() < WRITE_MAX && next.is_none() {
                    match lines.try_recv() {
                        Ok(Message::Line(line)) => {
                            all.extend_from_slice(&line);
                            count += 1;
                        }
                        Ok(other) => next = Some(other),
                        Err(_) => break,
                    }
                }
                let (length, lost) = (all.len(), left_out.swap(0, Ordering::Relaxed));
                if lost > 0 {
                    all.splice(..0, format!("{{\"left-out\":{lost}}}\n").into_bytes());
                }
                let written = file.append(&all);
                if written.is_err() {
                    left_out.fetch_add(lost + count, Ordering::Relaxed);
                }
                queued.fetch_sub(length, Ordering::Relaxed);
                written
            }
        };
        match done {
            Ok(()) => has_failed = false,
            Err(_) if has_failed => {}
            Err(error) => {
                has_failed = true;
                tracing::error!("the audit log {}: {error}: changes are made and not noted there", file.path.display());
            }
        }
    }
}

/// A file of lines, and the full one before it.
struct LineFile {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
    /// Whether it may end in a part of a line.
    is_torn: bool,
}

impl LineFile {
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.size > 0 && self.size + lines.len() as u64 > self.limit {
            let mut full = self.path.clone().into_os_string();
            full.push(".1");
            fs::rename(&self.path, full)?;
            self.reopen()?;
        }
        if std::mem::replace(&mut self.is_torn, true) {
            self.file.write_all(b"\n")?;
        }
        self.file.write_all(lines)?;
        self.is_torn = false;
        self.size += lines.len() as u64;
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.file = open(&self.path)?;
        (self.size, self.is_torn) = (self.file.metadata()?.len(), false);
        Ok(())
    }
}

/// Opens the file for its user alone, though there may be one that others may read.
fn open(path: &Path) -> io::Result<File> {
    const PRIVATE: u32 = 0o600;
    let file = OpenOptions::new().create(true).append(true).mode(PRIVATE).custom_flags(libc::O_NOFOLLOW).open(path)?;
    file.set_permissions(Permissions::from_mode(PRIVATE))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_wait_are_written_together_and_counted_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = LineFile { file: open(&path).unwrap(), path: path.clone(), size: 0, limit: 60, is_torn: false };
        let (writer, lines) = mpsc::channel();
        let (queued, left_out) = (AtomicUsize::new(15), AtomicUsize::new(2));
        for line in ["one\n", "two\n"] {
            writer.send(Message::Line(line.into())).unwrap();
        }
        writer.send(Message::Reopen).unwrap();
        writer.send(Message::Line("behind\n".into())).unwrap();
        writer.send(Message::End).unwrap();
        write_lines(&mut file, &lines, &queued, &left_out);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"left-out\":2}\none\ntwo\nbehind\n");
        assert_eq!((queued.load(Ordering::Relaxed), left_out.load(Ordering::Relaxed)), (0, 0));
        // Nothing can be written to a file that is open for reading only.
        file.file = File::open(&path).unwrap();
        (0..3).for_each(|_| writer.send(Message::Line("lost\n".into())).unwrap());
        writer.send(Message::End).unwrap();
        queued.store(15, Ordering::Relaxed);
        write_lines(&mut file, &lines, &queued, &left_out);
        assert_eq!((queued.load(Ordering::Relaxed), left_out.load(Ordering::Relaxed)), (0, 3));
    }

    #[test]
    fn a_full_file_becomes_the_one_before_and_no_more_than_two_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = LineFile { file: open(&path).unwrap(), path: path.clone(), size: 0, limit: 20, is_torn: false };
        for line in
            ["one\n", "two, and more\n", "three, and more\n", "four\n", "a line that is longer than the limit\n"]
        {
            file.append(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "a line that is longer than the limit\n");
        assert_eq!(fs::read_to_string(folder.path().join("audit.log.1")).unwrap(), "four\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_others_could_read_or_that_is_a_link_is_none_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        fs::write(&path, "before\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        assert!(open(&folder.path().join("link")).is_err());
    }
}
