//! Worlds end without a trace, and what is made inside them works.
//!
//! Every trial starts this program again, which then enters a world and plays the role that the trial gives it.

mod lifetime;
mod links;

use std::process::{Command, ExitCode};
use std::{env, io};

use libtest_mimic::Arguments;
use quiver_netns::enter;

/// Tells the program the role that it plays.
const ROLE: &str = "QUIVER_NETNS_ROLE";

fn main() -> ExitCode {
    if let Ok(role) = env::var(ROLE) {
        return play(&role);
    }
    let trials = [lifetime::trials(), links::trials()];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}

/// The part of the program inside the world.
fn play(role: &str) -> ExitCode {
    let world = match enter() {
        Ok(world) => world,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let Some(test) = links::test(role) else { lifetime::play(role, world) };
    match test(&world) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.message().unwrap_or("it failed"));
            ExitCode::FAILURE
        }
    }
}

/// This program in a role.
fn again(role: &str) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.env(ROLE, role);
    Ok(command)
}
