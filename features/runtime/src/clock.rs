//! `show clock`: the clock that everything here goes by, and the date. `set clock adjust`: time that has not passed.

use std::time::{Duration, SystemTime};

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use serde_json::json;

/// Turns that tasks get which are due by a new time, so that who asks next finds what they did.
const TURNS: usize = 8;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add(Command::new("show clock", "Show uptime and system time.", show));
    let adjust = Command::waiting(
        "set clock adjust <seconds:text>",
        "Advance the clock of all timers: aging, timeouts and retransmissions.",
        adjust,
    );
    commands.add(adjust.argument("seconds", "seconds to advance, such as 0.5"));
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let now = control.now().0 as f64 / 1e9;
    let unix = control.date().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    Ok(Reply::new(format!("Time now {now:.6}, unix time {unix:.6}"), json!({"now": now, "unix": unix})))
}

async fn adjust(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let text: String = matches.get("seconds")?;
    // A clock that goes back would make what has happened happen again.
    let by = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let wrong = || CommandError::new(format!("'{text}' is no number of seconds")).at(matches.place("seconds"));
    if !control.advance_clock(by.ok_or_else(wrong)?) {
        return Err(CommandError::new("the clock does not go ahead so far, or it is a simulation's"));
    }
    for _ in 0..TURNS {
        control.yield_now().await;
    }
    Ok(Reply::done())
}
