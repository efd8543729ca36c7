//! Captures of packets are files of the system.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::LocalFuture;
use quiver_runtime::files::{CaptureFile, CaptureFiles};

use crate::state::aside;

/// The system's files.
pub struct Files;

struct Growing(Arc<File>);

impl CaptureFiles for Files {
    fn create(&self, path: &Path) -> io::Result<Rc<dyn CaptureFile>> {
        Ok(Rc::new(Growing(Arc::new(File::create(path)?))))
    }
}

impl CaptureFile for Growing {
    fn append(&self, bytes: Vec<u8>) -> LocalFuture<io::Result<()>> {
        let file = self.0.clone();
        aside(move || (&*file).write_all(&bytes))
    }
}
