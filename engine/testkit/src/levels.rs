//! Tests on every instruction set. One that this machine lacks is reported as ignored, never as passed.
//!
//! `QUIVER_TEST_WITHOUT=avx512,avx2` lets tests take these for missing, to see what they say then.

use libtest_mimic::Trial;
use quiver_engine::Level;

/// Names the levels that tests are to take for missing.
pub const WITHOUT: &str = "QUIVER_TEST_WITHOUT";

/// Every level, with None where tests have to do without it.
pub fn levels() -> [(&'static str, Option<Level>); 3] {
    let without = std::env::var(WITHOUT).unwrap_or_default();
    Level::all().map(|(name, level)| (name, level.filter(|_| !without.split(',').any(|missing| missing == name))))
}

/// The levels that there are, with their names.
pub fn here() -> impl Iterator<Item = (&'static str, Level)> {
    levels().into_iter().filter_map(|(name, level)| Some((name, level?)))
}

/// Placeholder for a test on a level that this CPU lacks: ignored, and a failure if it is run explicitly.
pub(crate) fn missing(test: &str, level: &'static str) -> Trial {
    let refusal = move || Err(format!("{level} is not on this CPU").into());
    Trial::test(format!("{test} ({level} is not on this CPU)"), refusal).with_ignored_flag(true)
}

/// A test's name, and the test.
pub type LevelTest = (&'static str, fn(Level));

/// The tests of a module, of which [`level_tests`](crate::level_tests) makes a list.
pub struct LevelTests {
    /// The module's path. Names of tests begin with it, but for the program's own name.
    pub module: &'static str,
    /// The tests.
    pub tests: &'static [LevelTest],
}

impl LevelTests {
    /// A trial for each test and level.
    pub fn trials(&self) -> Vec<Trial> {
        let prefix = self.module.split_once("::").map_or(String::new(), |(_, module)| format!("{module}::"));
        let named = self.tests.iter().map(|(test, run)| (format!("{prefix}{test}"), *run));
        named.flat_map(|(test, run)| levels().map(|level| trial(&test, run, level))).collect()
    }
}

fn trial(test: &str, run: fn(Level), (name, level): (&'static str, Option<Level>)) -> Trial {
    let Some(level) = level else { return missing(test, name) };
    Trial::test(format!("{test} ({name})"), move || {
        run(level);
        Ok(())
    })
}

/// Lists a module's functions that take a [`Level`], for [`level_program`](crate::level_program) to run each once for every
/// instruction set.
#[macro_export]
macro_rules! level_tests {
    ($($test:ident),+ $(,)?) => {
        /// The tests of this module that run on every instruction set.
        pub const LEVEL_TESTS: $crate::levels::LevelTests =
            $crate::levels::LevelTests { module: module_path!(), tests: &[$((stringify!($test), $test)),+] };
    };
}
