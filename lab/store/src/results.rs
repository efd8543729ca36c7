//! A folder or an object store, whichever is named.

use std::path::{Path, PathBuf};
use std::{env, fs};

use quiver_result::{Document, Name, Skipped, Store, StoreError, Stored};

use crate::bucket::{Bucket, Patience};
use crate::{Trouble, UrlError};

/// Where documents are.
#[derive(Debug)]
pub struct Results(Place);

#[derive(Debug)]
enum Place {
    Folder(Store),
    Bucket {
        bucket: Box<Bucket>,
        /// As it was named.
        url: String,
        /// Where documents are kept that it does not take.
        unsent: PathBuf,
    },
}

/// A document that is not where it should be.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is not in its folder, or is no document at all.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object store did not take it, but it is not lost.
    #[error("{trouble}. The document is kept in {kept}; send it later: quiver lab send {url} --from {}", unsent.display())]
    Kept {
        /// What the store said.
        trouble: Box<Trouble>,
        /// The file.
        kept: String,
        /// The store.
        url: String,
        /// The folder that it is in.
        unsent: PathBuf,
    },
    /// The object store did not take it, and neither did the folder for what is to be sent later.
    #[error("{trouble}. It cannot be kept either: {kept}; free that folder, or name another with --unsent")]
    Lost {
        /// What the store said.
        trouble: Box<Trouble>,
        /// What the folder said.
        kept: Box<StoreError>,
    },
}

/// What became of a document that was kept.
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
        /// Where.
        from: PathBuf,
        /// Why.
        trouble: Trouble,
    },
    /// It is there, but cannot be deleted here; sent again, it is not stored twice.
    Left {
        /// Where.
        from: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is no document.
    Skipped(Skipped),
}

/// Where documents are kept that an object store does not take, unless something else is said: below the user's state folder.
pub fn default_unsent() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or_else(home);
    state.unwrap_or_else(|| ".".into()).join("quiver/lab/unsent")
}

impl Results {
    /// A folder, or `s3://BUCKET/PREFIX`. What an object store does not take is kept in `unsent`.
    ///
    /// # Errors
    /// It is a URL that leads nowhere.
    pub fn open(place: &str, unsent: &Path) -> Result<Results, UrlError> {
        match place.contains("://") {
            true => Bucket::open(place, Patience::default()).map(|bucket| Results::bucket(bucket, place, unsent)),
            false => Ok(Results(Place::Folder(Store::new(place)))),
        }
    }

    /// An object store by other settings than the environment's; `url` is what messages call it.
    pub fn bucket(bucket: Bucket, url: &str, unsent: &Path) -> Results {
        Results(Place::Bucket { bucket: bucket.into(), url: url.to_owned(), unsent: unsent.to_owned() })
    }

    /// Stores a document whole, or not at all, and never over another one. The answer is where it is.
    ///
    /// # Errors
    /// It is no document, or it is elsewhere now, which the error says.
    pub fn write(&self, document: &Document) -> Result<String, WriteError> {
        let (bucket, url, unsent) = match &self.0 {
            Place::Folder(store) => return Ok(store.write(document)?.display().to_string()),
            Place::Bucket { bucket, url, unsent } => (bucket, url, unsent),
        };
        let trouble = match put(bucket, document)? {
            Ok(at) => return Ok(at),
            Err(trouble) => trouble,
        };
        match Store::new(unsent).write(document) {
            Ok(kept) => {
                let (kept, url, unsent) = (kept.display().to_string(), url.clone(), unsent.clone());
                Err(WriteError::Kept { trouble: trouble.into(), kept, url, unsent })
            }
            Err(kept) => Err(WriteError::Lost { trouble: trouble.into(), kept: kept.into() }),
        }
    }

    /// All documents in the order of days, tests and times; and in their place what is none.
    pub fn read(&self) -> Box<dyn Iterator<Item = Result<Stored, Skipped>> + '_> {
        match &self.0 {
            Place::Folder(store) => Box::new(store.read()),
            Place::Bucket { bucket, .. } => Box::new(bucket.read()),
        }
    }

    /// Moves all documents of a folder here, one after the other. What cannot be stored stays there.
    pub fn send(&self, from: &Path) -> impl Iterator<Item = Sent> {
        Store::new(from).read().map(|found| {
            let Stored { path: from, document } = match found {
                Ok(stored) => stored,
                Err(skipped) => return Sent::Skipped(skipped),
            };
            let stored = match &self.0 {
                Place::Folder(store) => store.write(&document).map(|path| path.display().to_string()).map_err(named),
                Place::Bucket { bucket, .. } => put(bucket, &document).map_err(named).and_then(|stored| stored),
            };
            match stored {
                Err(trouble) => Sent::Failed { from, trouble },
                Ok(to) => match fs::remove_file(&from) {
                    Ok(()) => Sent::Stored { from, to },
                    Err(error) => Sent::Left { from, error },
                },
            }
        })
    }
}

fn put(bucket: &Bucket, document: &Document) -> Result<Result<String, Trouble>, StoreError> {
    let invalid = |invalid| StoreError::Invalid { test_id: document.test_id.clone(), invalid };
    let text = document.text().map_err(invalid)?;
    Ok(bucket.put(&Name::of(document)?, &text))
}

fn named(error: StoreError) -> Trouble {
    Trouble::Unavailable { at: "document".into(), said: error.to_string() }
}
