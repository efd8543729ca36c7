//! Opens and reads regular files, without waiting and within limits.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FileType, OFlags};

use super::error::FileError;

/// Bytes of a file of commands, at most.
pub const SCRIPT_MAX: u64 = 16 << 20;

/// Magic number of `nsfs`, the file system of namespaces (`NSFS_MAGIC` of Linux).
const NAMESPACES: u64 = 0x6e73_6673;

/// Opens a regular file for reading, without waiting.
pub fn open(path: &Path) -> Result<File, FileError> {
    let refused = |error| FileError::refused(path, error);
    // A device may act when it is opened, so its kind is looked at before, and again when it is open.
    check_regular(path, path.metadata().map_err(refused)?.mode())?;
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path).map_err(refused)?;
    check_regular(path, file.metadata().map_err(refused)?.mode())?;
    Ok(file)
}

/// Opens the file of a namespace.
pub fn open_namespace(path: &Path) -> Result<File, FileError> {
    let file = open(path)?;
    let kind = rustix::fs::fstatfs(&file).map_err(|error| FileError::refused(path, error.into()))?.f_type;
    match kind as u64 == NAMESPACES {
        true => Ok(file),
        false => Err(FileError::NoNamespace { path: path.to_owned() }),
    }
}

/// Reads a regular file of at most so many bytes.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    read_open(open(path)?, path, limit)
}

/// Reads a regular file of text, of at most so many bytes.
pub fn read_text(path: &Path, limit: u64) -> Result<String, FileError> {
    text(read(path, limit)?, path)
}

/// Reads the rest of an open file, of at most so many bytes; it may be longer than it says.
pub fn read_open(file: File, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = vec![];
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| FileError::refused(path, error))?;
    match bytes.len() as u64 > limit {
        true => Err(FileError::TooLong { path: path.to_owned(), limit }),
        false => Ok(bytes),
    }
}

/// The text that a file holds.
pub(super) fn text(bytes: Vec<u8>, path: &Path) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|_| FileError::NoText { path: path.to_owned() })
}

/// Refuses all but regular files, by the type of the file.
pub(super) fn check_regular(path: &Path, mode: u32) -> Result<(), FileError> {
    let kind = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::Symlink => "a link",
        _ => "a device",
    };
    Err(FileError::NotRegular { path: path.to_owned(), kind })
}
