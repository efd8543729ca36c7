//! Commits of a repository, checked out in a tree of their own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository.
#[derive(Clone, Debug)]
pub struct Git {
    repository: PathBuf,
}

/// A failed git command.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It is not there.
    #[error("git cannot be started: {0}; install it")]
    Start(std::io::Error),
    /// It fails.
    #[error("`git {arguments}`: {said}")]
    Failed {
        /// Arguments of the command.
        arguments: String,
        /// Git's error output.
        said: String,
    },
    /// There is something else where commits are to be checked out.
    #[error("{}: is no tree of this repository: name another folder, or move it away", path.display())]
    Foreign {
        /// The path that is in the way.
        path: PathBuf,
    },
    /// There is nothing between.
    #[error("{good} is not before {bad}: name a good commit, and a bad one that has it in its history")]
    Order {
        /// The name that was given.
        good: String,
        /// The name that was given.
        bad: String,
    },
}

impl Git {
    /// The repository that a folder is in.
    pub fn new(folder: impl Into<PathBuf>) -> Git {
        Git { repository: folder.into() }
    }

    /// The id of a commit by any of its names.
    ///
    /// # Errors
    /// It is unknown.
    pub fn id(&self, name: &str) -> Result<String, GitError> {
        self.run(["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")])
    }

    /// The good commit, those after it along first parents, and the bad one last, by their ids.
    ///
    /// # Errors
    /// One is unknown, or the good one is not before the bad one.
    pub fn between(&self, good: &str, bad: &str) -> Result<Vec<String>, GitError> {
        let (from, to) = (self.id(good)?, self.id(bad)?);
        let order = || GitError::Order { good: good.to_owned(), bad: bad.to_owned() };
        if from == to || self.run(["merge-base", "--is-ancestor", &from, &to]).is_err() {
            return Err(order());
        }
        let after = self.run(["rev-list", "--first-parent", "--reverse", &format!("{from}..{to}")])?;
        Ok([from].into_iter().chain(after.lines().map(String::from)).collect())
    }

    /// A commit's first line, with its short id.
    ///
    /// # Errors
    /// It is unknown.
    pub fn title(&self, commit: &str) -> Result<String, GitError> {
        self.run(["log", "-1", "--format=%h %s", commit])
    }

    /// Checks a commit out in a tree, which is made if it is not there; the user's own is not touched. What builds left there
    /// stays, so that the next build is short.
    ///
    /// # Errors
    /// As git says; or what is there is no tree of this repository.
    pub fn check_out(&self, tree: &Path, commit: &str) -> Result<(), GitError> {
        if tree.join(".git").exists() {
            self.check_own(tree)?;
            return run(tree, ["checkout", "--quiet", "--force", "--detach", commit].map(OsStr::new)).map(drop);
        }
        // Of a tree whose folder was deleted, git still knows.
        self.run(["worktree", "prune"])?;
        let words = ["worktree", "add", "--quiet", "--force", "--detach"].map(OsStr::new);
        run(&self.repository, words.into_iter().chain([tree.as_os_str(), OsStr::new(commit)])).map(drop)
    }

    /// Takes the tree away, and what the repository knows of it, even of one that was only half made.
    ///
    /// # Errors
    /// As git says; or it is no tree of this repository.
    pub fn remove(&self, tree: &Path) -> Result<(), GitError> {
        self.check_own(tree)?;
        let words = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
        if run(&self.repository, words.into_iter().chain([tree.as_os_str()])).is_ok() {
            return Ok(());
        }
        // What git does not take for a tree, it forgets when the folder is gone.
        let _ = std::fs::remove_dir_all(tree);
        self.run(["worktree", "prune"]).map(drop)
    }

    /// Whether a folder is a tree of this repository: those have a file that names where the repository keeps what it knows of
    /// them (gitrepository-layout(5)).
    fn check_own(&self, tree: &Path) -> Result<(), GitError> {
        let repository = PathBuf::from(self.run(["rev-parse", "--path-format=absolute", "--git-common-dir"])?);
        let names = std::fs::read_to_string(tree.join(".git")).unwrap_or_default();
        let known = names.strip_prefix("gitdir: ").and_then(|path| tree.join(path.trim()).canonicalize().ok());
        match (known, repository.canonicalize()) {
            (Some(known), Ok(repository)) if known.starts_with(repository.join("worktrees")) => Ok(()),
            _ => Err(GitError::Foreign { path: tree.to_owned() }),
        }
    }

    fn run<const COUNT: usize>(&self, arguments: [&str; COUNT]) -> Result<String, GitError> {
        run(&self.repository, arguments.map(OsStr::new))
    }
}

fn run<'word>(folder: &Path, arguments: impl IntoIterator<Item = &'word OsStr>) -> Result<String, GitError> {
    let arguments: Vec<&OsStr> = arguments.into_iter().collect();
    let output = Command::new("git").args(&arguments).current_dir(folder).output().map_err(GitError::Start)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let said = if said.is_empty() { "there is no such commit".to_owned() } else { said };
    Err(GitError::Failed { arguments: words.join(" "), said })
}
