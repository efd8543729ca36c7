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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_grow_begin_anew_and_tell_what_the_system_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.pcap");
        let file = Files.create(&path).unwrap();
        file.append(vec![1, 2]).await.unwrap();
        file.append(vec![3]).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [1, 2, 3]);
        Files.create(&path).unwrap();
        assert!(std::fs::read(&path).unwrap().is_empty());
        assert!(Files.create(&folder.path().join("no/folder")).is_err());
        let full = Files.create(Path::new("/dev/full")).unwrap();
        assert_eq!(full.append(vec![1]).await.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
