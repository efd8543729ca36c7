//! Where facts about the machine are read, so that tests can make one up.

use std::fs;
use std::path::PathBuf;

/// A machine's file system.
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// The machine that this program runs on.
    pub fn this() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// The trimmed contents of a file; `path` has no leading slash.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok().map(|text| text.trim().to_owned())
    }

    /// Where a file is.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// A machine that consists of these files.
#[cfg(test)]
pub fn made_of(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let machine = Machine { root: folder.path().to_owned() };
    (folder, machine)
}
