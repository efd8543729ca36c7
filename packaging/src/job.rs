//! Inputs of all parts of the build.

use std::path::PathBuf;

/// A build of packages: its sources, and its output folder.
pub struct Job {
    /// The workspace.
    pub root: PathBuf,
    /// Where packages are put.
    pub output: PathBuf,
    /// The version that they have.
    pub version: String,
    /// Seconds since 1970 that all files and changelogs bear: those of the commit, so that two runs make the same packages.
    pub epoch: u64,
    /// Whether to compress well, or soon.
    pub is_release: bool,
}
