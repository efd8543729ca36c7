//! `--log-file`: a file that can be opened anew, so that logrotate may rename it.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tracing_subscriber::fmt::MakeWriter;

/// The log's file.
pub struct LogFile {
    /// As it was given.
    name: PathBuf,
    /// From the root: quiverd goes to another folder.
    path: PathBuf,
    file: RwLock<Arc<File>>,
}

impl LogFile {
    /// Opens the file, which is made if it is not there.
    pub fn open(name: &Path) -> Result<LogFile, String> {
        let path = std::path::absolute(name).map_err(|error| refused(name, &error))?;
        let file = open(&path).map_err(|error| refused(name, &error))?;
        Ok(LogFile { name: name.to_owned(), path, file: RwLock::new(Arc::new(file)) })
    }

    /// Goes on in the file that has the name now; a new one if it was renamed. If that cannot be, the old one goes on.
    pub fn reopen(&self) -> Result<(), String> {
        let file = open(&self.path)
            .map_err(|error| format!("{}; lines go on to the file that was open", refused(&self.name, &error)))?;
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(file);
        Ok(())
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn refused(name: &Path, error: &std::io::Error) -> String {
    format!("--log-file {}: {error}; name another", name.display())
}

/// Writes lines to the log's file.
pub(super) struct ToFile(pub Arc<LogFile>);

impl<'a> MakeWriter<'a> for ToFile {
    type Writer = Arc<File>;

    fn make_writer(&'a self) -> Arc<File> {
        self.0.file.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
