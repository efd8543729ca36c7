//! Files that only root and quiverd's user can have made or changed: those whose code runs in quiverd.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::FileError;
use super::regular::open;

/// Others may write there.
const BY_OTHERS: u32 = 0o022;
/// Others may add names to the folder, but neither remove nor replace those of others.
const STICKY: u32 = 0o1000;

/// Finds the real path of a regular file, if only root and quiverd's user could have put it there: they own it and each
/// folder on the way to it, and no other user may write to any of these.
pub fn owned(path: &Path) -> Result<PathBuf, FileError> {
    let refused = |error| FileError::refused(path, error);
    let real = path.canonicalize().map_err(refused)?;
    open(&real)?;
    for part in real.ancestors() {
        let about = part.symlink_metadata().map_err(refused)?;
        if !is_owned(&about) {
            return Err(FileError::Unowned { path: path.to_owned(), part: part.to_owned() });
        }
    }
    Ok(real)
}

/// Whether only root and quiverd's user can have created or replaced a file, or the entries of a folder.
pub fn is_owned(about: &Metadata) -> bool {
    let ours = about.uid() == 0 || about.uid() == rustix::process::geteuid().as_raw();
    ours && (about.mode() & BY_OTHERS == 0 || about.is_dir() && about.mode() & STICKY != 0)
}
