//! Test programs without the usual harness: trials of several modules in one program, and trials that share what a program has
//! only once, such as a world of network namespaces.

use std::fmt::Display;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed};

/// A trial's name and what it does with what all of them share.
pub type Trial<W> = (&'static str, fn(&W) -> Result<(), Failed>);

/// The end of a program's main function: runs the trials of its modules.
pub fn run(modules: impl IntoIterator<Item = Vec<libtest_mimic::Trial>>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), modules.into_iter().flatten().collect()).exit_code()
}

/// Whether the arguments choose a trial of this name. What takes long to build is built only for the trials that need it.
pub fn chosen(arguments: &Arguments, name: &str) -> bool {
    let matches = |filter: &String| match arguments.exact {
        true => filter == name,
        false => name.contains(filter.as_str()),
    };
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches)
}

/// Trials of a list, with names that begin with a module's.
pub fn of<W: Sync>(module: &str, shared: &'static W, trials: &[Trial<W>]) -> Vec<libtest_mimic::Trial> {
    let trial =
        |&(name, test): &Trial<W>| libtest_mimic::Trial::test(format!("{module}::{name}"), move || test(shared));
    trials.iter().map(trial).collect()
}

/// The main function of a test without the usual harness, which would start threads before `shared` could be made. The trials run
/// one after the other.
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
