//! Required programs of other packages, from the list that `harness/provide` reads, too.

use std::process::{Command, Stdio};

use crate::find;

const LIST: &str = include_str!("../../packages.txt");

/// Purpose of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The demo.
    Run,
    /// The tests, besides what the demo needs.
    Test,
}

impl Purpose {
    fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Test => "test",
        }
    }
}

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'t> {
    purpose: &'t str,
    program: &'t str,
    package: &'t str,
    /// An option, and a part of the right program's answer, where programs of several makers have this name.
    told_by: Option<(&'t str, &'t str)>,
}

impl<'t> Entry<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let word = |text: &'t str| {
            let text = text.trim_start();
            (!text.is_empty()).then(|| text.split_once(char::is_whitespace).unwrap_or((text, "")))
        };
        let (purpose, rest) = word(line)?;
        let (program, rest) = word(rest)?;
        let (package, rest) = word(rest)?;
        let told_by = word(rest).map(|(option, answer)| (option, answer.trim()));
        Some(Self { purpose, program, package, told_by })
    }

    /// Whether the program in PATH is the right one.
    fn is_there(&self) -> bool {
        let Some(program) = find(self.program) else { return false };
        let Some((option, answer)) = self.told_by else { return true };
        let output = Command::new(program).arg(option).stdin(Stdio::null()).output();
        // Some answer on standard error.
        output.is_ok_and(|output| {
            [output.stdout, output.stderr].iter().any(|text| String::from_utf8_lossy(text).contains(answer))
        })
    }
}

/// The Debian packages that are not installed and hold programs for these purposes. A program of the same name from another
/// maker counts as missing.
pub fn missing_packages(purposes: &[Purpose]) -> Vec<&'static str> {
    let is_wanted = |entry: &Entry| purposes.iter().any(|wanted| wanted.word() == entry.purpose);
    entries().filter(|entry| is_wanted(entry) && !entry.is_there()).map(|entry| entry.package).collect()
}

fn entries() -> impl Iterator<Item = Entry<'static>> {
    LIST.lines().filter(|line| !line.starts_with('#')).filter_map(Entry::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_known_purpose() {
        let purposes = ["build", "package", Purpose::Run.word(), Purpose::Test.word()];
        let lines = LIST.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(entries().count(), lines);
        for Entry { purpose, program, told_by, .. } in entries() {
            assert!(purposes.contains(&purpose), "{program} is listed for `{purpose}`");
            assert!(told_by.is_none_or(|(_, answer)| !answer.is_empty()), "{program} has an option and no answer");
        }
    }

    #[test]
    fn a_program_of_another_maker_is_missing() {
        let sort = |answer| Entry {
            purpose: "test",
            program: "sort",
            package: "coreutils",
            told_by: Some(("--version", answer)),
        };
        assert!(sort("GNU coreutils").is_there());
        assert!(!sort("of another maker").is_there());
    }

    #[test]
    fn an_answer_may_have_spaces() {
        let entry = Entry::read("test  traceroute   traceroute  --version  Modern traceroute").expect("complete");
        assert_eq!(entry.told_by, Some(("--version", "Modern traceroute")));
        assert_eq!(Entry::read("test curl curl").expect("complete").told_by, None);
        assert_eq!(Entry::read("test curl"), None);
    }
}
