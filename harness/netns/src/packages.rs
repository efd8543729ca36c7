//! Which programs of other packages are needed, from the one list that `harness/provide` reads too.

use crate::find;

/// Lines of purpose, program and package.
const LIST: &str = include_str!("../../packages.txt");

/// What a program is needed for.
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

/// The Debian packages that are not installed and hold programs for these purposes.
pub fn missing_packages(purposes: &[Purpose]) -> Vec<&'static str> {
    let missing = |(purpose, program, _): &(&str, &str, &str)| {
        purposes.iter().any(|wanted| wanted.word() == *purpose) && find(program).is_none()
    };
    entries().filter(missing).map(|(_, _, package)| package).collect()
}

fn entries() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    LIST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?, words.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_known_purpose() {
        let purposes = ["build", Purpose::Run.word(), Purpose::Test.word()];
        let lines = LIST.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(entries().count(), lines);
        for (purpose, program, _) in entries() {
            assert!(purposes.contains(&purpose), "{program} is listed for `{purpose}`");
        }
    }
}
