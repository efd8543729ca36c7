//! A command in the background, and what it says.

use std::io::{self, Read};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use quiver_stop::{Stop, Wait};

use crate::command::{Command, Finished, ShellError};
use crate::destination::Destination;

/// How long a command has for an orderly end.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// How long it may take beyond that until its end is known here.
const SPARE: Duration = Duration::from_secs(10);
/// Bytes of a command's output that are kept: its end.
const OUTPUT_MAX: usize = 1 << 20;
/// How often a waiting loop looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A command in the background; dropped, it is stopped with all that it started.
#[derive(Debug)]
pub struct Running {
    destination: Destination,
    command: Command,
    child: Child,
    /// Open as long as the command shall run.
    lifeline: Option<ChildStdin>,
    output: Heard,
    errors: Heard,
}

impl Running {
    /// A child that has just been started, with all three of its standard files.
    pub(crate) fn of(destination: &Destination, command: &Command, mut child: Child) -> Running {
        let output = child.stdout.take().map(Heard::of).unwrap_or_default();
        let errors = child.stderr.take().map(Heard::of).unwrap_or_default();
        let lifeline = child.stdin.take();
        Running { destination: destination.clone(), command: command.clone(), child, lifeline, output, errors }
    }

    /// Waits for its good end.
    pub(crate) fn finish(mut self, limit: Duration) -> Result<Finished, ShellError> {
        let status = loop {
            match self.ended()? {
                Some(status) => break status,
                None => self.wait("finished", self.destination.wait(limit), |_| false)?,
            }
        };
        match status.success() {
            true => Ok(Finished { output: self.output.whole(), errors: self.errors.whole() }),
            false => Err(self.failed(status)),
        }
    }

    /// The output so far, standard output first; of a long one the end.
    pub fn output(&self) -> String {
        self.output.now() + &self.errors.now()
    }

    /// The same of a command that has ended: all that it still had to say.
    pub fn last_output(&self) -> String {
        self.output.whole() + &self.errors.whole()
    }

    /// How many bytes it has written to standard output so far.
    pub fn written(&self) -> usize {
        self.output.length()
    }

    /// Standard output behind the first `written` bytes; of a long one the end.
    pub fn output_since(&self, written: usize) -> String {
        self.output.since(written)
    }

    /// Its exit status, if it has ended.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, ShellError> {
        self.child.try_wait().map_err(|error| self.destination.unstarted(&self.command, error))
    }

    /// Waits until it has written `text`.
    ///
    /// # Errors
    /// It ends, or takes longer than the limit.
    pub fn wait_for(&mut self, text: &str, limit: Duration) -> Result<(), ShellError> {
        self.wait(&format!("saying {text:?}"), self.destination.wait(limit), |running| {
            running.output().contains(text)
        })?;
        // It may have said so with its last breath.
        match self.ended()? {
            Some(status) if !self.last_output().contains(text) => Err(self.failed(status)),
            _ => Ok(()),
        }
    }

    /// Ends it with all that it started: asks first, and does not ask for long.
    ///
    /// # Errors
    /// It is not known to have ended: the connection broke, say.
    pub fn stop(mut self) -> Result<(), ShellError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ShellError> {
        drop(self.lifeline.take());
        // However the run ends, nothing may be left there.
        let ended = self.wait("stopped", Stop::default().wait(GRACE + SPARE), |_| false);
        if ended.is_err() {
            // What it is behind ssh, its guard ends when the connection does.
            let _: io::Result<()> = self.child.kill();
            let _: io::Result<ExitStatus> = self.child.wait();
        }
        ended
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.ended(), Ok(None))
    }

    /// Until it is ready, or has ended.
    fn wait(&mut self, awaited: &str, mut wait: Wait, is_ready: impl Fn(&Running) -> bool) -> Result<(), ShellError> {
        while !self.has_ended() && !is_ready(self) {
            if wait.is_over() {
                let (host, command, said) = (self.destination.host.clone(), self.command.clone(), self.output());
                let (awaited, limit) = (awaited.to_owned(), wait.limit());
                return Err(ShellError::Slow { host, command, awaited, limit, said });
            }
            wait.sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn failed(&self, status: ExitStatus) -> ShellError {
        let said = self.errors.whole() + &self.output.whole();
        self.destination.failed(&self.command, status, said.trim().to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended() {
            // There is nobody left to tell.
            let _: Result<(), ShellError> = self.end();
        }
    }
}

/// One output of a command, collected by a thread.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<Text>>);

#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    /// Bytes in front of these that are not kept.
    forgotten: usize,
    is_over: bool,
}

impl Heard {
    fn of(mut pipe: impl Read + Send + 'static) -> Heard {
        let heard = Heard::default();
        let text = heard.0.clone();
        thread::spawn(move || {
            let mut some = [0; 8192];
            loop {
                let length = pipe.read(&mut some).unwrap_or(0);
                let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
                text.bytes.extend(&some[..length]);
                let surplus = text.bytes.len().saturating_sub(OUTPUT_MAX);
                text.bytes.drain(..surplus);
                text.forgotten += surplus;
                text.is_over = length == 0;
                if text.is_over {
                    return;
                }
            }
        });
        heard
    }

    fn now(&self) -> String {
        self.since(0)
    }

    fn since(&self, written: usize) -> String {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = written.saturating_sub(text.forgotten).min(text.bytes.len());
        String::from_utf8_lossy(&text.bytes[begin..]).into_owned()
    }

    fn length(&self) -> usize {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.forgotten + text.bytes.len()
    }

    /// All of a command that has ended. What it started may have got away from its session and keep the pipe open, so this
    /// does not wait for long.
    fn whole(&self) -> String {
        let until = Instant::now() + Duration::from_secs(1);
        let is_over = || self.0.lock().unwrap_or_else(PoisonError::into_inner).is_over;
        while !is_over() && Instant::now() < until {
            thread::sleep(LOOK_EVERY);
        }
        self.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_since_is_found_behind_what_is_forgotten() {
        let (lines, text) = (OUTPUT_MAX / 8 + 2, "line...\n");
        let heard = Heard::of(io::Cursor::new(text.repeat(lines)));
        let whole = heard.whole();
        assert_eq!((whole.len(), heard.length()), (OUTPUT_MAX, text.len() * lines));
        assert_eq!(heard.since(heard.length() - text.len()), text);
        assert_eq!((heard.since(heard.length()), heard.since(0)), (String::new(), whole));
    }
}
