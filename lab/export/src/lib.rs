//! The lab's results as a Parquet file, a row a test, for SQL engines: DuckDB, Spark, Trino.
//!
//! [`columns`] is what the file has; its schema, its page in the README and its values all come from there. [`read()`] takes
//! the documents out again.
#![forbid(unsafe_code)]

pub mod columns;
mod file;
mod read;

pub use file::{Export, ExportError};
pub use read::{ReadError, read};

/// The page of this room.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
