//! `cargo xtask check`: the rules of the house that neither compiler nor clippy knows.
//!
//! - `unsafe` appears only in the files that `unsafe-files.txt` lists with a reason, and each of those still needs it.
//! - No file or folder has a name that says nothing about what it holds.
//! - Links between the repository's pages lead somewhere.

mod links;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

/// The list of audited files, in the workspace's root.
const LIST: &str = "unsafe-files.txt";
/// Words that mark a place for things whose place nobody thought about.
const EMPTY_NAMES: [&str; 7] = ["util", "utils", "helper", "helpers", "common", "manager", "misc"];

/// Checks the workspace and prints what is wrong.
pub fn run(root: &Path) -> ExitCode {
    match problems(root) {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cargo xtask check: {error}");
            ExitCode::FAILURE
        }
    }
}

fn problems(root: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    let relative = |file: &Path| file.strip_prefix(root).unwrap_or(file).display().to_string();

    let mut problems: Vec<_> = files.iter().filter_map(|file| empty_name(&relative(file))).collect();
    let list = fs::read_to_string(root.join(LIST))?;
    let mut listed = match read_list(&list) {
        Ok(listed) => listed,
        Err(problem) => return Ok(vec![problem]),
    };
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let name = relative(file);
        if uses_unsafe(&fs::read_to_string(file)?) && listed.remove(name.as_str()).is_none() {
            problems.push(format!("{name}: uses unsafe code but is not listed in {LIST} with a reason"));
        }
    }
    for page in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        problems.extend(links::broken(root, &relative(page), &fs::read_to_string(page)?));
    }
    problems.extend(listed.keys().map(|name| format!("{LIST}: {name} is gone or needs no unsafe code; take it off")));
    Ok(problems)
}

/// Collects all files below `folder` but for build results and hidden ones.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') || name == "target" {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => collect(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}

/// Reads lines of path, spaces and reason; `#` starts a remark.
fn read_list(list: &str) -> Result<BTreeMap<&str, &str>, String> {
    let lines = list.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| match line.split_once(' ') {
            Some((path, reason)) if !reason.trim().is_empty() => Ok((path, reason.trim())),
            _ => Err(format!("{LIST}:{}: `{line}` gives no reason", number + 1)),
        })
        .collect()
}

/// Whether the code, without comments and strings, has the keyword or allows it.
///
/// It looks at lines, not at syntax; what it may overlook, the workspace's lint refuses for want of an `allow`.
fn uses_unsafe(source: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let code = source.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split('"').step_by(2)).any(|code| {
        code.contains("allow(unsafe_code") || code.split(|character| !is_word(character)).any(|word| word == "unsafe")
    })
}

fn empty_name(path: &str) -> Option<String> {
    let mut words = path.split(['/', '.', '_', '-']);
    let word = words.find(|word| EMPTY_NAMES.contains(word))?;
    Some(format!("{path}: `{word}` says nothing about what is in it; name it after its contents"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_code_is_found_and_talk_of_it_is_not() {
        for code in ["let x = unsafe { f() };", "#![allow(unsafe_code)]", r#"g("a", unsafe { f() })"#] {
            assert!(uses_unsafe(code), "{code}");
        }
        for talk in ["// unsafe", "unsafely", "f(); // unsafe {}", r#"print("unsafe")"#, "#![forbid(unsafe_code)]"] {
            assert!(!uses_unsafe(talk), "{talk}");
        }
    }

    #[test]
    fn empty_names_are_found_as_words() {
        assert!(empty_name("engine/core/src/utils.rs").is_some());
        assert!(empty_name("features/ip-common/src/lib.rs").is_some());
        assert!(empty_name("features/ip/src/utility_lookup.rs").is_none());
    }

    #[test]
    fn a_list_needs_reasons() {
        assert_eq!(read_list("# remark\n\na.rs  rings\n").unwrap(), BTreeMap::from([("a.rs", "rings")]));
        assert!(read_list("a.rs\n").unwrap_err().contains(":1: "));
    }

    #[test]
    fn strangers_and_stale_entries_are_named() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
        write("new.rs", "unsafe { f() }");
        write("old.rs", "f()");
        write("helper.rs", "f()");
        write(LIST, "old.rs  was needed once\n");
        let problems = problems(root.path()).unwrap();
        assert_eq!(problems.len(), 3, "{problems:?}");
        for (problem, file) in problems.iter().zip(["helper.rs", "new.rs", "old.rs"]) {
            assert!(problem.contains(file), "{problem}");
        }
    }
}
