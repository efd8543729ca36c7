//! Files that an author may have quiverd open.
//!
//! quiverd often runs as root, and members of a group may use its sockets. Whatever file they name, quiverd opens it with its own
//! rights, not with theirs. So authors that are guests ([`Author::as_guest`](crate::transaction::Author::as_guest)) write only
//! below folders that the operator names ([`confine`]), and read files there and those that every user of the machine may read.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::FileError;
use super::regular::{check_regular, open, read_open, text};
use crate::control::Control;

/// File systems whose files check the reader's rights, regardless of their mode: `PROC_SUPER_MAGIC` and `SYSFS_MAGIC`
/// of Linux.
const OF_THE_KERNEL: [u64; 2] = [0x9fa0, 0x6265_6572];

/// The folders of guests' files.
#[derive(Clone, Debug, Default)]
struct Confined {
    read: Arc<[PathBuf]>,
    write: Arc<[PathBuf]>,
}

/// Lets guests have files read and written below these folders. Without it they write nothing.
pub fn confine(control: &Control, read: Vec<PathBuf>, write: Vec<PathBuf>) {
    control.insert_room(Confined { read: read.into(), write: write.into() });
}

impl Control {
    /// Files that may be opened for the author of this handle.
    pub fn files(&self) -> Reach {
        if !self.author().is_guest() {
            return Reach::default();
        }
        let folders = match self.has_room::<Confined>() {
            true => self.room::<Confined>().clone(),
            false => Confined::default(),
        };
        Reach { folders: Some(folders) }
    }
}

/// Files that may be opened: by default all that quiverd may open itself. A helper thread can have it.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Those that guests may name files in; None if all may be named.
    folders: Option<Confined>,
}

/// A name in an open folder, in which a file may be written.
#[derive(Debug)]
pub struct Place {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
}

impl Reach {
    /// Opens a regular file for reading, without waiting.
    pub fn open(&self, path: &Path) -> Result<File, FileError> {
        match &self.folders {
            None => open(path),
            Some(Confined { read, .. }) => match below(read, path) {
                Some((folder, rest)) => open_below(folder, rest, path, &|_| true),
                None => open_public(path)
                    .ok_or_else(|| FileError::NotForGuests { path: path.to_owned(), folders: read.to_vec() })?,
            },
        }
    }

    /// Reads a regular file of at most so many bytes.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        read_open(self.open(path)?, path, limit)
    }

    /// Reads a regular file of text, of at most so many bytes.
    pub fn read_text(&self, path: &Path, limit: u64) -> Result<String, FileError> {
        text(self.read(path, limit)?, path)
    }

    /// Finds the place of a file that is to be written.
    pub fn place(&self, path: &Path) -> Result<Place, FileError> {
        let refused = |error: Errno| FileError::refused(path, error.into());
        let name = path.file_name().ok_or_else(|| refused(Errno::ISDIR))?.to_owned();
        let folder = match &self.folders {
            None => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                open_folder(CWD, folder, OFlags::empty()).map_err(refused)?
            }
            Some(Confined { write, .. }) => {
                let no_place = || FileError::OutOfReach { path: path.to_owned(), folders: write.to_vec() };
                let (folder, rest) = below(write, path).ok_or_else(no_place)?;
                walk(folder, rest.parent().unwrap_or(Path::new("")), &|_| true).map_err(refused)?
            }
        };
        Ok(Place { folder, name, path: path.to_owned() })
    }

    /// Refuses a path at which nothing may be made for a guest. Of others it says nothing: their folders may come later.
    pub fn check_place(&self, path: &Path) -> Result<(), FileError> {
        match self.folders {
            None => Ok(()),
            Some(_) => self.place(path).map(drop),
        }
    }
}

/// The folder that a guest's path is in, and the rest of the path.
fn below<'a>(folders: &'a [PathBuf], path: &'a Path) -> Option<(&'a Path, &'a Path)> {
    let mut found = folders.iter().filter_map(|folder| Some((&**folder, path.strip_prefix(folder).ok()?)));
    let is_plain = |rest: &Path| rest.components().all(|part| matches!(part, Component::Normal(_)));
    found.find(|(_, rest)| !rest.as_os_str().is_empty() && is_plain(rest))
}

impl Place {
    /// The path that led here.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is something of this name.
    pub fn is_taken(&self) -> bool {
        rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Makes a file that is not there yet, which only quiverd's user may read.
    pub fn create(&self) -> Result<File, FileError> {
        self.open(OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens the file that is there: a regular one of quiverd's user with no other name. None if there is none. No link is
    /// followed.
    pub fn existing(&self) -> Result<Option<File>, FileError> {
        let about = match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.refused(error)),
        };
        // A device may act when it is opened, so its kind is looked at before.
        check_regular(&self.path, about.st_mode)?;
        let file = self.open(OFlags::empty())?;
        let about = rustix::fs::fstat(&file).map_err(|error| self.refused(error))?;
        // The owner of a file, or of another link to it, could read its content.
        match about.st_uid == rustix::process::geteuid().as_raw() && about.st_nlink == 1 {
            true => Ok(Some(file)),
            false => Err(FileError::Others { path: self.path.clone() }),
        }
    }

    fn open(&self, more: OFlags) -> Result<File, FileError> {
        open_at(&self.folder, &self.name, OFlags::RDWR | more, &self.path)
    }

    fn refused(&self, error: Errno) -> FileError {
        FileError::refused(&self.path, error.into())
    }
}

fn open_folder(from: impl std::os::fd::AsFd, name: impl rustix::path::Arg, more: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(from, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | more, Mode::empty())
}

/// Opens a folder below another one, part by part. Follows no link, and checks that each folder is allowed.
fn walk(from: &Path, rest: &Path, allowed: &dyn Fn(&Stat) -> bool) -> Result<OwnedFd, Errno> {
    let check = |folder: OwnedFd| match allowed(&rustix::fs::fstat(&folder)?) {
        true => Ok(folder),
        false => Err(Errno::ACCESS),
    };
    let mut folder = check(open_folder(CWD, from, OFlags::empty())?)?;
    for part in rest.components() {
        folder = check(open_folder(&folder, part.as_os_str(), OFlags::NOFOLLOW)?)?;
    }
    Ok(folder)
}

/// Opens a regular file below a folder for reading.
fn open_below(from: &Path, rest: &Path, path: &Path, allowed: &dyn Fn(&Stat) -> bool) -> Result<File, FileError> {
    let refused = |error: Errno| FileError::refused(path, error.into());
    let name = rest.file_name().unwrap_or(OsStr::new("."));
    let folder = walk(from, rest.parent().unwrap_or(Path::new("")), allowed).map_err(refused)?;
    let about = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(refused)?;
    check_regular(path, about.st_mode)?;
    open_at(&folder, name, OFlags::RDONLY, path)
}

/// Opens a regular file in a folder, which `path` has led to, or makes one; no link is followed, and nothing waits.
fn open_at(folder: &OwnedFd, name: &OsStr, how: OFlags, path: &Path) -> Result<File, FileError> {
    let refused = |error: Errno| FileError::refused(path, error.into());
    let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map_err(refused)?);
    check_regular(path, rustix::fs::fstat(&file).map_err(refused)?.st_mode)?;
    Ok(file)
}

/// Opens a file that every user of the machine may read, wherever it is; None if they may not, or may not know of it.
fn open_public(path: &Path) -> Option<Result<File, FileError>> {
    let is_for_all = |about: &Stat| match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory => about.st_mode & 0o001 != 0,
        _ => about.st_mode & 0o004 != 0,
    };
    let below_root = |path: &Path| path.strip_prefix("/").map(Path::to_owned).ok();
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) => {
            // Where they may look themselves, they are told why.
            let folder = path.parent()?.canonicalize().ok()?;
            walk(Path::new("/"), &below_root(&folder)?, &is_for_all).ok()?;
            return Some(Err(FileError::refused(path, error)));
        }
    };
    let file = match open_below(Path::new("/"), &below_root(&real)?, path, &is_for_all) {
        Ok(file) => file,
        Err(error @ FileError::NotRegular { .. }) => return Some(Err(error)),
        Err(_) => return None,
    };
    let kind = rustix::fs::fstatfs(&file).ok()?.f_type as u64;
    let may_read = is_for_all(&rustix::fs::fstat(&file).ok()?) && !OF_THE_KERNEL.contains(&kind);
    may_read.then_some(Ok(file))
}
