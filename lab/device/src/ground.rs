//! Runs scripts where the device runs: on this machine, in a namespace of it, or on a host of a testbed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use quiver_netns::run;
use quiver_suite::field::Keyword as _;
use quiver_testbed::Stay;

use crate::{Error, Job};

/// How long a host may take to answer: two million routes are some seconds' work.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// Where a device's ports are.
pub enum Ground {
    /// On this machine: in a namespace, by its file, or where this program is.
    Here { namespace: Option<String>, folder: PathBuf },
    /// On a host of a testbed. The prefix of its files' names is unique there.
    There { stay: Arc<Stay>, files: String },
}

impl Ground {
    /// The ground of a job.
    pub fn of(job: &Job<'_>) -> Ground {
        match job.site {
            Some(site) => Ground::There {
                stay: site.stay().clone(),
                files: site.file(job.case.device.word()).display().to_string(),
            },
            None => Ground::Here {
                namespace: job.namespace().map(quiver_netns::Namespace::path),
                folder: job.folder.to_owned(),
            },
        }
    }

    /// Runs a short script there and returns its output.
    pub fn ask(&self, script: &str) -> Result<String, Error> {
        match self {
            Ground::Here { namespace: Some(file), .. } => {
                Ok(run(Command::new("nsenter").args([&format!("--net={file}"), "--", "sh", "-c", script]))?)
            }
            Ground::Here { namespace: None, .. } => Ok(run(Command::new("sh").args(["-c", script]))?),
            Ground::There { stay, .. } => Ok(stay.ask(script, ANSWER_WITHIN)?),
        }
    }

    /// Where its files lie there.
    pub fn folder(&self) -> &Path {
        match self {
            Ground::Here { folder, .. } => folder,
            Ground::There { stay, .. } => Path::new(stay.folder()),
        }
    }

    /// Where a file of this name lies there.
    pub fn file(&self, name: &str) -> PathBuf {
        match self {
            Ground::Here { folder, .. } => folder.join(name),
            Ground::There { files, .. } => format!("{files}-{name}").into(),
        }
    }

    /// Writes a file there, over an older one, and says where it lies.
    pub fn write(&self, name: &str, contents: &str) -> Result<PathBuf, Error> {
        let path = self.file(name);
        match self {
            Ground::Here { .. } => fs::write(&path, contents).map_err(Error::file(&path))?,
            Ground::There { stay, .. } => stay.shell().write(&path.to_string_lossy(), contents.as_bytes())?,
        }
        Ok(path)
    }
}
