//! Documents in a folder: a folder for each day, in it one for each test.

use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::document::{Document, Invalid};

/// Greater files are no documents: memory is for those that are.
pub const BYTES_MAX: u64 = 256 << 20;

const ENDING: &str = "json";
/// Ending of a document that is being written, or was when the machine stopped.
const UNFINISHED: &str = "unfinished";

/// Ending of the file that is written to test whether a document could be stored; documents have another one.
const PROBE: &str = ".probe";
const PROBE_BYTES: usize = 1 << 20;

/// Where a document belongs, in a folder or elsewhere: `2026-11-22/<test_id>/14-00-00.250000.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    day: String,
    test_id: String,
    time: String,
}

/// A folder of documents, `2026-11-22/<test_id>/14-00-00.250000.json`.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// A document that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The file.
    pub path: PathBuf,
    /// The document.
    pub document: Document,
}

/// A file that was not read, and stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum Skipped {
    /// A file or folder.
    #[error("{path}: cannot be read: {error}")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file that is far too large.
    #[error("{path}: {bytes} bytes are no document's, which has {BYTES_MAX} at most: what is it?")]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A document that was never finished.
    #[error("{path}: was not finished: the test was cut off, repeat it and delete this file")]
    Unfinished {
        /// The file.
        path: PathBuf,
    },
    /// The file holds no valid document.
    #[error("{path}: {invalid}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The fault.
        invalid: Invalid,
    },
}

/// A document that could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It is none.
    #[error("document of {test_id}: {invalid}")]
    Invalid {
        /// The test.
        test_id: String,
        /// The fault.
        invalid: Invalid,
    },
    /// Its test cannot be a folder's name.
    #[error(
        "test_id `{test_id}`: must be letters, digits, `.`, `_` and `-`, not begin with a dot, and have 200 at most"
    )]
    TestId {
        /// The test.
        test_id: String,
    },
    /// The system says no.
    #[error("{path}: cannot be written: {error}")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl Name {
    /// Name of a document, by its time and test.
    ///
    /// # Errors
    /// [`StoreError::TestId`].
    pub fn of(document: &Document) -> Result<Name, StoreError> {
        let test_id = &document.test_id;
        let is_allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
        if test_id.len() > 200 || test_id.starts_with('.') || !test_id.chars().all(is_allowed) {
            return Err(StoreError::TestId { test_id: test_id.chars().take(200).collect() });
        }
        // 2026-11-22T14:00:00.250000Z
        let time = document.start_time.to_string().replace(':', "-");
        let (day, time) = time.split_at(10);
        let time = time.trim_start_matches('T').trim_end_matches('Z').to_owned();
        Ok(Name { day: day.to_owned(), test_id: test_id.clone(), time })
    }

    /// The folder, and the file in it: the first one, or another one of the same test and time.
    pub fn path(&self, number: NonZeroU64) -> (String, String) {
        let (Name { day, test_id, time }, behind) = (self, number.get());
        let behind = if behind == 1 { String::new() } else { format!("-{behind}") };
        (format!("{day}/{test_id}"), format!("{time}{behind}.{ENDING}"))
    }
}

impl Store {
    /// In this folder, which is made when something is stored.
    pub fn new(folder: impl Into<PathBuf>) -> Store {
        Store { folder: folder.into() }
    }

    /// Writes it whole, or not at all, and never over another one. The folder's part after a crash is what the file system
    /// makes of `rename` and `fsync`.
    ///
    /// # Errors
    /// It is no valid document, or the system refuses. Nothing stays behind then.
    pub fn write(&self, document: &Document) -> Result<PathBuf, StoreError> {
        let invalid = |invalid| StoreError::Invalid { test_id: document.test_id.clone(), invalid };
        let text = document.text().map_err(invalid)?;
        let name = Name::of(document)?;
        let mut number = NonZeroU64::MIN;
        let folder = self.folder.join(name.path(number).0);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| StoreError::Write { path, error }
        };
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        let mut file = tempfile::Builder::new()
            .prefix(&format!("{}-", name.time))
            .suffix(&format!(".{UNFINISHED}"))
            .tempfile_in(&folder)
            .map_err(failed(&folder))?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all());
        written.map_err(failed(file.path()))?;
        loop {
            let path = folder.join(name.path(number).1);
            match file.persist_noclobber(&path) {
                Ok(_) => {
                    let synced = File::open(&folder).and_then(|folder| folder.sync_all());
                    return synced.map_err(failed(&folder)).map(|()| path);
                }
                Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => {
                    (file, number) = (refused.file, number.saturating_add(1));
                }
                Err(refused) => return Err(failed(&path)(refused.error)),
            }
        }
    }

    /// Writes more than most documents have below the folder, and removes it: whether one can be stored now.
    ///
    /// # Errors
    /// [`StoreError::Write`]: the folder cannot be made, may not be written, or is full.
    pub fn probe(&self) -> Result<(), StoreError> {
        let probed = fs::create_dir_all(&self.folder).and_then(|()| {
            let mut file = tempfile::Builder::new().suffix(PROBE).tempfile_in(&self.folder)?;
            file.write_all(&vec![0; PROBE_BYTES])?;
            // A full disk may be told by then only.
            file.as_file().sync_all()
        });
        probed.map_err(|error| StoreError::Write { path: self.folder.clone(), error })
    }

    /// All documents below the folder in the order of their paths, that is of days, tests and times; and in their place what
    /// is none. Files with other endings than `.json` are not looked at, and links below the folder not followed into folders.
    ///
    /// # Errors
    /// [`Skipped::Unreadable`]: there is no such folder, or it cannot be listed, which is another thing than an empty one.
    pub fn read(&self) -> Result<impl Iterator<Item = Result<Stored, Skipped>> + use<>, Skipped> {
        // The next one is the last.
        let mut waiting = listed(&self.folder)?;
        waiting.reverse();
        Ok(std::iter::from_fn(move || {
            loop {
                let path = match waiting.pop()? {
                    Ok(path) => path,
                    Err(skipped) => return Some(Err(skipped)),
                };
                match fs::symlink_metadata(&path) {
                    Ok(metadata) if metadata.is_dir() => {
                        let found = listed(&path).unwrap_or_else(|skipped| vec![Err(skipped)]);
                        waiting.extend(found.into_iter().rev());
                    }
                    _ if ends_with(&path, UNFINISHED) => return Some(Err(Skipped::Unfinished { path })),
                    Ok(_) if !ends_with(&path, ENDING) => {}
                    Ok(_) => return Some(stored(path)),
                    Err(error) => return Some(Err(Skipped::Unreadable { path, error })),
                }
            }
        }))
    }
}

/// Entries of a folder, sorted; an entry that cannot be read comes last.
fn listed(folder: &Path) -> Result<Vec<Result<PathBuf, Skipped>>, Skipped> {
    let unreadable = |error| Skipped::Unreadable { path: folder.to_owned(), error };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths = Vec::new();
    let mut skipped = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => paths.push(entry.path()),
            Err(error) => skipped.push(Err(unreadable(error))),
        }
    }
    paths.sort();
    Ok(paths.into_iter().map(Ok).chain(skipped).collect())
}

fn stored(path: PathBuf) -> Result<Stored, Skipped> {
    let text = match fs::metadata(&path) {
        Ok(metadata) if metadata.len() > BYTES_MAX => {
            return Err(Skipped::TooLarge { path, bytes: metadata.len() });
        }
        // A pipe would never end.
        Ok(metadata) if !metadata.is_file() => Err(io::Error::other("it is no file")),
        Ok(_) => fs::read(&path),
        Err(error) => Err(error),
    };
    match text {
        Err(error) => Err(Skipped::Unreadable { path, error }),
        Ok(text) => match Document::parse(&text) {
            Ok(document) => Ok(Stored { path, document }),
            Err(invalid) => Err(Skipped::Invalid { path, invalid }),
        },
    }
}

fn ends_with(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own == ending)
}
