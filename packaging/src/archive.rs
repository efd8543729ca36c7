//! Archives whose members bear the same time and owners wherever they are made, so that the same files make the same archive.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use crate::tool::{About, PackagingError};

/// An archive that is being written.
pub struct Archive<W: Write> {
    tar: Builder<W>,
    epoch: u64,
}

/// Owner of a member: the number of its user and group.
#[derive(Clone, Copy)]
pub struct Owner(pub u64);

/// The owner of what no service writes.
pub const ROOT: Owner = Owner(0);

impl<W: Write> Archive<W> {
    /// An archive whose members were last changed at `epoch`.
    pub fn new(to: W, epoch: u64) -> Archive<W> {
        Archive { tar: Builder::new(to), epoch }
    }

    /// Adds a folder.
    pub fn folder(&mut self, path: &str, mode: u32, owner: Owner) -> Result<(), PackagingError> {
        let mut header = self.header(EntryType::Directory, mode, owner);
        self.tar.append_data(&mut header, format!("{path}/"), &[][..]).about(Path::new(path))
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Result<(), PackagingError> {
        let mut header = self.header(EntryType::Regular, mode, ROOT);
        header.set_size(bytes.len() as u64);
        self.tar.append_data(&mut header, path, bytes).about(Path::new(path))
    }

    /// Adds a file with capabilities, as its extended attribute `security.capability` (capabilities(7)).
    pub fn capable_file(&mut self, path: &str, bytes: &[u8], attribute: &[u8]) -> Result<(), PackagingError> {
        let added = self.tar.append_pax_extensions([("SCHILY.xattr.security.capability", attribute)]);
        added.about(Path::new(path))?;
        self.file(path, 0o755, bytes)
    }

    /// Adds all that is below a folder, in the order of the names, but for what `is_left_out` says of paths below it.
    pub fn tree(
        &mut self,
        folder: &Path,
        below: &str,
        is_left_out: &dyn Fn(&str) -> bool,
    ) -> Result<(), PackagingError> {
        for path in sorted(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = if below.is_empty() { name } else { format!("{below}/{name}") };
            if is_left_out(&name) {
                continue;
            }
            let about = path.symlink_metadata().about(&path)?;
            let mode = about.permissions().mode() & 0o7777;
            if about.is_symlink() {
                let mut header = self.header(EntryType::Symlink, 0o777, ROOT);
                let to = fs::read_link(&path).about(&path)?;
                self.tar.append_link(&mut header, &name, to).about(&path)?;
            } else if about.is_dir() {
                self.folder(&name, mode, ROOT)?;
                self.tree(&path, &name, is_left_out)?;
            } else {
                self.file(&name, mode, &fs::read(&path).about(&path)?)?;
            }
        }
        Ok(())
    }

    /// Writes the end.
    pub fn finish(self) -> Result<W, PackagingError> {
        self.tar.into_inner().about(Path::new("the archive"))
    }

    fn header(&self, kind: EntryType, mode: u32, owner: Owner) -> Header {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(self.epoch);
        header.set_uid(owner.0);
        header.set_gid(owner.0);
        header.set_size(0);
        header
    }
}

/// The entries of a folder, sorted by name.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>, PackagingError> {
    let entries = fs::read_dir(folder).about(folder)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().about(folder)?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn members_keep_modes_and_bear_the_given_time_and_owner() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(folder.path().join("b/program"), "text").unwrap();
        fs::set_permissions(folder.path().join("b/program"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("b", folder.path().join("a")).unwrap();
        let made = || {
            let mut archive = Archive::new(vec![], 7);
            archive.tree(folder.path(), "", &|name| name == "left").unwrap();
            archive.capable_file("capable", b"code", &[1, 0, 2]).unwrap();
            archive.finish().unwrap()
        };
        fs::write(folder.path().join("left"), "").unwrap();
        let bytes = made();
        assert_eq!(bytes, made());
        let mut archive = tar::Archive::new(&bytes[..]);
        let mut told = vec![];
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let extensions = entry.pax_extensions().unwrap();
            let attribute = extensions.and_then(|mut all| Some(all.next()?.ok()?.value_bytes().to_vec()));
            let header = entry.header();
            let (mode, time, owner) = (header.mode().unwrap(), header.mtime().unwrap(), header.uid().unwrap());
            told.push((entry.path().unwrap().display().to_string(), mode & 0o7777, time, owner, text, attribute));
        }
        let row = |name: &str, mode, text: &str| (name.to_owned(), mode, 7, 0, text.to_owned(), None);
        assert_eq!(told[0], row("a", 0o777, ""));
        assert_eq!(told[2], row("b/program", 0o755, "text"));
        assert_eq!((told[3].0.as_str(), told[3].5.as_deref()), ("capable", Some(&[1, 0, 2][..])));
        assert_eq!(told.len(), 4);
    }
}
