//! Errors of an object store.

use object_store::Error;
use quiver_result::{Skipped, StoreError};

/// A URL that leads to no object store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It is written in another way.
    #[error("{url}: must be s3://BUCKET or s3://BUCKET/PREFIX; other object stores are not known")]
    Form {
        /// The URL.
        url: String,
    },
    /// The environment's settings of the store cannot be used.
    #[error("{url}: {said}; look at AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")]
    Setting {
        /// The URL.
        url: String,
        /// The fault.
        said: String,
    },
}

/// Failure of a place: a folder, or an object store after all retries.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A folder, or a document that is none, wherever it goes.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Access is denied: the credentials are unknown or lack the permission.
    #[error(
        "{at}: access is denied; look at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and at what they may do: {said}"
    )]
    Denied {
        /// The object, or what is listed.
        at: String,
        /// The store's error.
        said: String,
    },
    /// It is not there.
    #[error("{at}: is not there: {said}")]
    Missing {
        /// The object, or what is listed.
        at: String,
        /// The store's error.
        said: String,
    },
    /// It did not answer as it should, however often it was asked.
    #[error("{at}: no good answer: {said}")]
    Unavailable {
        /// The object, or what is listed.
        at: String,
        /// The last error.
        said: String,
    },
}

/// A place whose documents cannot be read at all, which is another thing than one that has none.
#[derive(Debug, thiserror::Error)]
pub enum Unlisted {
    /// A folder: it is not there, or cannot be looked into.
    #[error("{0}; name a folder with results, or s3://BUCKET/PREFIX")]
    Folder(Skipped),
    /// An object store.
    #[error("{0}; name an s3://BUCKET/PREFIX with results, or a folder")]
    Bucket(Trouble),
}

impl Trouble {
    pub(crate) fn of(at: &str, error: &Error) -> Trouble {
        let (at, said) = (at.to_owned(), chain(error));
        // What a listing is answered, the library tells in its text only.
        let is = |statuses: &[u16]| {
            matches!(error, Error::Generic { .. })
                && statuses.iter().any(|status| said.contains(&format!("non-2xx status code: {status} ")))
        };
        match error {
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Trouble::Denied { at, said },
            Error::NotFound { .. } => Trouble::Missing { at, said },
            _ if is(&[401, 403]) => Trouble::Denied { at, said },
            _ if is(&[404]) => Trouble::Missing { at, said },
            _ => Trouble::Unavailable { at, said },
        }
    }
}

/// The innermost reason says most; the one around it how often was tried.
fn chain(error: &Error) -> String {
    let mut said = Vec::new();
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // Most say what their source says, too.
        if !said.iter().any(|before: &String| before.contains(&text)) {
            said.push(text);
        }
        next = error.source();
    }
    let said = said.join(": ").split_whitespace().collect::<Vec<_>>().join(" ");
    said.chars().take(400).collect()
}
