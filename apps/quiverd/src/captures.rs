//! Captures of packets are files of the system, which only quiverd's user may read.

use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::LocalFuture;
use quiver_control::files::{FileError, Reach};
use quiver_runtime::files::{CaptureFile, CaptureFiles};

use crate::private::PrivateFolder;
use crate::state::aside;

/// The system's files.
pub struct Files(pub PrivateFolder);

struct Growing(Arc<File>);

impl CaptureFiles for Files {
    fn folder(&self) -> PathBuf {
        self.0.path().to_owned()
    }
    fn check(&self, reach: &Reach, path: &Path) -> Result<(), FileError> {
        self.0.made_for(path)?;
        match reach.place(path)?.existing()? {
            Some(mut file) => check_content(&mut file, path),
            None => Ok(()),
        }
    }
    fn create(&self, reach: &Reach, path: &Path) -> Result<Rc<dyn CaptureFile>, FileError> {
        self.0.made_for(path)?;
        Ok(Rc::new(Growing(Arc::new(open(reach, path)?))))
    }
}

/// Opens a file to write a capture. The client may have fewer rights than this process, so nothing is overwritten: a
/// link is not followed, and a file with other content than a capture stays.
fn open(reach: &Reach, path: &Path) -> Result<File, FileError> {
    let place = reach.place(path)?;
    let Some(mut file) = place.existing()? else { return place.create() };
    check_content(&mut file, path)?;
    let private = Permissions::from_mode(0o600);
    let emptied = file.set_permissions(private).and_then(|()| file.set_len(0)).and_then(|()| file.rewind());
    emptied.map_err(|error| FileError::refused(path, error))?;
    Ok(file)
}

/// Refuses a file that is neither empty nor a capture.
fn check_content(file: &mut File, path: &Path) -> Result<(), FileError> {
    let mut begin = vec![];
    file.take(4).read_to_end(&mut begin).map_err(|error| FileError::refused(path, error))?;
    match &begin[..] {
        // Of pcap files, in both orders of bytes, with microseconds and nanoseconds.
        []
        | [0xa1, 0xb2, 0xc3, 0xd4]
        | [0xd4, 0xc3, 0xb2, 0xa1]
        | [0xa1, 0xb2, 0x3c, 0x4d]
        | [0x4d, 0x3c, 0xb2, 0xa1] => Ok(()),
        _ => {
            let what = "the file is there and is no capture; say another name, or delete it";
            Err(FileError::refused(path, io::Error::new(io::ErrorKind::AlreadyExists, what)))
        }
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
    use std::os::unix::fs::MetadataExt;

    fn reach() -> Reach {
        Reach::default()
    }

    #[tokio::test]
    async fn files_grow_begin_anew_and_tell_what_the_system_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files(PrivateFolder::at(&folder.path().join("captures")));
        let path = files.folder().join("seen.pcap");
        let file = files.create(&reach(), &path).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(&files.folder())), (0o600, 0o700));
        file.append(vec![0xd4, 0xc3]).await.unwrap();
        file.append(vec![0xb2, 0xa1, 2]).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [0xd4, 0xc3, 0xb2, 0xa1, 2]);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        files.create(&reach(), &path).unwrap();
        assert!(std::fs::read(&path).unwrap().is_empty() && mode(&path) == 0o600);
        assert!(files.create(&reach(), &folder.path().join("no/folder")).is_err());
        let told = |path: &Path| files.check(&reach(), path).err().map(|error| error.to_string());
        assert!(told(&folder.path().join("no/folder")).unwrap().contains("No such file"));
        assert!(told(&path.join("file")).unwrap().contains("Not a directory"));
        assert_eq!((told(&path), told(&folder.path().join("new"))), (None, None));
        assert!(!folder.path().join("new").exists(), "a check makes nothing");
    }

    #[test]
    fn what_is_no_capture_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files(PrivateFolder::at(folder.path()));
        let [words, link, pipe, other] = ["words", "link", "pipe", "other"].map(|name| folder.path().join(name));
        std::fs::write(&words, "words").unwrap();
        std::fs::write(&other, "").unwrap();
        std::fs::hard_link(&other, folder.path().join("its name elsewhere")).unwrap();
        std::os::unix::fs::symlink(&words, &link).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [&words, &link, &pipe, &other, Path::new("/dev/full")] {
            assert!(files.check(&reach(), path).is_err() && open(&reach(), path).is_err(), "{}", path.display());
        }
        assert_eq!(std::fs::read(&words).unwrap(), b"words");
    }

    #[test]
    fn guests_have_captures_in_the_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files(PrivateFolder::at(&folder.path().join("captures")));
        let control = crate::host::control();
        quiver_control::files::confine(&control, vec![], vec![files.folder()]);
        let guest = control.by(quiver_control::transaction::Author::new("mallory").as_guest()).files();
        let elsewhere = folder.path().join("cron");
        let refused = files.check(&guest, &elsewhere).unwrap_err().to_string();
        assert!(refused.contains(&format!("use a file in {}", files.folder().display())), "{refused}");
        assert!(files.create(&guest, &elsewhere).is_err() && !elsewhere.exists());
        assert!(files.create(&guest, &files.folder().join("rx.pcap")).is_ok());
    }
}
