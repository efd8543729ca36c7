//! `show clock`: the clock that everything here goes by, and the date.

use std::time::SystemTime;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use serde_json::json;

pub(crate) fn register(control: &Control) {
    control.commands().add(Command::new("show clock", "Show for how long the daemon runs, and what time it is.", show));
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let now = control.now().0 as f64 / 1e9;
    let unix = control.date().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    Ok(Reply::new(format!("Time now {now:.6}, unix time {unix:.6}"), json!({"now": now, "unix": unix})))
}
