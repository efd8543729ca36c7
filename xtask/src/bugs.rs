//! `cargo xtask bugs`: seeds each bug that a `tests/bugs.txt` lists into a copy of the workspace, and sees that the test named there fails.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use std::{fs, io};

use crate::check::bugs::{Bug, LIST, listed, seeded};
use crate::check::collect;

/// Seeds the bugs whose name or test has the text `only`, one after the other, and prints which were found.
pub fn run(root: &Path, only: &str) -> ExitCode {
    match try_all(root, only) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo xtask bugs: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns how many were not found.
fn try_all(root: &Path, only: &str) -> Result<usize, String> {
    let mut files = vec![];
    collect(root, &mut files).map_err(|error| error.to_string())?;
    let mut bugs = listed(root, &files)?;
    bugs.retain(|bug| bug.name.contains(only) || bug.test.join(" ").contains(only));
    if bugs.is_empty() {
        return Err(format!("no {LIST} has a bug with `{only}` in its name or test"));
    }
    let copy = root.join("target/bugs/tree");
    mirror(root, &copy, &files)?;
    let mut tests: BTreeMap<&[String], Vec<&Bug>> = BTreeMap::new();
    for bug in &bugs {
        tests.entry(&bug.test).or_default().push(bug);
    }
    let mut missed = 0;
    for (test, bugs) in tests {
        println!("cargo test {}", test.join(" "));
        if let Some(failure) = failure(&copy, test)? {
            return Err(format!("it fails without a bug: {failure}"));
        }
        for bug in bugs {
            let (start, file) = (Instant::now(), copy.join(&bug.file));
            let said = |error: io::Error| format!("{}: {error}", file.display());
            // The workspace may change meanwhile: the copy stays as it was.
            let text = fs::read(&file).map_err(said)?;
            fs::write(&file, seeded(&copy, bug)?).map_err(said)?;
            let found = failure(&copy, test);
            fs::write(&file, text).map_err(said)?;
            let seconds = start.elapsed().as_secs();
            match &found {
                Ok(Some(failure)) => println!("  found in {seconds} s: {}\n    {failure}", bug.name),
                Ok(None) => println!("  MISSED in {seconds} s: {}", bug.name),
                Err(error) => println!("  NOT TRIED: {}: {error}", bug.name),
            }
            missed += usize::from(!matches!(found, Ok(Some(_))));
        }
    }
    println!("{} bugs, {missed} of them missed", bugs.len());
    Ok(missed)
}

/// Runs a test in the copy; the first line of its failure, if it fails.
fn failure(copy: &Path, test: &[String]) -> Result<Option<String>, String> {
    let cargo = || {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .current_dir(copy)
            .arg("test")
            .arg("--quiet")
            .args(test)
            .env("CARGO_TARGET_DIR", copy.with_file_name("built"));
        command.stdin(Stdio::null());
        command
    };
    let said = |error: io::Error| format!("cargo cannot be started: {error}");
    let built = cargo().arg("--no-run").output().map_err(said)?;
    if !built.status.success() {
        return Err(format!("the copy does not compile:\n{}", String::from_utf8_lossy(&built.stderr)));
    }
    let output = cargo().output().map_err(said)?;
    if output.status.success() {
        return Ok(None);
    }
    let text = [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned()).join("\n");
    Ok(Some(said_by(&text).unwrap_or("without a word").trim().chars().take(160).collect()))
}

/// The first line of a failure: of a panic, or else of the first test that failed.
fn said_by(text: &str) -> Option<&str> {
    let behind = |start: fn(&&str) -> bool| {
        let mut lines = text.lines().skip_while(move |line| !start(line)).skip(1);
        lines.find(|line| !line.trim().is_empty())
    };
    behind(|line| line.contains("panicked at")).or_else(|| behind(|line| line.starts_with("---- ")))
}

/// Copies files that have changed, and removes those that are gone.
fn mirror(root: &Path, copy: &Path, files: &[PathBuf]) -> Result<(), String> {
    let said = |file: &Path| {
        let file = file.display().to_string();
        move |error: io::Error| format!("{file}: {error}")
    };
    fs::create_dir_all(copy).map_err(said(copy))?;
    let mut gone = vec![];
    collect(copy, &mut gone).map_err(said(copy))?;
    gone.retain(|file| file.strip_prefix(copy).is_ok_and(|name| !root.join(name).exists()));
    for file in gone {
        fs::remove_file(&file).map_err(said(&file))?;
    }
    for file in files {
        let to = copy.join(file.strip_prefix(root).unwrap_or(file));
        let text = fs::read(file).map_err(said(file))?;
        if fs::read(&to).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(said(folder))?;
        }
        fs::copy(file, &to).map_err(said(&to))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_by_the_line_behind_its_head() {
        assert_eq!(said_by("thread 'a' panicked at a.rs:1:2:\nleft is 1\n"), Some("left is 1"));
        assert_eq!(said_by("failures:\n\n---- nat/source ----\n\nline 3 differs\n"), Some("line 3 differs"));
        assert_eq!(said_by("test result: FAILED\n"), None);
    }
}
