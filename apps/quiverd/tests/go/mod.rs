//! Programs in Go: those of a module below `clients`, and those of GoVPP that the module pins.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};

/// What a trial is called, and what it does.
pub type Named = (&'static str, fn(&Programs) -> Result<(), Failed>);

/// Runs trials with the programs of a module. They are reported as ignored where Go is missing or too old for the module, or
/// where its packages can neither be found here nor downloaded; a module that does not build is a failure.
pub fn run<const N: usize>(module: &str, packages: &'static [&'static str], trials: [Named; N]) -> ExitCode {
    let arguments = Arguments::from_args();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients").join(module);
    let missing = if arguments.list { None } else { missing(&source) };
    if let Some(what) = &missing {
        eprintln!("the programs of clients/{module} cannot be built, so their tests are ignored: {what}");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go").join(module);
    let programs = Programs { source, folder };
    if missing.is_none() && !arguments.list {
        programs.build(packages).unwrap_or_else(|error| panic!("clients/{module} does not build: {error}"));
    }
    let trials = trials.map(|(name, trial)| {
        let programs = programs.clone();
        Trial::test(name, move || trial(&programs)).with_ignored_flag(missing.is_some())
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// What a program said, if it was successful.
pub fn said(command: &mut Command) -> Result<String, String> {
    let output: io::Result<Output> = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.success() {
        true => Ok(out.into_owned()),
        false => Err(format!("{command:?}: {}\n{out}\n{err}", output.status)),
    }
}

/// Go, on the path or where its own instructions put it. It builds with what is here, and downloads no other Go.
pub fn go(folder: &Path) -> Command {
    let usual = Path::new("/usr/local/go/bin/go");
    let is_on_path = Command::new("go").arg("version").output().is_ok();
    let mut command = Command::new(if is_on_path || !usual.exists() { Path::new("go") } else { usual });
    command.current_dir(folder).env("GOTOOLCHAIN", "local").env_remove("GOFLAGS");
    command
}

/// Why the programs cannot be built here.
fn missing(source: &Path) -> Option<String> {
    said(go(source).args(["mod", "download"])).err()
}

/// The programs of a module, built.
#[derive(Clone)]
pub struct Programs {
    source: PathBuf,
    folder: PathBuf,
}

impl Programs {
    fn build(&self, packages: &[&str]) -> Result<(), String> {
        std::fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        let mut build = go(&self.source);
        said(build.args(["build", "-o"]).arg(&self.folder).args(packages))?;
        Ok(())
    }
    /// A program, which is ended after two minutes.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "120"]).arg(self.folder.join(name)).stdin(Stdio::null());
        command
    }
    /// The module's folder.
    pub fn source(&self) -> &Path {
        &self.source
    }
}
