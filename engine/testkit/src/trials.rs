//! Trials that share what a program has only once, such as a world of network namespaces: one after the other.

use std::fmt::Display;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed};

/// A trial's name and what it does with what all of them share.
pub type Trial<W> = (&'static str, fn(&W) -> Result<(), Failed>);

/// The main function of a test without the usual harness, which would start threads before `shared` could be made.
pub fn main<W: Sync + 'static>(shared: Result<W, impl Display>, trials: &[Trial<W>]) -> ExitCode {
    let shared: &'static W = match shared {
        // The trials of the harness live as long as the program.
        Ok(shared) => Box::leak(Box::new(shared)),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let trial = |&(name, test): &Trial<W>| libtest_mimic::Trial::test(name, move || test(shared));
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.iter().map(trial).collect()).exit_code()
}
