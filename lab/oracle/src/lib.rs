//! Published packages of Python that tests run, or hold Quiver's code against: installed from PyPI, once, below `target/`.
//!
//! Where they cannot be installed, without Python or without a network, the error says why, and the tests are reported
//! as ignored.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

/// Python with what `requirements`, a file of pip's, names. `folder` is the test's `CARGO_TARGET_TMPDIR`, which all
/// packages share, so an environment has a `name` of its own in there.
pub fn python(folder: &Path, name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let (environment, done) = (folder.join(name), folder.join(format!("{name}-requirements.txt")));
    let wanted = std::fs::read(requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    let python = environment.join("bin/python");
    if std::fs::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    said(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment).output())?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--retries", "1", "--timeout", "20", "--requirement"]);
    said(pip.arg(requirements).output())?;
    std::fs::write(&done, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

/// What a script answers to `input`, if it is successful; else what it complains of.
pub fn answer(python: &Path, script: &Path, input: &str) -> Result<String, String> {
    let mut command = Command::new(python);
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let stdin = child.stdin.take();
    // The script may answer before it has read everything, so both directions move at once.
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        child.wait_with_output()
    });
    said(output)
}

fn said(output: io::Result<Output>) -> Result<String, String> {
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
