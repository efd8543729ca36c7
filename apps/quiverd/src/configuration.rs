//! The configuration with which quiverd starts: a file, or the saved one. SIGHUP has the file read again.
//!
//! A file that has changed since the last read is applied; an unchanged one leaves the running configuration alone,
//! with changes by commands and clients: logrotate sends SIGHUP every night. A refused file changes nothing.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quiver_control::Control;
use quiver_control::files::{self, FileError};
use quiver_control::transaction::{Source, Terms, TransactionError};

use crate::state::aside;

/// Bytes of a configuration file, at most: some millions of routes.
const LENGTH_MAX: u64 = 1 << 30;
/// Retries of a reload while another client holds the configuration, and the pause between them.
const HELD_TRIES: u32 = 300;
const HELD_WAIT: Duration = Duration::from_millis(100);

/// The file that `--config` names.
#[derive(Debug)]
pub struct ConfigFile {
    /// As it was given.
    name: String,
    /// From the root: quiverd goes to another folder.
    path: PathBuf,
    /// Whether it is a startup.conf, whose options hold while quiverd runs.
    is_startup: bool,
    /// Hash of the content that was read last and not refused.
    read: Cell<u64>,
}

impl ConfigFile {
    /// Reads the file; `is_startup` says whether a text is a startup.conf.
    pub fn read(file: &Path, is_startup: impl FnOnce(&str) -> bool) -> Result<(ConfigFile, String), FileError> {
        let text = files::read_text(file, LENGTH_MAX)?;
        let path = std::path::absolute(file).map_err(|error| FileError::refused(file, error))?;
        let (name, read) = (file.display().to_string(), Cell::new(fingerprint(&text)));
        Ok((ConfigFile { name, path, is_startup: is_startup(&text), read }, text))
    }

    /// Its name, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a startup.conf.
    pub fn is_startup(&self) -> bool {
        self.is_startup
    }

    /// Reads it again, and applies it if it has changed. Returns a message, or an error if it was refused.
    async fn reload(&self, control: &Control) -> Result<String, String> {
        let (name, path) = (&self.name, self.path.clone());
        let text = aside(move || files::read_text(&path, LENGTH_MAX).map_err(io::Error::other)).await;
        let text = text.map_err(|error| error.to_string())?;
        let now = fingerprint(&text);
        if now == self.read.get() {
            return Ok(format!("{name} has not changed: what runs stays as it is"));
        }
        if self.is_startup {
            return Err(format!("{name} has changed, but its options hold while quiverd runs: restart quiverd"));
        }
        let mut tries = 0;
        let applied = loop {
            match control.apply(name, &text, Terms::default()).await {
                Err(TransactionError::Held { .. }) if tries < HELD_TRIES => tries += 1,
                applied => break applied,
            }
            control.sleep(HELD_WAIT).await;
        };
        applied.map_err(|error| error.to_string())?;
        self.read.set(now);
        Ok(format!("reloaded {name}"))
    }
}

fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Makes the configuration run that quiverd starts with: that of a file, if there is one, or else the saved one. Says which.
pub async fn start(control: &Control, file: Option<&ConfigFile>, text: Option<&str>) -> Result<String, String> {
    if let (Some(file), Some(text)) = (file, text) {
        let control = control.through(Source("startup file"));
        // Its mistakes are told all at once.
        control.start_with(&file.name, text).await.map_err(|error| error.to_string())?;
        return Ok(format!("started with {}", file.name));
    }
    // One that does not fit this machine any more must not keep its operators out.
    match control.through(Source("saved configuration")).resume().await {
        Ok(Some(version)) => {
            let said = format!("started with version {} ({})", version.number, version.what);
            tracing::info!("{said}");
            Ok(said)
        }
        Ok(None) => Ok("started without a configuration".to_owned()),
        Err(error) => {
            tracing::error!(
                "the saved configuration does not run, so quiverd runs without any: {error}; mend what it says, then: \
                 quiver rollback 0"
            );
            Ok(format!("started without the saved configuration, which does not run: {error}"))
        }
    }
}

/// Answers SIGHUP: reads the file again. Returns a message, or an error if the file was refused and the previous
/// configuration runs on.
pub async fn reload(control: &Control, file: Option<&ConfigFile>) -> Result<String, String> {
    let control = control.through(Source("SIGHUP"));
    match file {
        Some(file) => file.reload(&control).await,
        None => Ok("there is no --config to reload: what runs stays as it is".to_owned()),
    }
}
