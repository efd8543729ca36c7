//! `--import`: converts VPP's start-up settings to options of quiverd and a configuration of Quiver. Starts nothing and
//! touches nothing of the machine: the commands change a configuration that is never applied.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use quiver_compat::startup::{Severity, Source, Startup};
use quiver_control::Control;
use quiver_control::cli::{Piece, exec_from, script};
use quiver_control::files::{self, SCRIPT_MAX};
use quiver_engine::{Dataplane, Settings};
use quiverd::features;

use crate::outside::ScriptFiles;
use crate::settings::this_machine;

/// A command that waits for longer waits for something that a rehearsal does not have.
const PATIENCE: Duration = Duration::from_secs(5);

/// Result of an import.
pub struct Imported {
    /// The configuration, below comments with the options and the ignored settings.
    pub text: String,
    /// Whether something was left.
    pub has_left: bool,
}

/// Imports a `startup.conf` and the commands of a script, by default the script that it names.
pub async fn import(startup: &Path, script: Option<&PathBuf>) -> Result<Imported, String> {
    let name = startup.display().to_string();
    let text = read(startup)?;
    let mut startup = Startup::default();
    startup.read(Source::File(&name), &text).map_err(|error| format!("{name}: {error}"))?;
    let machine = this_machine();
    let notes = startup.notes_on(&machine);
    // The script becomes the configuration.
    let script = script.cloned().or(startup.unix.exec.take());
    let mut options = startup.options(&machine);
    options.retain(|option| option != "--no-state");

    let workers = startup.cpu.workers.unwrap_or(startup.cpu.cores.len()).max(1);
    let control = rehearsal(workers)?;
    let mut head = format!("# From {name}, by `quiver import`. The daemon's side of it:\n#\n");
    let _ = writeln!(head, "#   quiverd {} --config FILE", options.join(" "));
    let (warnings, infos): (Vec<_>, Vec<_>) = notes.iter().partition(|note| note.severity == Severity::Warning);
    list(&mut head, "Without effect, and why", &infos);
    list(&mut head, "Left out", &warnings);
    let mut refused = vec![];
    if let Some(file) = &script {
        refused = rehearse(&control, file, &read(file)?).await;
        list(&mut head, &format!("Commands of {} that were left out, and why", file.display()), &refused);
    }
    let (configuration, end) = control.commands().run_script(&control, "show configuration secrets").await;
    end.map_err(|error| error.to_string())?;
    let has_left = !warnings.is_empty() || !refused.is_empty();
    Ok(Imported { text: format!("{head}\n{configuration}"), has_left })
}

fn read(file: &Path) -> Result<String, String> {
    files::read_text(file, SCRIPT_MAX).map_err(|error| error.to_string())
}

fn list(head: &mut String, title: &str, lines: &[impl std::fmt::Display]) {
    let lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
    if !lines.is_empty() {
        let _ = writeln!(head, "#\n# {title}:");
    }
    // A command may have several lines, and none of them may leave its comment.
    for line in lines.iter().flat_map(|line| line.lines()) {
        let _ = writeln!(head, "#   {}", line.trim_end());
    }
}

/// A daemon's rooms that apply nothing.
fn rehearsal(workers: usize) -> Result<Control, String> {
    let control = crate::host::control();
    let settings = Settings { workers, buffers: 1000, buffers_limit: 1000, ..Settings::default() };
    control.insert_room(Dataplane::new(settings).map_err(|error| error.to_string())?);
    features::register(&control).map_err(|error| error.to_string())?;
    exec_from(&control, Rc::new(ScriptFiles::default()));
    control.objects().only_note();
    Ok(control)
}

/// Runs the commands of a script; returns the refused ones, each with its line and the error.
async fn rehearse(control: &Control, file: &Path, text: &str) -> Vec<String> {
    let mut refused = vec![];
    for Piece { line, text, .. } in script(text) {
        let why = match control.timeout(PATIENCE, control.commands().run_script(control, &text)).await {
            Some((_, Ok(()))) => continue,
            Some((_, Err(error))) => error.to_string(),
            None => "it waits for what only a running daemon has".to_owned(),
        };
        refused.push(format!("{}:{line}: {text}\n    {why}", file.display()));
    }
    refused
}
