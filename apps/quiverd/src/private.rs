//! The folder of files that quiverd writes for its clients: captures and traces of the API. Only its user can read it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use quiver_control::files::{FileError, is_owned};

/// A folder, which comes into being with the first file.
#[derive(Clone, Debug)]
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// The folder of this path.
    pub fn at(path: &Path) -> PrivateFolder {
        PrivateFolder(path.to_owned())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the folder if it is that of this file and not there yet; others are not made. Where others may write, as to /tmp,
    /// they must at least not be able to exchange files for their own.
    pub fn made_for(&self, file: &Path) -> Result<(), FileError> {
        if file.parent() != Some(&self.0) {
            return Ok(());
        }
        let refused = |error| FileError::refused(&self.0, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(refused)?;
        let about = self.0.metadata().map_err(refused)?;
        if !is_owned(&about) {
            let what = "others may write to this folder, or own it; name another one with --captures";
            return Err(refused(io::Error::other(what)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn folders_in_which_others_exchange_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let told = |mode| {
            set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            PrivateFolder::at(folder.path()).made_for(&folder.path().join("x")).err().map(|error| error.to_string())
        };
        assert_eq!((told(0o700), told(0o755), told(0o1777)), (None, None, None));
        assert!(told(0o777).unwrap().ends_with("name another one with --captures"));
    }
}
