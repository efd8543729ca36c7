//! Programs in Go: those of a module below `clients`, and those of GoVPP that the module pins.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use quiver_testkit::trials;

use crate::built;

/// Name of a trial, and its function.
pub type Named = (&'static str, fn(&Programs) -> Result<(), Failed>);

/// Trials with the programs of a module below `clients`; `prefix` begins their names. They are reported as ignored where neither
/// Go nor the module's packages are here or can be downloaded; a module that does not build is a failure. Nothing is built if the
/// arguments choose none of them.
pub fn trials<const N: usize>(
    arguments: &Arguments,
    prefix: &str,
    module: &str,
    packages: &'static [&'static str],
    trials: [Named; N],
) -> Vec<Trial> {
    let trials = trials.map(|(name, trial)| (format!("{prefix}::{name}"), trial));
    let are_built = !arguments.list && trials.iter().any(|(name, _)| trials::chosen(arguments, name));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients").join(module);
    // Other processes of these tests build the same.
    let _alone = are_built.then(|| built::alone("go"));
    let compiler = if are_built { compiler(&source) } else { Ok(PathBuf::new()) };
    if let Err(error) = &compiler {
        eprintln!("the programs of clients/{module} cannot be built, so their tests are ignored: {error}");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go").join(module);
    let (is_missing, compiler) = (compiler.is_err(), compiler.unwrap_or_default());
    let programs = Programs { compiler, source, folder };
    if are_built && !is_missing {
        programs.build(packages).unwrap_or_else(|error| panic!("clients/{module} does not build: {error}"));
    }
    let trials = trials.into_iter().map(|(name, trial)| {
        let programs = programs.clone();
        Trial::test(name, move || trial(&programs)).with_ignored_flag(is_missing)
    });
    trials.collect()
}

/// Standard output of a program, if it succeeds.
pub fn said(command: &mut Command) -> Result<String, String> {
    let output: io::Result<Output> = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.success() {
        true => Ok(out.into_owned()),
        false => Err(format!("{command:?}: {}\n{out}\n{err}", output.status)),
    }
}

/// Go in a folder, which downloads no other Go.
fn go(compiler: &Path, folder: &Path) -> Command {
    let mut command = Command::new(compiler);
    command.current_dir(folder).env("GOTOOLCHAIN", "local").env_remove("GOFLAGS");
    command
}

/// A Go that has the module's packages: on the path, where its own instructions put it, or from PyPI where these are
/// missing or too old, as on Debian 12. The error is the last one's.
fn compiler(source: &Path) -> Result<PathBuf, String> {
    let suits = |compiler: PathBuf| said(go(&compiler, source).args(["mod", "download"])).map(|_| compiler);
    suits("go".into()).or_else(|_| suits("/usr/local/go/bin/go".into())).or_else(|_| {
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/go/requirements.txt");
        let python = quiver_oracle::python(Path::new(env!("CARGO_TARGET_TMPDIR")), "python-go", &requirements)?;
        suits(python.with_file_name("go"))
    })
}

/// The programs of a module, built.
#[derive(Clone)]
pub struct Programs {
    compiler: PathBuf,
    source: PathBuf,
    folder: PathBuf,
}

impl Programs {
    fn build(&self, packages: &[&str]) -> Result<(), String> {
        std::fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        let mut build = self.go(&self.source);
        said(build.args(["build", "-o"]).arg(&self.folder).args(packages))?;
        Ok(())
    }
    /// Go in a folder.
    pub fn go(&self, folder: &Path) -> Command {
        go(&self.compiler, folder)
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
