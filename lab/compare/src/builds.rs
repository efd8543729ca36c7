//! Builds of commits, in folders that stay.

use std::cell::Cell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use quiver_stop::Stop;

use crate::{CommandError, Git, GitError, Script};

/// How the daemon is built in a tree of its repository, whatever the user's environment says about where builds go.
pub const CARGO: &str = "cargo build --release --locked --package quiverd --target-dir target \
    && cp target/release/quiverd \"$QUIVER_BUILD/quiverd\"";

/// Commits of a repository, each built once, in a tree that goes with this value: after a failure, too, the user's repository
/// knows nothing of it.
#[derive(Debug)]
pub struct Builds {
    git: Git,
    script: Script,
    state: PathBuf,
    stop: Stop,
    /// Whether the tree is this value's: what was there before is not taken away.
    owns_tree: Cell<bool>,
}

/// Why there is no build of a commit.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// It cannot be checked out.
    #[error(transparent)]
    Git(#[from] GitError),
    /// It does not build.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Where it is to be kept.
    #[error("{}: {error}", path.display())]
    Folder {
        /// Which folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl Builds {
    /// Builds by a script that runs in the commit's tree and puts its results into `$QUIVER_BUILD`. Tree and builds are
    /// kept in `state`, an absolute path. A build ends when `stop` is set.
    pub fn new(git: Git, script: Script, state: &Path, stop: Stop) -> Builds {
        Builds { git, script, state: state.to_owned(), stop, owns_tree: Cell::new(false) }
    }

    /// Where tree and builds are kept.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Where the build of a commit is, once it is [made](Builds::make).
    pub fn folder(&self, commit: &str) -> PathBuf {
        self.state.join("builds").join(commit)
    }

    /// Builds a commit, by its id, if it is not there already.
    ///
    /// # Errors
    /// It does not build.
    pub fn make(&self, commit: &str) -> Result<PathBuf, BuildError> {
        let (folder, done) = (self.folder(commit), self.folder(commit).with_extension("done"));
        if done.exists() {
            return Ok(folder);
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| BuildError::Folder { path, error }
        };
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        if !self.tree().exists() {
            self.owns_tree.set(true);
        }
        self.git.check_out(&self.tree(), commit)?;
        self.script.run(&self.tree(), ("QUIVER_BUILD", &folder), &self.stop)?;
        fs::write(&done, "").map_err(failed(&done))?;
        Ok(folder)
    }

    fn tree(&self) -> PathBuf {
        self.state.join("tree")
    }
}

impl Drop for Builds {
    /// Takes the tree away, with what building left in it; the builds stay. Where all were there already, no tree was made;
    /// and one that was there before may be another command's.
    fn drop(&mut self) {
        if self.owns_tree.get()
            && self.tree().exists()
            && let Err(error) = self.git.remove(&self.tree())
        {
            // That nobody listens is no reason to panic.
            let _ = writeln!(io::stderr(), "{}: the tree of commits is still there: {error}", self.tree().display());
        }
    }
}
