//! cargo-nextest, which runs the tests: found in PATH, or installed from PyPI below `target/`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest version whose environment names the test.
const OLDEST: [u32; 3] = [0, 9, 116];

/// The program, and if need be its installation.
pub fn program(root: &Path) -> Result<PathBuf, String> {
    if Command::new("cargo-nextest")
        .arg("--version")
        .output()
        .is_ok_and(|output| version(&String::from_utf8_lossy(&output.stdout)).is_some_and(|version| version >= OLDEST))
    {
        return Ok("cargo-nextest".into());
    }
    // Where cargo has tests keep their files, for they need pip as well.
    let folder = root.join("target/tmp");
    let python = std::fs::create_dir_all(&folder).map_err(|error| error.to_string());
    let python = python.and_then(|()| quiver_oracle::python(&folder, "nextest", &root.join("xtask/nextest.txt")));
    let python = python.map_err(|error| {
        format!(
            "cargo-nextest {} or newer is missing, and pip cannot install it ({error}); run `cargo install --locked \
             cargo-nextest`",
            OLDEST.map(|number| number.to_string()).join(".")
        )
    })?;
    Ok(python.with_file_name("cargo-nextest"))
}

/// The version in what `cargo-nextest --version` prints.
fn version(text: &str) -> Option<[u32; 3]> {
    let text = text.strip_prefix("cargo-nextest ")?.split_whitespace().next()?;
    let mut numbers = text.split(['.', '-']).map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?])
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_read_and_compared_by_number() {
        let version = super::version;
        assert_eq!(version("cargo-nextest 0.9.148 (cd1d6d546 2026-10-07)\nrelease: 0.9.148\n"), Some([0, 9, 148]));
        assert_eq!(version("cargo-nextest 0.10.0-b.1\n"), Some([0, 10, 0]));
        assert_eq!(version("nextest"), None);
        assert!(version("cargo-nextest 0.9.99 (a)") < Some(super::OLDEST));
    }
}
