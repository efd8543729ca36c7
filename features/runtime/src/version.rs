//! `show version`: which daemon this is, and how it was started.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use serde_json::json;

/// Its version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether it is fast: a debug build checks what it does, ten times as slow.
const BUILD: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

pub(crate) fn register(control: &Control) {
    let show = Command::new("show version [verbose] [cmdline]", "Show the version and the build.", show_version);
    let show = show
        .argument("verbose", "include process details, in VPP's format")
        .argument("cmdline", "show the command line");
    control.commands().add(show);
}

fn show_version(_: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut json = json!({"program": "quiver", "version": VERSION, "build": BUILD});
    if !matches.has("verbose") && !matches.has("cmdline") {
        return Ok(Reply::new(format!("quiver v{VERSION}"), json));
    }
    let mut text = String::new();
    if matches.has("verbose") {
        let pid = std::process::id();
        json["pid"] = pid.into();
        // Builds are the same wherever and whenever they are made.
        let nowhere = "not recorded";
        for (title, value) in [
            ("Version:", format!("v{VERSION}")),
            ("Compiled by:", nowhere.to_owned()),
            ("Compile host:", nowhere.to_owned()),
            ("Compile date:", nowhere.to_owned()),
            ("Compile location:", nowhere.to_owned()),
            ("Compiler:", "rustc".to_owned()),
            ("Current PID:", pid.to_string()),
        ] {
            let _ = writeln!(text, "{title:<25} {value}");
        }
    }
    if matches.has("cmdline") {
        let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        text.push_str("Command line arguments:\n");
        let mut depth = 1usize;
        for argument in &arguments {
            depth += usize::from(argument.contains('{'));
            let _ = writeln!(text, "{:indent$}{argument}", "", indent = 2 * depth);
            depth = depth.saturating_sub(usize::from(argument.contains('}'))).max(1);
        }
        json["arguments"] = arguments.into();
    }
    Ok(Reply::new(text, json))
}
