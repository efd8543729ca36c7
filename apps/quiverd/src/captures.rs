//! Captures of packets are files of the system.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::LocalFuture;
use quiver_runtime::files::{CaptureFile, CaptureFiles};
use rustix::fs::OFlags;

use crate::state::aside;

/// The system's files.
pub struct Files;

struct Growing(Arc<File>);

impl CaptureFiles for Files {
    fn check(&self, path: &Path) -> io::Result<()> {
        match options().open(path) {
            Ok(file) => check_content(file).map(drop),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().map_or_else(|| Err(io::ErrorKind::NotFound.into()), std::fs::metadata)?;
                if folder.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
            }
            Err(error) => Err(error),
        }
    }
    fn create(&self, path: &Path) -> io::Result<Rc<dyn CaptureFile>> {
        Ok(Rc::new(Growing(Arc::new(open(path)?))))
    }
}

/// Opens a file to write a capture. Who asks may have fewer rights than this process, so nothing is lost by it: a link is
/// not followed, and a file that holds something else than a capture stays.
fn open(path: &Path) -> io::Result<File> {
    let mut file = check_content(options().create(true).open(path)?)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
        file.rewind()?;
    }
    Ok(file)
}

fn options() -> OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags.bits().cast_signed());
    options
}

/// The file, if it is empty, a capture, or no file of bytes.
fn check_content(mut file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        let mut begin = vec![];
        (&mut file).take(4).read_to_end(&mut begin)?;
        // Of pcap files, in both orders of bytes, with microseconds and nanoseconds.
        if !matches!(
            &begin[..],
            [] | [0xa1, 0xb2, 0xc3, 0xd4]
                | [0xd4, 0xc3, 0xb2, 0xa1]
                | [0xa1, 0xb2, 0x3c, 0x4d]
                | [0x4d, 0x3c, 0xb2, 0xa1]
        ) {
            let what = "the file is there and is no capture; say another name, or delete it";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
        }
    }
    Ok(file)
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
        file.append(vec![0xd4, 0xc3]).await.unwrap();
        file.append(vec![0xb2, 0xa1, 2]).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [0xd4, 0xc3, 0xb2, 0xa1, 2]);
        Files.create(&path).unwrap();
        assert!(std::fs::read(&path).unwrap().is_empty());
        assert!(Files.create(&folder.path().join("no/folder")).is_err());
        let kind = |path: &Path| Files.check(path).err().map(|error| error.kind());
        assert_eq!(kind(&folder.path().join("no/folder")), Some(io::ErrorKind::NotFound));
        assert_eq!(kind(&path.join("file")), Some(io::ErrorKind::NotADirectory));
        assert_eq!((kind(&path), kind(&folder.path().join("new"))), (None, None));
        assert!(!folder.path().join("new").exists(), "a check makes nothing");
        let full = Files.create(Path::new("/dev/full")).unwrap();
        assert_eq!(full.append(vec![1]).await.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn what_is_no_capture_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let [words, link, pipe] = ["words", "link", "pipe"].map(|name| folder.path().join(name));
        std::fs::write(&words, "words").unwrap();
        std::os::unix::fs::symlink(&words, &link).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(open(&words).err().map(|error| error.kind()), Some(io::ErrorKind::AlreadyExists));
        assert_eq!(open(&link).err().and_then(|error| error.raw_os_error()), Some(nix::libc::ELOOP));
        assert!(Files.check(&words).is_err() && Files.check(&link).is_err());
        assert_eq!(std::fs::read(&words).unwrap(), b"words");
        // Nobody reads, and nobody waits for that.
        assert!(open(&pipe).is_ok());
    }
}
