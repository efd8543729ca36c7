//! Protocol between clients and daemon on the socket: one JSON object per line in both directions.
//!
//! A client sends [`Request`]s; each gets any number of [`Response::Part`]s and then one other [`Response`], in the
//! order of the requests. A client that closes its side gives up the request that is being answered; what changes the
//! whole configuration goes to its end all the same.
//!
//! A long answer comes in parts that say `more`: the lines of the next response follow theirs, and its JSON goes on where theirs
//! ended, list by list ([`Answer::append`]).
//!
//! ```text
//! > {"command":{"line":"show version"}}
//! < {"done":{"text":"Quiver 0.1.0"}}
//! ```

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::{CommandError, Completion, Output, Reply, VIEWERS_LOOK, in_parts};
use crate::config::ConfigError;
use crate::control::Control;
use crate::transaction::{Terms, TransactionError};

/// A longer request is refused: room for a configuration file of some 100,000 routes.
pub const REQUEST_LENGTH_MAX: usize = 16 * 1024 * 1024;

/// Request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Run a command.
    Command {
        /// The command, as it is typed.
        line: String,
        /// Whether the answer shall be JSON instead of text.
        #[serde(default)]
        json: bool,
    },
    /// Complete the end of a line.
    Complete {
        /// The line up to the cursor.
        line: String,
    },
    /// Describe the changes that a configuration file would make.
    Diff(File),
    /// Say by which steps a file would be applied; it is the candidate from then on.
    Plan(File),
    /// Make the running configuration that of a file.
    Apply(File),
    /// Make the running configuration the saved one, and write it as a file.
    Save {
        /// Whether the answer shall be JSON instead of text.
        #[serde(default)]
        json: bool,
        /// Comment for the history.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
}

/// A configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// Its name, for messages.
    pub name: String,
    /// Content of the file.
    pub text: String,
    /// Whether the answer shall be JSON instead of text.
    #[serde(default)]
    pub json: bool,
    /// Terms of the change; a comparison and a plan use the scope only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub terms: Terms,
}

fn is_default(terms: &Terms) -> bool {
    *terms == Terms::default()
}

impl Request {
    fn wants_json(&self) -> bool {
        match self {
            Request::Command { json, .. } | Request::Save { json, .. } => *json,
            Request::Diff(file) | Request::Plan(file) | Request::Apply(file) => file.json,
            Request::Complete { .. } => true,
        }
    }
}

/// Response of the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// A part of the answer; more follows.
    Part(Answer),
    /// The rest of the answer.
    Done(Answer),
    /// Possible ends of the line.
    Completions {
        /// Where in the line the word starts that is completed, in bytes.
        start: usize,
        /// The ways to go on.
        words: Vec<Completion>,
    },
    /// The request was refused.
    Error(Refusal),
}

/// Text or JSON, as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub json: Value,
    /// Whether the command found that something is wrong, as a ping without any answer does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Whether the next response goes on with this answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// Why a request was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Error text.
    pub what: String,
    /// Place in the line, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Range<usize>>,
    /// Possible words there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<String>,
    /// Errors in a configuration file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ConfigError>,
    /// Why it was not even tried, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// Why a request was not even tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The request is longer than requests may be.
    TooLong,
    /// Another author changes the configuration.
    Held,
    /// The last applied configuration waits for confirmation.
    Unconfirmed,
    /// As many clients as there can be wait for answers.
    Crowded,
    /// The connection, which had been idle for longest, was closed for another client. Nothing that was sent since its
    /// last answer was read: connect anew and say it again.
    Evicted,
}

impl Refusal {
    /// A refusal that points nowhere.
    pub fn new(what: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), ..Refusal::default() }
    }

    /// Creates the refusal of a request that was not tried.
    pub fn because(reason: Reason, what: impl Into<String>) -> Refusal {
        Refusal { reason: Some(reason), ..Refusal::new(what) }
    }
}

impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Refusal {
        Refusal { what: error.what, place: error.place, expected: error.expected, ..Refusal::default() }
    }
}

impl From<TransactionError> for Refusal {
    fn from(error: TransactionError) -> Refusal {
        let what = error.to_string();
        match error {
            TransactionError::Held { .. } => Refusal::because(Reason::Held, what),
            TransactionError::Unconfirmed { .. } => Refusal::because(Reason::Unconfirmed, what),
            TransactionError::Refused(problems) => Refusal { what, problems, ..Refusal::default() },
            _ => Refusal::new(what),
        }
    }
}

impl Answer {
    fn new(reply: Reply, json: bool) -> Answer {
        let Reply { text, json: value, failed, more } = reply;
        match json {
            true => Answer { text: String::new(), json: value, failed, more },
            false => Answer { text, json: Value::Null, failed, more },
        }
    }

    /// Appends the next part of the answer.
    pub fn append(&mut self, next: Answer) {
        let Answer { text, json, failed, more } = std::mem::take(self);
        let mut whole = Reply { text, json, failed, more };
        let Answer { text, json, failed, more } = next;
        whole.append(Reply { text, json, failed, more });
        let Reply { text, json, failed, more } = whole;
        *self = Answer { text, json, failed, more };
    }
}

/// A request that is being answered: take its [`part`](Answering::part)s while the future of [`answer`] runs.
pub struct Answering {
    output: Output,
    json: bool,
}

/// Begins to answer a request. The future answers it; the parts that come before are taken from the other half,
/// meanwhile.
pub fn answer(control: &Control, request: Request) -> (Answering, impl Future<Output = Response> + use<>) {
    let json = request.wants_json();
    let output = if json { Output::json() } else { Output::text() };
    let answering = Answering { output: output.clone(), json };
    let control = control.clone();
    let end = async move {
        let is_look = matches!(request, Request::Command { .. } | Request::Complete { .. });
        let result: Result<Reply, Refusal> = match request {
            // A comparison, too, has quiverd open the files that its file names.
            _ if control.author().is_viewer() && !is_look => Err(Refusal::new(VIEWERS_LOOK)),
            Request::Command { line, .. } => {
                control.commands().run_pieces(&control, &line, &output).await.map_err(Refusal::from)
            }
            Request::Complete { line } => {
                output.close();
                let (start, words) = control.commands().complete(&control, &line);
                return Response::Completions { start, words };
            }
            Request::Diff(file) => {
                let differences = control.list_diff(&output, &file.name, &file.text, file.terms.scope);
                differences.await.map_err(Refusal::from)
            }
            Request::Plan(file) => {
                let planned = control.plan_text(&file.name, file.text.into(), file.terms.scope);
                planned.await.map_err(Refusal::from)
            }
            Request::Apply(file) => {
                let applied = control.apply_text(&file.name, file.text.into(), file.terms);
                applied.await.map_err(Refusal::from)
            }
            Request::Save { comment, .. } => control.keep_as(&output, comment).await.map_err(Refusal::from),
        };
        let response = match result {
            Ok(reply) => Response::Done(Answer::new(in_parts(&control, &output, reply).await, json)),
            Err(refusal) => Response::Error(refusal),
        };
        output.close();
        response
    };
    (answering, end)
}

impl Answering {
    /// The next part of the answer; nothing when only the end is still to come.
    pub async fn part(&self) -> Option<Response> {
        self.output.next().await.map(|reply| Response::Part(Answer::new(reply, self.json)))
    }
}

/// Reads a request from its line.
pub fn read_request(line: &[u8]) -> Result<Request, Refusal> {
    serde_json::from_slice(line).map_err(|error| Refusal::new(format!("this is no request: {error}")))
}

/// Where the daemon's socket is: as told, else `/run/quiver` for root, else the user's runtime directory.
pub fn socket_path(told: Option<PathBuf>, is_root: bool, runtime_directory: Option<PathBuf>) -> PathBuf {
    let directory = || match runtime_directory {
        Some(directory) if !is_root => directory.join("quiver"),
        _ => PathBuf::from("/run/quiver"),
    };
    told.unwrap_or_else(|| directory().join("cli.sock"))
}

/// Path of the viewers' socket, which is beside the daemon's.
pub fn viewers_path(socket: &Path) -> PathBuf {
    socket.with_file_name("viewer.sock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_lines_that_people_can_write() {
        let request = read_request(br#"{"command":{"line":"show interface"}}"#).unwrap();
        assert_eq!(request, Request::Command { line: "show interface".to_owned(), json: false });
        let refusal = read_request(br#"{"comand":{"line":"x"}}"#).unwrap_err();
        assert!(refusal.what.contains("unknown variant `comand`, expected one of `command`"), "{}", refusal.what);
        assert!(read_request(b"\xff").is_err());
    }

    #[test]
    fn the_socket_is_where_it_is_told_to_be() {
        let path = |told: Option<&str>, root, runtime: Option<&str>| {
            socket_path(told.map(PathBuf::from), root, runtime.map(PathBuf::from)).display().to_string()
        };
        assert_eq!(path(Some("/tmp/s"), true, None), "/tmp/s");
        assert_eq!(path(None, true, Some("/run/user/0")), "/run/quiver/cli.sock");
        assert_eq!(path(None, false, Some("/run/user/7")), "/run/user/7/quiver/cli.sock");
        assert_eq!(path(None, false, None), "/run/quiver/cli.sock");
    }
}
