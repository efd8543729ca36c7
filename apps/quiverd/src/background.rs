//! `--daemon`: the started process starts another one and waits until that serves, so that the exit status tells
//! whether it does.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

/// Set for the process in the background.
const MARK: &str = "QUIVERD_IN_BACKGROUND";
/// Message of the background process when it serves.
const SERVES: &[u8] = b"serves\n";

/// Whether this process is the one in the background.
pub fn is_there() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Starts this program anew in the background, and waits until it serves. Its error output until then is shown here.
pub fn start() -> Result<ExitCode, String> {
    let refused = |error: std::io::Error| format!("quiverd cannot go to the background: {error}; leave --daemon out");
    let mut arguments = std::env::args_os();
    // The same file, though another one may have its name by now.
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).env(MARK, "1").stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(refused)?;
    let mut said = Vec::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_end(&mut said).map_err(refused)?;
    }
    if said == SERVES {
        return Ok(ExitCode::SUCCESS);
    }
    let status = child.wait().map_err(refused)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Leaves the starter's session: no terminal ends this process any more.
pub fn leave_session() -> Result<(), String> {
    nix::unistd::setsid().map(|_| ()).map_err(|error| format!("quiverd cannot go to the background: {error}"))
}

/// Reports that everything is served, and releases the starter's files.
pub fn serves() -> Result<(), String> {
    let lost = |error: std::io::Error| format!("quiverd cannot stay in the background: {error}");
    let nothing = File::options().read(true).write(true).open("/dev/null").map_err(lost)?;
    // A starter that was killed hears nothing any more, which changes nothing.
    let _ = std::io::stdout().write_all(SERVES);
    let _ = std::io::stdout().flush();
    nix::unistd::dup2_stdout(&nothing).map_err(|error| lost(error.into()))?;
    nix::unistd::dup2_stderr(&nothing).map_err(|error| lost(error.into()))
}
