//! Results by URL: documents in a folder, or in an object store that speaks Amazon's S3.
//!
//! [`Results::open`] takes either. A document that its place does not take is kept in another folder, and [`Results::send`]
//! brings it there later: nothing that was measured is lost.
#![forbid(unsafe_code)]

mod bucket;
mod results;
mod trouble;

pub use bucket::{Bucket, Patience};
pub use results::{Results, Sent, WriteError, default_unsent};
pub use trouble::{Trouble, Unlisted, UrlError};

/// The page of this room.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
