//! The folder that a site is written to.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

/// The file that says that a folder holds a site, and may be replaced by another one.
pub const FILES_MARK: &str = "quiver-lab-site.txt";

/// A folder that is being written beside its place.
#[derive(Debug)]
pub struct Folder {
    place: PathBuf,
    unfinished: TempDir,
}

impl Folder {
    /// Begins beside `place`, which is a site, an empty folder, or not there.
    ///
    /// # Errors
    /// There is something else, or nothing can be written there.
    pub fn new(place: &Path) -> io::Result<Folder> {
        if let Ok(mut entries) = fs::read_dir(place)
            && entries.next().is_some()
            && !place.join(FILES_MARK).exists()
        {
            return Err(io::Error::other("the folder is not empty, and no site of quiver-lab: name another one"));
        }
        let place = std::path::absolute(place)?;
        let beside = place.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(beside)?;
        let unfinished = tempfile::Builder::new().prefix(".quiver-lab-site-").tempdir_in(beside)?;
        Ok(Folder { place, unfinished })
    }

    /// Writes a file below the folder.
    ///
    /// # Errors
    /// The system refuses.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.unfinished.path().join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, bytes)
    }

    /// Puts the folder in its place. A site that was there is deleted.
    ///
    /// # Errors
    /// The system refuses.
    pub fn finish(self) -> io::Result<()> {
        self.put(FILES_MARK, b"Made by `quiver lab site`, which replaces this folder.\n")?;
        // A folder for one's own eyes is what a temporary one is; others may look at a site.
        fs::set_permissions(self.unfinished.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let beside = self.place.parent().unwrap_or(Path::new("/"));
        let old = tempfile::Builder::new().prefix(".quiver-lab-site-old-").tempdir_in(beside)?;
        match fs::rename(&self.place, old.path().join("site")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(self.unfinished.keep(), &self.place),
        }
    }
}
