//! `cargo xtask check`: the rules of the house that neither compiler nor clippy knows.
//!
//! - `unsafe` appears only in the files that `unsafe-files.txt` lists with a reason, and each of those still needs it.
//!   Every package denies it, so that what macros of other crates make is refused, too, and no file that is compiled has
//!   a name that the check passes over.
//! - No file or folder has a name that says nothing about what it holds.
//! - Each message of VPP's API that a room answers has a test that names it.
//! - A target whose manifest says `test = false` or `doctest = false` has no such tests.
//! - Files of a crate do not import each other in a circle.
//! - The bugs that lists name can be seeded: their lines are in the file, once.
//! - Links between the repository's pages lead somewhere.
//! - Pages describe each item in a sentence that names its subject, and doc comments begin with theirs.

pub mod bugs;
mod comments;
mod cycles;
mod links;
mod messages;
mod prose;
mod sources;
mod targets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

/// The list of audited files, in the workspace's root.
const LIST: &str = "unsafe-files.txt";
/// Names of modules without a subject.
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
    let mut messages = messages::Messages::default();
    let mut crates: BTreeMap<PathBuf, cycles::Crate> = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let name = relative(file);
        let source = fs::read_to_string(file)?;
        messages.examine(&name, &source);
        problems.extend(comments::unclear(&name, &source));
        if let Some((folder, below)) = cycles::place(&name) {
            crates.entry(folder).or_default().examine(&name, &below, &source);
        }
        let found = match sources::examine(&source) {
            Ok(found) => found,
            Err(error) => {
                problems.push(format!("{name}: cannot be looked through ({error})"));
                continue;
            }
        };
        if found.uses_unsafe && listed.remove(name.as_str()).is_none() {
            problems.push(format!("{name}: uses unsafe code but is not listed in {LIST} with a reason"));
        }
        let hidden = found.hidden.iter();
        problems.extend(hidden.map(|other| format!("{name}: takes {other} for source; give that file the ending .rs")));
    }
    problems.extend(messages.untested());
    problems.extend(circles(&crates));
    problems.extend(bugs::problems(root, &files));
    for manifest in files.iter().filter(|file| file.ends_with("Cargo.toml")) {
        let (name, text) = (relative(manifest), fs::read_to_string(manifest)?);
        problems.extend(targets::left_out(root, &name, &text));
        if !sources::denies_unsafe(&text) {
            problems.push(format!("{name}: does not deny unsafe code; add `[lints]` with `workspace = true`"));
        }
    }
    for page in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        let (name, text) = (relative(page), fs::read_to_string(page)?);
        problems.extend(links::broken(root, &name, &text));
        if prose::is_checked(&name) {
            problems.extend(prose::unclear(&name, &text));
        }
    }
    problems.extend(listed.keys().map(|name| format!("{LIST}: {name} is gone or needs no unsafe code; take it off")));
    Ok(problems)
}

/// Circles of imports, by crate.
fn circles(crates: &BTreeMap<PathBuf, cycles::Crate>) -> Vec<String> {
    let mut problems = vec![];
    for (folder, of_crate) in crates {
        let folder = folder.display();
        let shown =
            |circle: Vec<&str>| format!("{folder}: these files import each other in a circle: {}", circle.join(" -> "));
        problems.extend(of_crate.cycles().into_iter().map(shown));
    }
    problems
}

/// Collects all files below `folder` but for git's own and build results, which cargo marks.
pub fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_folder = entry.file_type()?.is_dir();
        if name == ".git" || is_folder && entry.path().join("CACHEDIR.TAG").exists() {
            continue;
        }
        match is_folder {
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

fn empty_name(path: &str) -> Option<String> {
    let mut words = path.split(['/', '.', '_', '-']);
    let word = words.find(|word| EMPTY_NAMES.contains(word))?;
    Some(format!("{path}: `{word}` says nothing about what is in it; name it after its contents"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let write = |name: &str, text: &str| {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("new.rs", "fn f() { unsafe { g() } }");
        write("old.rs", "fn f() {}");
        write("helper.rs", "fn f() {}");
        write("a/target/hidden.rs", "unsafe fn f() {}");
        write("b/.hidden/build.rs", "unsafe fn f() {}");
        write("c/Cargo.toml", "[package]\nname = \"stranger\"\n");
        write("d/built/CACHEDIR.TAG", "");
        write("d/built/made.rs", "unsafe fn f() {}");
        write("e/src/a.rs", "use crate::b::B;");
        write("e/src/b.rs", "use crate::a::A;");
        write(LIST, "old.rs  was needed once\n");
        let mut problems = problems(root.path()).unwrap();
        problems.sort();
        let files = ["a/target/hidden.rs", "b/.hidden/build.rs", "c/Cargo.toml", "e: ", "helper.rs", "new.rs", LIST];
        assert_eq!(problems.len(), files.len(), "{problems:?}");
        for (problem, file) in problems.iter().zip(files) {
            assert!(problem.starts_with(file), "{problem}");
        }
    }
}
