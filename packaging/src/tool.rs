//! Programs that do the work, and files: what is refused is told with the remedy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Why there are no packages.
#[derive(Debug, thiserror::Error)]
pub enum PackagingError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A program is missing.
    #[error("{program} cannot be started ({error}); install {package}")]
    Missing {
        /// Its name.
        program: String,
        /// The system's error.
        error: io::Error,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program failed.
    #[error("{command} failed: {told}")]
    Failed {
        /// Its command line.
        command: String,
        /// Its output.
        told: String,
    },
    /// The programs need a newer C library than packages allow, or another library.
    #[error(
        "{program} needs {symbols}, but packages are for glibc {oldest} and newer, and no other library: link it with \
         packaging/zig.txt's compiler, or call nothing that is so new"
    )]
    Glibc {
        /// Its name.
        program: String,
        /// Required symbols with their versions.
        symbols: String,
        /// The oldest that packages are for.
        oldest: &'static str,
    },
    /// The compiler that links for older C libraries.
    #[error(
        "zig, which links for glibc {oldest}, cannot be installed from PyPI: {told}; packages need python3-venv and a network"
    )]
    Linker {
        /// The oldest C library that packages are for.
        oldest: &'static str,
        /// The output of pip.
        told: String,
    },
    /// A crate whose license has no text.
    #[error(
        "{name} {version} comes without the text of its license ({license}): say in packaging/src/licenses.rs where it is"
    )]
    License {
        /// The crate.
        name: String,
        /// Its version.
        version: String,
        /// The license that its manifest names.
        license: String,
    },
    /// An answer of cargo that is not as expected.
    #[error("cargo metadata says nothing of {0}; it may be another version than this was written for")]
    Metadata(&'static str),
    /// The time that packages bear.
    #[error("SOURCE_DATE_EPOCH: `{0}` is no number of seconds since 1970")]
    Epoch(String),
}

/// Tells which file an error is about.
pub trait About<T> {
    /// The error with the path.
    fn about(self, path: &Path) -> Result<T, PackagingError>;
}

impl<T> About<T> for io::Result<T> {
    fn about(self, path: &Path) -> Result<T, PackagingError> {
        self.map_err(|error| PackagingError::File { path: path.to_owned(), error })
    }
}

/// A command in a folder.
pub fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs a command to its end and shows what it says. `package` is the Debian package that has the program.
pub fn run(command: &mut Command, package: &'static str) -> Result<(), PackagingError> {
    let status = command.status().map_err(|error| missing(command, error, package))?;
    match status.success() {
        true => Ok(()),
        false => Err(PackagingError::Failed { command: format!("{command:?}"), told: status.to_string() }),
    }
}

/// Runs a command and returns its standard output; its standard error is part of the error.
pub fn answer(command: &mut Command, package: &'static str) -> Result<String, PackagingError> {
    let output = output(command, package)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let both = [output.stdout, output.stderr].concat();
            let told = String::from_utf8_lossy(&both).trim().to_owned();
            Err(PackagingError::Failed { command: format!("{command:?}"), told })
        }
    }
}

fn output(command: &mut Command, package: &'static str) -> Result<Output, PackagingError> {
    command.output().map_err(|error| missing(command, error, package))
}

fn missing(command: &Command, error: io::Error, package: &'static str) -> PackagingError {
    PackagingError::Missing { program: command.get_program().display().to_string(), error, package }
}

/// Makes a folder and those that it is in.
pub fn make_folder(path: &Path) -> Result<(), PackagingError> {
    fs::create_dir_all(path).about(path)
}

/// An empty folder.
pub fn empty_folder(path: &Path) -> Result<(), PackagingError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).about(path),
        _ => make_folder(path),
    }
}

/// Writes a file.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), PackagingError> {
    fs::write(path, text).about(path)
}

/// Copies a file into a folder, which is made.
pub fn copy_into(file: &Path, folder: &Path) -> Result<(), PackagingError> {
    make_folder(folder)?;
    fs::copy(file, folder.join(file.file_name().unwrap_or_default())).about(file)?;
    Ok(())
}

/// Copies all files of a folder, without those below it.
pub fn copy_files(from: &Path, to: &Path) -> Result<(), PackagingError> {
    make_folder(to)?;
    for file in fs::read_dir(from).about(from)? {
        let file = file.about(from)?.path();
        if file.is_file() {
            copy_into(&file, to)?;
        }
    }
    Ok(())
}

/// Reads a file as text.
pub fn read(path: &Path) -> Result<String, PackagingError> {
    fs::read(path).about(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
