//! Changes the system around a device, and a process that undoes the changes.

use std::path::Path;
use std::time::Duration;

use crate::process::{Process, Progress};
use crate::{Error, Job, cores};

/// Does the steps of a plan, and undoes them.
const KEEPER: &str = include_str!("keeper.sh");
/// Printed after the last step, and before a step that failed.
const KEPT: &str = "kept.\n";
const REFUSED: &str = "refused: ";
/// How long that may take: two million routes are some seconds' work.
const KEPT_WITHIN: Duration = Duration::from_secs(120);

/// A process beside a device, on its host. When it ends, because this value goes, or its guard has lost the connection, all is as it
/// was before.
pub struct Keeper(Option<Process>);

impl Keeper {
    /// Does a plan, a call of a function of `keeper.sh` a line, in a shell that these words start.
    pub fn start(device: &'static str, job: &Job<'_>, shell: &[&str], plan: &str) -> Result<Keeper, Error> {
        let (program, words) = shell.split_first().unwrap_or((&"sh", &[]));
        let mut command = Process::command(job, Path::new(program), &cores::others(job));
        command.args(words).arg("-c").arg(format!("{KEEPER}{plan}hold\n"));
        let mut process = Process::start(device, job, &mut command, &[])?;
        let done = process.wait_until("its configuration", KEPT_WITHIN, |process| {
            let output = process.output();
            Ok(if output.contains(KEPT) { Progress::Done } else { Progress::NotYet(output) })
        });
        done.map(|()| Keeper(Some(process))).map_err(refused)
    }

    /// An error if the process has ended, or the connection is lost.
    pub fn check(&mut self) -> Result<(), Error> {
        self.0.as_mut().map_or(Ok(()), Process::check)
    }

    /// Waits until `look` returns that a change has taken effect. Errors of `look` end the wait, and so does the end of
    /// the process.
    pub fn wait_until(
        &mut self,
        awaited: &str,
        within: Duration,
        mut look: impl FnMut() -> Result<Progress, Error>,
    ) -> Result<(), Error> {
        self.0.as_mut().map_or(Ok(()), |process| process.wait_until(awaited, within, |_| look()))
    }

    /// Undoes all steps.
    pub fn stop(mut self) -> Result<(), Error> {
        self.0.take().map_or(Ok(()), Process::stop)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Where it has ended by itself, it has undone everything.
        let _ = self.0.take().map(Process::stop);
    }
}

/// Which step was not done, where that is why it has ended.
fn refused(error: Error) -> Error {
    let Error::Ended { device, said, .. } = &error else { return error };
    match said.split_once(REFUSED) {
        Some((answer, command)) => Error::Refused {
            device,
            command: command.trim().to_owned(),
            answer: answer.lines().last().unwrap_or_default().to_owned(),
        },
        None => error,
    }
}
