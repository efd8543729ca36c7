//! A folder or an object store, whichever is named.

use std::path::{Path, PathBuf};
use std::{env, fs};

use quiver_result::{Document, Name, Skipped, Store, StoreError, Stored};

use crate::bucket::{Bucket, Patience};
use crate::{Trouble, Unlisted, UrlError};

/// Where documents are.
#[derive(Debug)]
pub struct Results {
    place: Place,
    /// The URL that was given.
    url: String,
    /// Where documents are kept that it does not take.
    unsent: PathBuf,
}

#[derive(Debug)]
enum Place {
    Folder(Store),
    Bucket(Box<Bucket>),
}

/// A document that is not where it should be.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is no document at all.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The place takes none, and will not by itself. Nothing was to be written yet.
    #[error("{0}; free that place, or name another with --results")]
    Refused(Trouble),
    /// The place did not take it, but it is not lost.
    #[error("{trouble}. The document is kept in {kept}; send it later: quiver lab send {url} --from {}", unsent.display())]
    Kept {
        /// The place's error.
        trouble: Box<Trouble>,
        /// The file.
        kept: String,
        /// The place.
        url: String,
        /// The folder that it is in.
        unsent: PathBuf,
    },
    /// The place did not take it, and neither did the folder for what is to be sent later.
    #[error("{trouble}. It cannot be kept either: {kept}; free that folder, or name another with --unsent")]
    Lost {
        /// The place's error.
        trouble: Box<Trouble>,
        /// The folder's error.
        kept: Box<StoreError>,
    },
}

/// Result of sending a kept document.
#[derive(Debug)]
pub enum Sent {
    /// It is there, and no longer here.
    Stored {
        /// Where it was.
        from: PathBuf,
        /// Where it is.
        to: String,
    },
    /// It is still here.
    Failed {
        /// The file that it was kept in.
        from: PathBuf,
        /// The error.
        trouble: Trouble,
    },
    /// It is there, but cannot be deleted here; sent again, it is not stored twice.
    Left {
        /// The file that it was kept in.
        from: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// It is no document.
    Skipped(Skipped),
}

/// Where documents are kept that their place does not take, unless something else is said: below the user's state folder.
pub fn default_unsent() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or_else(home);
    state.unwrap_or_else(|| ".".into()).join("quiver/lab/unsent")
}

impl Results {
    /// A folder, or `s3://BUCKET/PREFIX`. What it does not take is kept in the folder `unsent`.
    ///
    /// # Errors
    /// It is a URL that leads nowhere.
    pub fn open(place: &str, unsent: &Path) -> Result<Results, UrlError> {
        match place.contains("://") {
            true => Bucket::open(place, Patience::default()).map(|bucket| Results::bucket(bucket, place, unsent)),
            false => {
                let (url, unsent) = (place.to_owned(), unsent.to_owned());
                Ok(Results { place: Place::Folder(Store::new(place)), url, unsent })
            }
        }
    }

    /// An object store by other settings than the environment's; `url` is what messages call it.
    pub fn bucket(bucket: Bucket, url: &str, unsent: &Path) -> Results {
        Results { place: Place::Bucket(bucket.into()), url: url.to_owned(), unsent: unsent.to_owned() }
    }

    /// Tries whether a document can be written, before there is one: something else is, and is removed. An object store
    /// that gives no good answer just now is no error as long as documents can be kept meanwhile: what it said is returned.
    ///
    /// # Errors
    /// [`WriteError::Refused`]: a folder cannot be written, a bucket is not there or not to be written.
    /// [`WriteError::Lost`]: an object store does not answer, and nothing can be kept for it.
    pub fn probe(&self) -> Result<Option<Trouble>, WriteError> {
        let probed = match &self.place {
            Place::Folder(store) => store.probe().map_err(Trouble::Store),
            Place::Bucket(bucket) => bucket.probe(),
        };
        match probed {
            Ok(()) => Ok(None),
            Err(trouble @ Trouble::Unavailable { .. }) => match Store::new(&self.unsent).probe() {
                Ok(()) => Ok(Some(trouble)),
                Err(kept) => Err(WriteError::Lost { trouble: trouble.into(), kept: kept.into() }),
            },
            Err(trouble) => Err(WriteError::Refused(trouble)),
        }
    }

    /// Stores a document whole, or not at all, and never over another one. The answer is where it is.
    ///
    /// # Errors
    /// It is no document, or it is elsewhere now, which the error says.
    pub fn write(&self, document: &Document) -> Result<String, WriteError> {
        let trouble = match self.put(document)? {
            Ok(at) => return Ok(at),
            Err(trouble) => trouble,
        };
        match Store::new(&self.unsent).write(document) {
            Ok(kept) => {
                let (kept, url, unsent) = (kept.display().to_string(), self.url.clone(), self.unsent.clone());
                Err(WriteError::Kept { trouble: trouble.into(), kept, url, unsent })
            }
            Err(kept) => Err(WriteError::Lost { trouble: trouble.into(), kept: kept.into() }),
        }
    }

    /// All documents in the order of days, tests and times; and in their place what is none.
    ///
    /// # Errors
    /// It is not there, or does not tell what it has.
    pub fn read(&self) -> Result<Box<dyn Iterator<Item = Result<Stored, Skipped>> + '_>, Unlisted> {
        Ok(match &self.place {
            Place::Folder(store) => Box::new(store.read().map_err(Unlisted::Folder)?),
            Place::Bucket(bucket) => Box::new(bucket.read().map_err(Unlisted::Bucket)?),
        })
    }

    /// Moves all documents of a folder here, one after the other. What cannot be stored stays there.
    ///
    /// # Errors
    /// That folder is not there, or cannot be looked into.
    pub fn send(&self, from: &Path) -> Result<impl Iterator<Item = Sent>, Unlisted> {
        let found = Store::new(from).read().map_err(Unlisted::Folder)?;
        Ok(found.map(|found| {
            let Stored { path: from, document } = match found {
                Ok(stored) => stored,
                Err(skipped) => return Sent::Skipped(skipped),
            };
            match self.put(&document).map_err(Trouble::Store).and_then(|stored| stored) {
                Err(trouble) => Sent::Failed { from, trouble },
                Ok(to) => match fs::remove_file(&from) {
                    Ok(()) => Sent::Stored { from, to },
                    Err(error) => Sent::Left { from, error },
                },
            }
        }))
    }

    /// Where it is now, or what the place said.
    ///
    /// # Errors
    /// It is no document.
    fn put(&self, document: &Document) -> Result<Result<String, Trouble>, StoreError> {
        match &self.place {
            Place::Folder(store) => match store.write(document) {
                Ok(path) => Ok(Ok(path.display().to_string())),
                Err(error @ StoreError::Write { .. }) => Ok(Err(error.into())),
                Err(error) => Err(error),
            },
            Place::Bucket(bucket) => {
                let invalid = |invalid| StoreError::Invalid { test_id: document.test_id.clone(), invalid };
                let text = document.text().map_err(invalid)?;
                Ok(bucket.put(&Name::of(document)?, &text))
            }
        }
    }
}
