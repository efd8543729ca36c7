//! Waiting for a child process that is asked to end when the run is.

use std::io;
use std::process::{Child, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Stop;

/// Interval of checks whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time in which a group may end in good order.
const GRACE: Duration = Duration::from_secs(2);

/// Receiver of the request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopTarget {
    /// The process, which ends in its own time.
    Process,
    /// Its process group with all its descendants; processes still running after two more seconds are killed.
    Group,
}

/// Waits for a child's end, and returns its output. When the run is to end, asks the child once to end, too.
///
/// # Errors
/// Its pipes cannot be read.
pub fn output_of(child: Child, asked: StopTarget, stop: &Stop) -> io::Result<Output> {
    let (id, has_ended) = (child.id().cast_signed(), AtomicBool::new(false));
    let whom = Pid::from_raw(if asked == StopTarget::Group { -id } else { id });
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut asked_at: Option<Instant> = None;
            while !has_ended.load(Relaxed) {
                match asked_at {
                    // A group that is not there yet will be; a child that is gone has ended at the next look.
                    None if stop.is_set() && kill(whom, Signal::SIGTERM).is_ok() => {
                        // A stopped process, as after a read from a terminal in the background, handles no signal
                        // before it continues.
                        let _ = kill(whom, Signal::SIGCONT);
                        asked_at = Some(Instant::now());
                    }
                    Some(at) if asked == StopTarget::Group && at.elapsed() >= GRACE => {
                        let _ = kill(whom, Signal::SIGKILL);
                        return;
                    }
                    _ => {}
                }
                thread::sleep(LOOK_EVERY);
            }
        });
        let output = child.wait_with_output();
        has_ended.store(true, Relaxed);
        output
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};

    use super::*;

    fn started(line: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdout(Stdio::piped()).process_group(0);
        command.spawn().expect("a shell")
    }

    #[test]
    fn what_a_child_says_is_returned() {
        let output = output_of(started("echo done; exit 3"), StopTarget::Group, &Stop::default()).expect("pipes");
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"done\n"[..]));
    }

    /// Neither a process that ignores the signal nor one that stands still, and holds the pipe, is waited for without end.
    #[test]
    fn a_group_ends_whatever_is_in_it() {
        for line in ["trap '' TERM; sleep 1000 & wait; wait", "sleep 1000 & kill -STOP $!; wait", "kill -STOP $$"] {
            let stop = Stop::default();
            stop.flag().store(true, Relaxed);
            let begun = Instant::now();
            let output = output_of(started(line), StopTarget::Group, &stop).expect("pipes");
            assert!(output.status.signal().is_some(), "{line}: {}", output.status);
            assert!(begun.elapsed() < Duration::from_secs(100), "{line}");
        }
    }
}
