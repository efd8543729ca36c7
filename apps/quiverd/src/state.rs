//! Where the daemon keeps the history of its configuration: a file for each version, in a folder of its own.
//!
//! A version is written to a file beside its own, brought to the disk, and given its name: so a name always stands for
//! a whole version. Remains of an unfinished write are removed at the next start. Beside them is the number that
//! distinguishes this daemon from others.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use quiver_control::LocalFuture;
use quiver_control::files;
use quiver_control::transaction::{Store, Text};

/// Suffix of the file names of versions.
const ENDING: &str = ".yaml";
/// Suffix of the names of unfinished files.
const UNFINISHED: &str = ".new";
/// Configurations may hold secrets.
const PRIVATE: u32 = 0o600;

/// Why there is no place for the history.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another daemon keeps its own there.
    #[error("another quiverd keeps the history of its configuration in {0}: name another folder with --state")]
    InUse(PathBuf),
    /// The daemon's number is none.
    #[error(
        "{0} holds no number of 32 hexadecimal digits, from which addresses of hardware derive: delete it, and a new one is drawn"
    )]
    NoIdentity(PathBuf),
    /// The system refused.
    #[error("the history of the configuration cannot be kept in {path}: {error}; name another folder with --state")]
    Refused {
        /// The folder.
        path: PathBuf,
        /// Error of the system.
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
            } else if entry.file_name().to_string_lossy().ends_with(ENDING) {
                // Also where the folder is one that others may look into.
                fs::set_permissions(entry.path(), Permissions::from_mode(PRIVATE)).map_err(refused)?;
            }
        }
        Ok(Folder { path: path.to_owned(), _lock: lock })
    }

    /// The number that tells this daemon from others, as it was drawn when the folder was new.
    pub fn identity(&self) -> Result<u128, StateError> {
        let path = self.path.join("identity");
        let refused = |error| StateError::Refused { path: path.clone(), error };
        match fs::read_to_string(&path) {
            Ok(text) => Some(text.trim())
                .filter(|text| text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit()))
                .and_then(|text| u128::from_str_radix(text, 16).ok())
                .ok_or_else(|| StateError::NoIdentity(path.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let number = draw_identity().map_err(refused)?;
                replace(&path, format!("{number:032x}\n").as_bytes()).map_err(refused)?;
                Ok(number)
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number:08}{ENDING}"))
    }
}

/// A number that no other daemon has.
pub fn draw_identity() -> io::Result<u128> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u128::from_be_bytes(bytes))
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

    fn read(&self, number: u64) -> LocalFuture<io::Result<Text>> {
        let file = self.file(number);
        // A file that is not text is reported as an unreadable version.
        aside(move || fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned().into()))
    }

    fn write(&self, number: u64, head: String, body: Text) -> LocalFuture<io::Result<()>> {
        let file = self.file(number);
        aside(move || replace(&file, (head + &body).as_bytes()))
    }

    fn remove(&self, number: u64) -> LocalFuture<io::Result<()>> {
        let file = self.file(number);
        aside(move || fs::remove_file(file))
    }
}

/// Writes a file whole, and for good, or not at all.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = file.with_extension(&UNFINISHED[1..]);
    // A disk that failed may have kept a part.
    let _ = fs::remove_file(&unfinished);
    files::replace(&unfinished, file, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn versions_are_files_and_what_was_never_finished_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/state");
        let folder = Folder::open(&path).unwrap();
        folder.write(7, "se".to_owned(), "ven".to_owned().into()).await.unwrap();
        folder.write(12, "tw".to_owned(), "elve".to_owned().into()).await.unwrap();
        folder.write(7, "ag".to_owned(), "ain".to_owned().into()).await.unwrap();
        assert!(matches!(Folder::open(&path), Err(StateError::InUse(_))));
        drop(folder);
        fs::write(path.join("00000013.new"), "thirt").unwrap();
        fs::write(path.join("notes.txt"), "mine").unwrap();
        fs::set_permissions(path.join("00000012.yaml"), Permissions::from_mode(0o644)).unwrap();
        let folder = Folder::open(&path).unwrap();
        let mut numbers = folder.list().await.unwrap();
        numbers.sort_unstable();
        assert_eq!(numbers, [7, 12]);
        assert_eq!(&*folder.read(7).await.unwrap(), "again");
        let mode = |name: &str| fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("00000007.yaml"), mode("00000012.yaml")), (PRIVATE, PRIVATE));
        folder.remove(7).await.unwrap();
        assert_eq!(folder.list().await.unwrap(), [12]);
        assert!(folder.read(7).await.is_err());
        assert!(path.join("notes.txt").exists() && !path.join("00000013.new").exists());
        assert!(matches!(Folder::open(Path::new("/proc/none")), Err(StateError::Refused { .. })));
    }

    #[test]
    fn a_folder_keeps_the_number_that_was_drawn_for_it() {
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let identity = |path: &Path| Folder::open(path).unwrap().identity();
        let first = identity(one.path()).unwrap();
        assert_eq!(identity(one.path()).unwrap(), first, "after a restart");
        assert_ne!(identity(other.path()).unwrap(), first);
        for wrong in ["", "0123", "no number of thirty-two letters!", "+123456789abcdef0123456789abcdef"] {
            fs::write(one.path().join("identity"), wrong).unwrap();
            let refused = identity(one.path()).unwrap_err().to_string();
            assert!(refused.contains("delete it"), "{wrong}: {refused}");
        }
    }

    #[test]
    fn everybody_has_a_folder_of_their_own() {
        let home = |name: &str| (name == "HOME").then(|| PathBuf::from("/home/a"));
        assert_eq!(standard(true, home), Some("/var/lib/quiver".into()));
        assert_eq!(standard(false, home), Some("/home/a/.local/state/quiver/versions".into()));
        assert_eq!(standard(false, |_| None), None);
    }
}
