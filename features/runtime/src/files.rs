//! Where captures are written: files in the daemon, memory in tests and simulations.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use quiver_control::LocalFuture;
use quiver_control::files::{FileError, Reach};

/// Makes files for captures.
pub trait CaptureFiles {
    /// The folder of captures that are given a bare name.
    fn folder(&self) -> PathBuf;
    /// Whether a file can be begun there, for somebody of this reach; none is. What hinders it may come still.
    fn check(&self, reach: &Reach, path: &Path) -> Result<(), FileError>;
    /// Begins a file, in place of the capture of this name if there is one. What is no capture is not touched.
    fn create(&self, reach: &Reach, path: &Path) -> Result<Rc<dyn CaptureFile>, FileError>;
}

/// A file that grows.
pub trait CaptureFile {
    /// Puts bytes at the end; done when the future is ready. The next call comes after that.
    fn append(&self, bytes: Vec<u8>) -> LocalFuture<io::Result<()>>;
}

/// Files that end with the daemon.
#[derive(Clone, Default)]
pub struct MemoryFiles(Rc<RefCell<BTreeMap<PathBuf, Rc<MemoryFile>>>>);

#[derive(Default)]
struct MemoryFile(RefCell<Vec<u8>>);

impl MemoryFiles {
    /// Content of a file so far.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.0.borrow().get(path.as_ref()).map(|file| file.0.borrow().clone())
    }
}

impl CaptureFiles for MemoryFiles {
    fn folder(&self) -> PathBuf {
        PathBuf::from("/tmp")
    }
    fn check(&self, _: &Reach, _: &Path) -> Result<(), FileError> {
        Ok(())
    }
    fn create(&self, _: &Reach, path: &Path) -> Result<Rc<dyn CaptureFile>, FileError> {
        let file = Rc::<MemoryFile>::default();
        self.0.borrow_mut().insert(path.to_owned(), file.clone());
        Ok(file)
    }
}

impl CaptureFile for MemoryFile {
    fn append(&self, bytes: Vec<u8>) -> LocalFuture<io::Result<()>> {
        self.0.borrow_mut().extend(bytes);
        Box::pin(ready(Ok(())))
    }
}
