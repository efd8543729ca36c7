//! Where the daemon keeps the history of its configuration: a file for each version, in a folder of its own.
//!
//! A version is written to a file beside its own, brought to the disk, and given its name: whatever happens, a name
//! stands for a whole version. What an unfinished write has left is removed at the next start.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use quiver_control::LocalFuture;
use quiver_control::transaction::Store;

/// What the names of versions end with.
const ENDING: &str = ".yaml";
/// What the names of unfinished ones end with.
const UNFINISHED: &str = ".new";

/// Why there is no place for the history.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another daemon keeps its own there.
    #[error("another quiverd keeps the history of its configuration in {0}: name another folder with --state")]
    InUse(PathBuf),
    /// The system refused.
    #[error("the history of the configuration cannot be kept in {path}: {error}; name another folder with --state")]
    Refused {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// The folder of one daemon; no other uses it while this lives.
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

/// The folder of a daemon that was told none: one for each user.
pub fn standard(is_root: bool, home: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if is_root {
        return Some(PathBuf::from("/var/lib/quiver"));
    }
    let state = home("XDG_STATE_HOME").or_else(|| Some(home("HOME")?.join(".local/state")))?;
    Some(state.join("quiver/versions"))
}

impl Folder {
    /// Opens a folder, which is made if it is not there.
    pub fn open(path: &Path) -> Result<Folder, StateError> {
        let refused = |error| StateError::Refused { path: path.to_owned(), error };
        // Configurations may hold secrets.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(refused)?;
        let lock = File::create(path.join("lock")).map_err(refused)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(StateError::InUse(path.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(refused(error)),
        }
        for entry in fs::read_dir(path).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            if entry.file_name().to_string_lossy().ends_with(UNFINISHED) {
                fs::remove_file(entry.path()).map_err(refused)?;
            }
        }
        Ok(Folder { path: path.to_owned(), _lock: lock })
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number:08}{ENDING}"))
    }
}

/// Disks are slow: control goes on while one works.
pub(crate) fn aside<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> LocalFuture<io::Result<T>> {
    let working = tokio::task::spawn_blocking(work);
    Box::pin(async move { working.await.unwrap_or_else(|failed| Err(io::Error::other(failed))) })
}

impl Store for Folder {
    fn list(&self) -> LocalFuture<io::Result<Vec<u64>>> {
        let path = self.path.clone();
        aside(move || {
            let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            let names = names.collect::<io::Result<Vec<String>>>()?;
            Ok(names.iter().filter_map(|name| name.strip_suffix(ENDING)?.parse().ok()).collect())
        })
    }

    fn read(&self, number: u64) -> LocalFuture<io::Result<String>> {
        let file = self.file(number);
        // What is not text is no version, and told as one that cannot be read.
        aside(move || fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn write(&self, number: u64, text: String) -> LocalFuture<io::Result<()>> {
        let (folder, file) = (self.path.clone(), self.file(number));
        aside(move || replace(&folder, &file, text.as_bytes()))
    }

    fn remove(&self, number: u64) -> LocalFuture<io::Result<()>> {
        let file = self.file(number);
        aside(move || fs::remove_file(file))
    }
}

/// Writes a file whole, and for good, or not at all.
fn replace(folder: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = file.with_extension(&UNFINISHED[1..]);
    let mut new = File::create(&unfinished)?;
    new.write_all(bytes)?;
    new.sync_all()?;
    fs::rename(&unfinished, file)?;
    // The name, too, must be on the disk.
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn versions_are_files_and_what_was_never_finished_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/state");
        let folder = Folder::open(&path).unwrap();
        folder.write(7, "seven".to_owned()).await.unwrap();
        folder.write(12, "twelve".to_owned()).await.unwrap();
        folder.write(7, "again".to_owned()).await.unwrap();
        assert!(matches!(Folder::open(&path), Err(StateError::InUse(_))));
        drop(folder);
        fs::write(path.join("00000013.new"), "thirt").unwrap();
        fs::write(path.join("notes.txt"), "mine").unwrap();
        let folder = Folder::open(&path).unwrap();
        let mut numbers = folder.list().await.unwrap();
        numbers.sort_unstable();
        assert_eq!(numbers, [7, 12]);
        assert_eq!(folder.read(7).await.unwrap(), "again");
        folder.remove(7).await.unwrap();
        assert_eq!(folder.list().await.unwrap(), [12]);
        assert!(folder.read(7).await.is_err());
        assert!(path.join("notes.txt").exists() && !path.join("00000013.new").exists());
        assert!(matches!(Folder::open(Path::new("/proc/none")), Err(StateError::Refused { .. })));
    }

    #[test]
    fn everybody_has_a_folder_of_their_own() {
        let home = |name: &str| (name == "HOME").then(|| PathBuf::from("/home/a"));
        assert_eq!(standard(true, home), Some("/var/lib/quiver".into()));
        assert_eq!(standard(false, home), Some("/home/a/.local/state/quiver/versions".into()));
        assert_eq!(standard(false, |_| None), None);
    }
}
