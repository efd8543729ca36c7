//! Published packages of Python that tests run, or hold Quiver's code against: installed from PyPI, once, below `target/`.
//!
//! Where they cannot be installed, without Python or without a network, the error says why, and the tests are reported
//! as ignored.

mod moto;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use libtest_mimic::{Arguments, Failed, Trial};
pub use moto::{Moto, REQUIREMENTS as MOTO, Tls};

/// The packages of a test, or why they are missing.
pub struct Packages(Result<PathBuf, String>);

impl Packages {
    /// Installs what `requirements` names, as [`python`] does, and tells if that cannot be; a test that only lists its
    /// trials needs nothing.
    pub fn install(arguments: &Arguments, folder: &str, name: &str, requirements: &str) -> Packages {
        let python = match arguments.list {
            true => Ok(PathBuf::new()),
            false => python(Path::new(folder), name, Path::new(requirements)),
        };
        if let Err(error) = &python {
            eprintln!("what {requirements} names cannot be installed, so its tests are ignored: {error}");
        }
        Packages(python)
    }

    /// Whether the test has to do without.
    pub fn are_missing(&self) -> bool {
        self.0.is_err()
    }

    /// A trial that is given Python with the packages, and is ignored without them.
    pub fn test(
        &self,
        name: impl Into<String>,
        run: impl FnOnce(&Path) -> Result<(), Failed> + Send + 'static,
    ) -> Trial {
        let python = self.0.clone();
        Trial::test(name, move || run(&python?)).with_ignored_flag(self.are_missing())
    }
}

/// Python with what `requirements`, a file of pip's, names. `folder` is the test's `CARGO_TARGET_TMPDIR`, which all
/// packages share, so an environment has a `name` of its own in there.
pub fn python(folder: &Path, name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let (environment, done) = (folder.join(name), folder.join(format!("{name}-requirements.txt")));
    let _lock = locked(folder, name)?;
    let wanted = std::fs::read(requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    let python = environment.join("bin/python");
    if std::fs::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let pip = pip(folder)?;
    said(Command::new("python3").args(["-m", "venv", "--clear", "--without-pip"]).arg(&environment).output())?;
    let mut install = Command::new(pip);
    // Python compiles the modules that are imported; pip would compile all of them.
    install.args(["-m", "pip", "--python"]).arg(&python).args(["install", "--no-compile", "--quiet", "--no-input"]);
    install.args(["--retries", "1", "--timeout", "20", "--requirement"]);
    said(install.arg(requirements).output())?;
    std::fs::write(&done, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

/// Python with pip, 22.3 or newer, which installs into all environments of a folder: a pip in each would take 3 CPU seconds more.
fn pip(folder: &Path) -> Result<PathBuf, String> {
    let (environment, done) = (folder.join("pip"), folder.join("pip-installed"));
    let _lock = locked(folder, "pip")?;
    if !done.exists() {
        said(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment).output())?;
        std::fs::write(&done, "").map_err(|error| format!("{}: {error}", done.display()))?;
    }
    Ok(environment.join("bin/python"))
}

/// Locks an environment: each test may be a process of its own, and several may want the same one at once.
fn locked(folder: &Path, name: &str) -> Result<File, String> {
    let path = folder.join(format!("{name}.lock"));
    let lock = File::create(&path).and_then(|file| file.lock().map(|()| file));
    lock.map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs a script with `input` and returns its output, or its error output if it fails.
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
