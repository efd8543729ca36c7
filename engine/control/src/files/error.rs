//! Why a file from outside is not used.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file is not used: path, error text and remedy.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("{}: {error}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The path names something other than a regular file.
    #[error("{} is {kind}, not a regular file; name a regular file", path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
        /// Type of the file there.
        kind: &'static str,
    },
    /// It has too many bytes, or no end.
    #[error("{} has more than {limit} bytes; split it", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Bytes at most.
        limit: u64,
    },
    /// Whatever holds it does not answer.
    #[error("{} takes too long to be read; copy it to a disk of this machine", path.display())]
    Slow {
        /// The file.
        path: PathBuf,
    },
    /// It holds something else than text.
    #[error("{} is no text in UTF-8; name a text file", path.display())]
    NoText {
        /// The file.
        path: PathBuf,
    },
    /// It is a file, and no namespace.
    #[error("{} is no namespace; name one of /run/netns or /proc/PID/ns", path.display())]
    NoNamespace {
        /// The file.
        path: PathBuf,
    },
    /// Others may change it.
    #[error(
        "{}: others than root and quiverd's user own {} or may write to it; put the file into a folder of root's, such as \
         /usr/lib/quiver", path.display(), part.display()
    )]
    Unowned {
        /// The file.
        path: PathBuf,
        /// The file itself, or the folder on the way to it.
        part: PathBuf,
    },
    /// Another user owns the file or has a second link to it, and could read its content.
    #[error("{} belongs to another user or has another name; delete it, or name another file", path.display())]
    Others {
        /// The file.
        path: PathBuf,
    },
    /// The client may not have it read.
    #[error(
        "{} is out of reach for clients that are neither root nor quiverd's user; use a file that everybody may read{}, or let \
         quiverd allow its folder with --files",
        path.display(), listed(folders)
    )]
    NotForGuests {
        /// The path.
        path: PathBuf,
        /// The folders whose files may be read.
        folders: Vec<PathBuf>,
    },
    /// The client may not have it written.
    #[error(
        "{} is out of reach for clients that are neither root nor quiverd's user; let quiverd allow its folder with --files, or \
         use a file{}", path.display(), listed(folders)
    )]
    OutOfReach {
        /// The path.
        path: PathBuf,
        /// The folders in which files may be written.
        folders: Vec<PathBuf>,
    },
}

/// Folders that may be used instead.
fn listed(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| format!(" or in {}", folder.display())).collect::<String>().replacen(" or", "", 1)
}

impl FileError {
    /// The system refused a file.
    pub fn refused(path: &Path, error: io::Error) -> FileError {
        FileError::Refused { path: path.to_owned(), error }
    }

    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, FileError::Refused { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}
