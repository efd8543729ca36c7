//! Lists of bugs, `tests/bugs.txt`, which `cargo xtask bugs` seeds.
//!
//! An entry has the bug, the file below the crate's folder, arguments of `cargo test`, and lines as in a diff. `#` begins a remark.
//!
//! ```text
//! bug: records of ended sessions are used again at once
//! file: src/shard.rs
//! test: --package quiver-session --lib shard
//! -self.resting[0].push(index);
//! +self.free.push(index);
//! ```

use std::fs;
use std::path::{Path, PathBuf};

/// The name of lists.
pub const LIST: &str = "bugs.txt";

/// A bug, and the test that finds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bug {
    /// Description of the bug.
    pub name: String,
    /// Its file, below the workspace's root.
    pub file: PathBuf,
    /// Arguments of `cargo test`.
    pub test: Vec<String>,
    /// Lines without the blanks around them, which the file has once.
    right: Vec<String>,
    wrong: Vec<String>,
}

/// All bugs that the lists among these files have.
pub fn listed(root: &Path, files: &[PathBuf]) -> Result<Vec<Bug>, String> {
    let mut bugs = vec![];
    for list in files.iter().filter(|file| file.file_name().is_some_and(|name| name == LIST)) {
        bugs.extend(read(root, list)?);
    }
    Ok(bugs)
}

/// Entries of the lists among these files that cannot be seeded.
pub fn problems(root: &Path, files: &[PathBuf]) -> Vec<String> {
    match listed(root, files) {
        Ok(bugs) => bugs.iter().map(|bug| seeded(root, bug)).filter_map(Result::err).collect(),
        Err(problem) => vec![problem],
    }
}

/// The text of a bug's file with the bug.
pub fn seeded(root: &Path, bug: &Bug) -> Result<String, String> {
    let text = fs::read_to_string(root.join(&bug.file)).map_err(|error| format!("{}: {error}", bug.file.display()))?;
    let lines: Vec<&str> = text.lines().collect();
    let is_here = |window: &[&str]| window.iter().zip(&bug.right).all(|(line, right)| line.trim() == right);
    let places: Vec<usize> =
        lines.windows(bug.right.len()).enumerate().filter(|(_, window)| is_here(window)).map(|(at, _)| at).collect();
    let [at] = places[..] else {
        let (file, times) = (bug.file.display(), places.len());
        return Err(format!("{LIST}: `{}`: {file} has its lines {times} times; they must be there once", bug.name));
    };
    let (before, behind) = (&lines[..at], &lines[at + bug.right.len()..]);
    let wrong = bug.wrong.iter().map(String::as_str);
    let all: Vec<&str> = before.iter().copied().chain(wrong).chain(behind.iter().copied()).collect();
    Ok(all.join("\n") + "\n")
}

/// Reads a list.
fn read(root: &Path, list: &Path) -> Result<Vec<Bug>, String> {
    // It is in a folder of the crate's folder.
    let folder = list.parent().and_then(Path::parent).unwrap_or(root);
    let folder = folder.strip_prefix(root).unwrap_or(folder);
    let text = fs::read_to_string(list).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut bugs: Vec<Bug> = vec![];
    for (number, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("{}:{}: {what}", folder.join("tests").join(LIST).display(), number + 1);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("bug: ") {
            bugs.push(Bug { name: name.trim().into(), ..Bug::default() });
            continue;
        }
        let bug = bugs.last_mut().ok_or_else(|| wrong("the first line must be `bug: ` and the bug's name"))?;
        if let Some(file) = line.strip_prefix("file: ") {
            bug.file = folder.join(file.trim());
        } else if let Some(test) = line.strip_prefix("test: ") {
            bug.test = test.split_whitespace().map(String::from).collect();
        } else if let Some(line) = line.strip_prefix('-') {
            bug.right.push(line.trim().into());
        } else if let Some(line) = line.strip_prefix('+') {
            bug.wrong.push(line.trim().into());
        } else {
            return Err(wrong("a line begins with `bug: `, `file: `, `test: `, `-` or `+`"));
        }
    }
    match bugs.iter().find(|bug| bug.right.is_empty() || bug.test.is_empty() || bug.file.as_os_str().is_empty()) {
        Some(bug) => Err(format!("{}: `{}` has no `file: `, `test: ` or line with `-`", list.display(), bug.name)),
        None => Ok(bugs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace with a file and a list.
    fn workspace(list: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("room/src/a.rs", "fn f() {\n    one();\n    two();\n}\nfn g() {\n    one();\n}\n");
        write("room/tests/bugs.txt", list);
        root
    }

    fn found(list: &str) -> Vec<String> {
        let root = workspace(list);
        problems(root.path(), &[root.path().join("room/tests/bugs.txt")])
    }

    const ENTRY: &str = "# remark\nbug: two is missed\nfile: src/a.rs\ntest: --package room\n";

    #[test]
    fn lines_that_are_there_once_are_replaced() {
        let list = format!("{ENTRY}-one();\n-two();\n+three();\n");
        assert_eq!(found(&list), [""; 0]);
        let root = workspace(&list);
        let [bug] = &read(root.path(), &root.path().join("room/tests/bugs.txt")).unwrap()[..] else { panic!("one") };
        assert_eq!((bug.name.as_str(), &bug.test[..]), ("two is missed", &["--package".into(), "room".into()][..]));
        assert_eq!(seeded(root.path(), bug).unwrap(), "fn f() {\nthree();\n}\nfn g() {\n    one();\n}\n");
    }

    #[test]
    fn lines_that_are_there_twice_or_not_are_problems() {
        for (lines, times) in [("-one();\n", 2), ("-three();\n", 0)] {
            let problems = found(&format!("{ENTRY}{lines}"));
            assert!(problems[0].contains(&format!("{times} times")), "{problems:?}");
        }
    }

    #[test]
    fn incomplete_entries_are_problems() {
        for (list, part) in [
            (ENTRY, "no `file: `"),
            ("bug: a\ntest: b\n-one();\n", "no `file: `"),
            ("file: a\n", ":1: the first line"),
            ("bug: a\nfiles: a\n", ":2: a line begins with"),
        ] {
            let problems = found(list);
            assert!(problems.len() == 1 && problems[0].contains(part), "{problems:?}");
        }
    }
}
