//! `quiver health`: whether the daemon works, for the probes of Docker, Kubernetes and others.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use quiver_control::protocol::{Answer, Request, Response, viewers_path};
use serde_json::json;

use crate::client::{Client, ClientError};
use crate::show;

const HEALTH: &str = "\
Exit status: 0 if quiverd answers, every worker makes progress and the saved configuration runs; else 1. The answer is a
sentence. Members of quiverd's --viewers may ask, too.

Examples:
  quiver health
  HEALTHCHECK CMD [\"quiver\", \"health\", \"--timeout\", \"3\"]                 of a Dockerfile
  readinessProbe: {exec: {command: [quiver, health]}, timeoutSeconds: 6}   of a pod

While quiverd loads a large configuration it does not answer: give it time by a start period or a startup probe.";

/// Say whether quiverd works: for probes
#[derive(Debug, clap::Args)]
#[command(after_help = HEALTH)]
pub struct Health {
    /// Time limit for the answer of quiverd
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    timeout: u32,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// Asks the daemon, and says what it says.
pub fn run(health: &Health, socket: &Path, json: bool) -> ExitCode {
    let (answer, answers) = mpsc::channel();
    let (path, json) = (socket.to_owned(), health.json || json);
    // A daemon that hangs may not even take the connection, for which there is no timeout. The thread ends with the process.
    std::thread::spawn(move || answer.send(ask(&path, json)));
    let timeout = Duration::from_secs(health.timeout.into());
    let answer = match answers.recv_timeout(timeout) {
        Ok(Ok(answer)) => answer,
        Ok(Err(reason)) => unhealthy(&reason),
        Err(_) => unhealthy(&format!(
            "quiverd at {} does not answer within {} s: it still loads its configuration, or hangs",
            socket.display(),
            health.timeout
        )),
    };
    // A probe may read nothing: the status counts.
    let _ = writeln!(std::io::stdout(), "{}", show::text_of(&answer, json, false));
    if answer.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn unhealthy(reason: &str) -> Answer {
    Answer {
        text: format!("not healthy: {reason}"),
        json: json!({"healthy": false, "reason": reason}),
        failed: true,
        more: false,
    }
}

/// The daemon's own answer, or why there is none.
fn ask(socket: &Path, json: bool) -> Result<Answer, String> {
    let mut client = connect(socket).map_err(|error| error.to_string())?;
    let request = Request::Command { line: "show health".to_owned(), json };
    match client.ask(&request, |_| ()) {
        Ok(Response::Done(answer)) => Ok(answer),
        Ok(Response::Error(refusal)) => Err(refusal.what),
        Ok(Response::Part(_) | Response::Completions { .. }) => Err("quiverd answers something else".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Connects by the command socket, or where that may not be used by the viewers' beside it.
fn connect(socket: &Path) -> Result<Client, ClientError> {
    match Client::connect(socket) {
        Err(ClientError::Denied(_)) => {
            Client::connect(&viewers_path(socket)).map_err(|_| ClientError::Denied(socket.to_owned()))
        }
        connected => connected,
    }
}
