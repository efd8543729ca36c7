//! Tests on every instruction set. One that this machine lacks is reported as ignored, never as passed.
//!
//! `QUIVER_TEST_WITHOUT=avx512,avx2` lets tests take these for missing, to see what they say then.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
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

/// What stands for a test on a level that is missing: ignored, and a failure for whoever insists.
pub(crate) fn missing(test: &str, level: &'static str) -> Trial {
    let refusal = move || Err(format!("{level} is not on this CPU").into());
    Trial::test(format!("{test} ({level} is not on this CPU)"), refusal).with_ignored_flag(true)
}

/// A test's name, and the test.
pub type LevelTest = (&'static str, fn(Level));

/// The `main` that [`level_tests`](crate::level_tests) makes.
pub fn main(tests: &[LevelTest]) -> ExitCode {
    let trial = |(test, run): &LevelTest, (name, level): (&'static str, Option<Level>)| match level {
        Some(level) => {
            let run = *run;
            Trial::test(format!("{test} ({name})"), move || {
                run(level);
                Ok(())
            })
        }
        None => missing(test, name),
    };
    let trials = tests.iter().flat_map(|test| levels().map(|level| trial(test, level))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The `main` of a test file without harness (`harness = false`): runs each function, which takes a
/// [`Level`], once for every instruction set.
#[macro_export]
macro_rules! level_tests {
    ($($test:ident),+ $(,)?) => {
        fn main() -> std::process::ExitCode {
            $crate::levels::main(&[$((stringify!($test), $test)),+])
        }
    };
}
