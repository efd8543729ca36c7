//! Writes files whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Puts a file with this content in the place of `path`, for good, or leaves that as it is. Only its owner may read it, for a
/// configuration may hold secrets. It is written as `unfinished`, in the same folder, where no file may be: no other user's file is
/// written to, and no link is followed.
///
/// # Errors
/// The system's error. The unfinished file is removed.
pub fn replace(unfinished: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = File::options().write(true).create_new(true).mode(0o600).open(unfinished)?;
    let written = new.write_all(content).and_then(|()| new.sync_all()).and_then(|()| fs::rename(unfinished, path));
    if let Err(error) = written {
        let _ = fs::remove_file(unfinished);
        return Err(error);
    }
    // The name, too, must be on the disk.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}
