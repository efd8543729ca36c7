//! `quiver lab serve`: the dashboard on a web server of its own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use std::{fs, thread};

use quiver_terminal::{print, say};
use tempfile::TempDir;

use crate::LabError;
use crate::server::{self, Listen, Page};
use crate::site::{self, Source};

/// Serve the dashboard of stored results, and make it again when there are new ones
///
/// The same pages as `quiver lab site` makes. For this machine alone by default; for others with TLS and a token.
#[derive(Debug, clap::Args)]
pub struct Serve {
    #[command(flatten)]
    listen: Listen,
    #[command(flatten)]
    source: Source,
    /// Seconds between two looks for new results
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
}

/// The folder of the pages that are shown now.
type Shown = Arc<RwLock<Arc<TempDir>>>;

pub fn run(asked: &Serve) -> Result<(), LabError> {
    let server = asked.listen.bind()?;
    let mut known = state(&asked.source.results);
    let shown: Shown = Arc::new(RwLock::new(Arc::new(made(&asked.source)?)));
    print(server.url());
    let (source, every, pages) = (asked.source.clone(), Duration::from_secs(asked.every), shown.clone());
    thread::spawn(move || {
        loop {
            thread::sleep(every);
            let now = state(&source.results);
            // An object store has no time of its last change: only reading all of it shows whether a result is new.
            if now.is_some() && now == known {
                continue;
            }
            match made(&source) {
                Ok(site) => *pages.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(site),
                Err(error) => say(format_args!("the pages stay as they were: {error}")),
            }
            known = now;
        }
    });
    server.serve(move |path| page(&shown, path))?;
    Ok(())
}

/// Makes the pages in a folder of their own.
fn made(source: &Source) -> Result<TempDir, LabError> {
    let folder = tempfile::tempdir().map_err(LabError::Folder)?;
    site::make(source, &folder.path().join("site"))?;
    Ok(folder)
}

fn page(shown: &Shown, path: &str) -> Option<Page> {
    let folder = shown.read().unwrap_or_else(PoisonError::into_inner).clone();
    let name = match path.strip_prefix('/')? {
        "" => "index.html",
        name => name,
    };
    // Names of our own, and nothing that leads elsewhere.
    let is_plain = |part: &str| {
        !part.starts_with('.') && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
    };
    if !name.split('/').all(is_plain) {
        return None;
    }
    let kind = server::kind(Path::new(name))?;
    fs::read(folder.path().join("site").join(name)).ok().map(|content| (kind, content))
}

/// Number of files below a folder, and time of the last change; of a file, that time alone. None for an object store.
fn state(results: &str) -> Option<(usize, Option<SystemTime>)> {
    if results.contains("://") {
        return None;
    }
    let (mut files, mut latest) = (0, None);
    let mut waiting = vec![PathBuf::from(results)];
    while let Some(path) = waiting.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        latest = latest.max(metadata.modified().ok());
        files += 1;
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    Some((files, latest))
}
