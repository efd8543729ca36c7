//! Where captures are written: files in the daemon, memory in tests and simulations.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use quiver_control::LocalFuture;

/// Makes files for captures.
pub trait CaptureFiles {
    /// Whether a file can be begun there; none is. What hinders it may come still.
    fn check(&self, path: &Path) -> io::Result<()>;
    /// Begins a file, in place of the capture of this name if there is one. What is no capture is not touched.
    fn create(&self, path: &Path) -> io::Result<Rc<dyn CaptureFile>>;
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
    /// What was written to a file so far.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.0.borrow().get(path.as_ref()).map(|file| file.0.borrow().clone())
    }
}

impl CaptureFiles for MemoryFiles {
    fn check(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn create(&self, path: &Path) -> io::Result<Rc<dyn CaptureFile>> {
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
