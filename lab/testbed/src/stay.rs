//! A stay on a host: a folder there, and a connection that is open meanwhile.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use quiver_stop::Wait;

use crate::{Command, Running, Shell, ShellError};

/// Limit of a login.
const LET_IN_WITHIN: Duration = Duration::from_secs(30);
/// Printed before the folder's name.
const HERE: &str = "folder ";
/// Printed once the folder and the shell are ready.
const SETTLED: &str = "settled";
/// Makes a folder, and takes it away when it is asked to end; so its guard asks it, also when the connection is lost. Others end
/// at the same moment and may still write to it: it tries again.
const KEEPER: &str = r#"umask 077
folder=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/quiver-lab-XXXXXX") || exit 1
gone() { for try in 1 2 3 4 5; do rm -rf "$folder" && break; sleep 0.2; done; exit 0; }
trap gone TERM
echo "folder $folder"
echo settled
while :; do sleep 3600 & wait; done"#;

/// A folder on a host, and the connection by which its commands go. Both go with this value, or when this program ends by whatever
/// death, or when the connection is lost.
#[derive(Debug)]
pub struct Stay {
    shell: Shell,
    folder: String,
    talk: Mutex<Talk>,
    // Ended behind whatever uses the connection.
    _keeper: Running,
}

impl Stay {
    /// Begins one. `socket` is a path here at which the connection can be had, and that is free. On this machine the folder is made
    /// beside it.
    ///
    /// # Errors
    /// The host cannot be reached, or has no place for a folder.
    pub fn begin(shell: &Shell, socket: &Path) -> Result<Stay, ShellError> {
        let beside =
            socket.parent().filter(|_| !shell.is_away()).map_or(String::new(), |folder| folder.display().to_string());
        let keeper = Command::new("sh").args(["-c", KEEPER, "keeper"]).arg(beside);
        let mut keeper = shell.start_opening(&keeper, socket)?;
        keeper.wait_for(SETTLED, LET_IN_WITHIN)?;
        let said = keeper.output();
        let folder = said.lines().find_map(|line| line.strip_prefix(HERE)).unwrap_or_default().trim().to_owned();
        let shell = if shell.is_away() { shell.by(socket) } else { shell.clone() };
        let talk = Mutex::new(Talk::begin(shell.listening()?));
        Ok(Stay { shell, folder, talk, _keeper: keeper })
    }

    /// Runs commands on the host by the open connection.
    pub fn shell(&self) -> &Shell {
        &self.shell
    }

    /// Runs a short script in a shell that stays open, and returns its output: for frequent questions that must cost
    /// the host little.
    ///
    /// # Errors
    /// It fails, takes longer than the limit, or nobody is there any more.
    pub fn ask(&self, script: &str, limit: Duration) -> Result<String, ShellError> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let (command, host) = (Command::new("sh").args(["-c", script]), self.shell.host().to_owned());
        let (said, status) = match talk.ask(script, self.shell.wait(limit)) {
            Ok(answer) => answer,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let (awaited, said) = ("finished".to_owned(), String::new());
                return Err(ShellError::Slow { host, command, awaited, limit, said });
            }
            Err(error) => return Err(self.shell.unstarted(&command, error)),
        };
        match status {
            0 => Ok(said),
            status => {
                let error = io::Error::other(format!("it ends with {status} and says: {}", said.trim()));
                Err(self.shell.unstarted(&command, error))
            }
        }
    }

    /// The folder.
    pub fn folder(&self) -> &str {
        &self.folder
    }
}

/// A shell that takes scripts, one after the other.
#[derive(Debug)]
struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u32,
}

impl Talk {
    fn begin(mut child: Child) -> Talk {
        let (sender, lines) = channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                lines.for_each(|line| drop(sender.send(line)));
            });
        }
        Talk { input: child.stdin.take(), child, lines, asked: 0 }
    }

    /// All lines up to the one that tells the script's exit status, with that.
    fn ask(&mut self, script: &str, mut wait: Wait) -> io::Result<(String, i32)> {
        self.asked += 1;
        // What an earlier script says too late is not taken for this one's.
        let end = format!("end of {} ", self.asked);
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        write!(input, "( {script}\n) </dev/null; echo \"{end}$?\"\n")?;
        input.flush()?;
        let mut said = String::new();
        loop {
            match self.lines.recv_timeout(wait.turn()) {
                Ok(line) => {
                    // The script's last line may have no end of its own.
                    if let Some((rest, status)) = line.split_once(&end) {
                        return Ok((said + rest, status.trim().parse().unwrap_or(1)));
                    }
                    said += &line;
                    said.push('\n');
                }
                Err(RecvTimeoutError::Timeout) if !wait.is_over() => {}
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the connection is gone")),
            }
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        drop(self.input.take());
        // Either fails only if it has ended, which is what is wanted.
        let _: io::Result<()> = self.child.kill();
        let _: io::Result<std::process::ExitStatus> = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use quiver_stop::Stop;

    use super::*;
    use crate::Reach;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn scripts_are_answered_one_after_the_other() {
        let folder = std::env::temp_dir().join(format!("quiver-stay-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let mut stay = Stay::begin(&Shell::new("here", &Reach::Here), &folder.join("socket")).expect("a stay");
        assert!(Path::new(stay.folder()).starts_with(&folder));
        assert_eq!(stay.ask("echo one; printf two", LIMIT).expect("an answer"), "one\ntwo");
        let failed = stay.ask("echo why >&2; exit 3", LIMIT).expect_err("it fails").to_string();
        assert!(failed.starts_with("here: `sh -c") && failed.ends_with("ends with 3 and says: why"), "{failed}");
        let slow = stay.ask("sleep 0.2; echo late", Duration::from_millis(1)).expect_err("it is slow");
        assert!(matches!(slow, ShellError::Slow { .. }), "{slow}");
        let stop = Stop::default();
        stop.flag().store(true, Ordering::Relaxed);
        stay.shell = stay.shell.heeding(&stop);
        assert!(matches!(stay.ask("sleep 3", LIMIT).expect_err("the run is to end"), ShellError::Slow { .. }));
        stay.shell = stay.shell.heeding(&Stop::default());
        // Not the late answer of the one before.
        assert!(stay.ask("cat; echo three", LIMIT).expect("an answer").ends_with("three\n"));
        let gone = stay.ask("kill $$", LIMIT).expect_err("nobody is there").to_string();
        assert!(gone.contains("the connection is gone"), "{gone}");
        let kept = stay.folder().to_owned();
        drop(stay);
        assert!(!Path::new(&kept).exists());
        std::fs::remove_dir(&folder).expect("it is empty");
    }
}
