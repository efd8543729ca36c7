//! Traces of VPP's API are files of the system, which only quiverd's user may read.

use std::io::Write;
use std::path::PathBuf;

use quiver_compat::trace::TraceFiles;
use quiver_control::LocalFuture;
use quiver_control::files::{FileError, Reach, read_open};

use crate::outside::Outside;
use crate::private::PrivateFolder;

/// Bytes of a trace that is read, at most.
const TRACE_MAX: u64 = 256 << 20;

/// The system's files.
pub struct Traces {
    /// The folder in which they are.
    pub folder: PrivateFolder,
    /// The threads that read and write them.
    pub outside: Outside,
}

impl TraceFiles for Traces {
    fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
    fn create(&self, name: &str, content: Vec<u8>) -> LocalFuture<Result<PathBuf, FileError>> {
        let (folder, path) = (self.folder.clone(), self.folder.path().join(name));
        self.outside.work(&path.clone(), move || {
            folder.made_for(&path)?;
            // A file of another user with this name, or a link to one, stays as it is.
            let mut file = Reach::default().place(&path)?.create()?;
            file.write_all(&content).map_err(|error| FileError::refused(&path, error))?;
            Ok(path)
        })
    }
    fn read(&self, name: &str) -> LocalFuture<Result<Vec<u8>, FileError>> {
        let path = self.folder.path().join(name);
        self.outside.work(&path.clone(), move || {
            // Only ours: in a folder that others may write to, they might give us something to ask.
            let file = Reach::default().place(&path)?.existing()?;
            let file = file.ok_or_else(|| FileError::refused(&path, std::io::ErrorKind::NotFound.into()))?;
            read_open(file, &path, TRACE_MAX)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[tokio::test]
    async fn traces_are_read_by_our_user_alone_and_end() {
        let directory = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::at(&directory.path().join("captures"));
        let traces = Traces { folder: folder.clone(), outside: Outside::default() };
        let path = traces.create("asked", b"trace".to_vec()).await.unwrap();
        assert_eq!(path, folder.path().join("asked"));
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(folder.path())), (0o600, 0o700));
        assert_eq!(traces.read("asked").await.unwrap(), b"trace");
        assert!(traces.create("asked", vec![]).await.is_err(), "it is there");
        for (name, target) in [("link", path.as_path()), ("zero", std::path::Path::new("/dev/zero"))] {
            std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
            assert!(traces.create(name, vec![]).await.is_err() && traces.read(name).await.is_err(), "{name}");
        }
        std::fs::File::create(folder.path().join("long")).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(traces.read("long").await, Err(FileError::TooLong { .. })));
    }
}
