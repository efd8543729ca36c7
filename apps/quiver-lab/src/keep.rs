//! Where a run's documents go. A run lives in a world whose network is its own, and from there no object store is reached: so
//! a run by URL is a process of its own, and the one that the user has started stays outside and stores what it is given.

use std::cell::RefCell;
use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::thread;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use quiver_result::Document;
use quiver_store::{Results, UrlError, WriteError};
use quiver_terminal::{print, say};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Tells the inner process where the outer one listens.
const STORER: &str = "QUIVER_LAB_STORER";

/// The place that is the standard output.
pub const LINES: &str = "-";

/// Where a document was stored.
#[derive(Debug, Serialize, Deserialize)]
pub enum StoredAt {
    /// It is where it should be.
    There { place: String },
    /// It is not; `here` is where it is kept meanwhile.
    Not { why: String, here: Option<String> },
}

/// Where a run's documents go.
pub enum Keep {
    /// Into a folder.
    Folder(Results),
    /// A line each on the standard output.
    Lines,
    /// In the process outside.
    Outside(RefCell<BufReader<UnixStream>>),
}

impl Keep {
    /// Opens the place of a run's documents: a folder, or the process outside.
    ///
    /// # Errors
    /// The place is none or cannot be written, or the process outside does not listen.
    pub fn open(place: &str, unsent: &Path) -> Result<Keep, KeepError> {
        if place == LINES {
            return Ok(Keep::Lines);
        }
        let Some(socket) = env::var_os(STORER) else { return Ok(Keep::Folder(open(place, unsent)?)) };
        set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)?;
        Ok(Keep::Outside(RefCell::new(BufReader::new(UnixStream::connect(socket)?))))
    }

    /// Stores a document.
    pub fn write(&self, document: &Document) -> StoredAt {
        match self {
            Keep::Folder(results) => kept(results, document),
            Keep::Lines => match serde_json::to_string(document) {
                Ok(line) => {
                    print(line);
                    StoredAt::There { place: LINES.to_owned() }
                }
                Err(error) => StoredAt::Not { why: error.to_string(), here: None },
            },
            Keep::Outside(stream) => ask(&mut stream.borrow_mut(), document).unwrap_or_else(|error| StoredAt::Not {
                why: format!("the process that stores is gone: {error}"),
                here: None,
            }),
        }
    }
}

/// Why documents cannot be stored at all.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It is a URL that leads nowhere.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// It takes no documents.
    #[error("nothing is measured: {0}")]
    Unwritable(#[from] WriteError),
    /// The system.
    #[error("the process of the run: {0}")]
    System(#[from] io::Error),
}

/// A place that was tried: what is measured is not to be lost.
///
/// # Errors
/// It is none, or cannot be written.
pub fn open(place: &str, unsent: &Path) -> Result<Results, KeepError> {
    let results = Results::open(place, unsent)?;
    if let Some(trouble) = results.probe()? {
        say(format_args!("{trouble}. Documents that it does not take are kept in {}", unsent.display()));
    }
    Ok(results)
}

fn kept(results: &Results, document: &Document) -> StoredAt {
    match results.write(document) {
        Ok(place) => StoredAt::There { place },
        Err(error) => {
            let why = error.to_string();
            let here = if let WriteError::Kept { kept, .. } = error { Some(kept) } else { None };
            StoredAt::Not { why, here }
        }
    }
}

/// A document in a line, and the answer in another one.
fn ask(stream: &mut BufReader<UnixStream>, document: &Document) -> io::Result<StoredAt> {
    let mut line = serde_json::to_string(document)?;
    line.push('\n');
    stream.get_mut().write_all(line.as_bytes())?;
    let mut answer = String::new();
    stream.read_line(&mut answer)?;
    Ok(serde_json::from_str(&answer)?)
}

/// Whether this process is one whose documents another one stores.
pub fn is_inside() -> bool {
    env::var_os(STORER).is_some()
}

/// Runs this program's command in a process of its own, whose documents are stored here. None if this is that process.
///
/// # Errors
/// The place is none or cannot be written, or the process cannot be started.
pub fn outside(place: &str, unsent: &Path) -> Result<Option<ExitCode>, KeepError> {
    if is_inside() || !place.contains("://") {
        return Ok(None);
    }
    let results = open(place, unsent)?;
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("storer");
    let listener = UnixListener::bind(&socket)?;
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let mut command = Command::new(env::current_exe()?);
    // A group of its own: signals of the terminal come here, and go on from here once.
    let mut run = command.args(env::args_os().skip(1)).env(STORER, &socket).process_group(0).spawn()?;
    let ended = pass_signals(signals, &run);
    thread::spawn(move || store(&listener, &results));
    let status = run.wait()?;
    ended.close();
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(Some(ExitCode::from(u8::try_from(code).unwrap_or(1))))
}

fn pass_signals(mut signals: Signals, run: &Child) -> signal_hook::iterator::Handle {
    let (handle, run) = (signals.handle(), Pid::from_raw(run.id().cast_signed()));
    thread::spawn(move || {
        for signal in signals.forever() {
            let _ = Signal::try_from(signal).map(|signal| kill(run, signal));
        }
    });
    handle
}

/// Stores what the run gives, until it ends.
fn store(listener: &UnixListener, results: &Results) {
    let Ok((stream, _)) = listener.accept() else { return };
    let Ok(mut answers) = stream.try_clone() else { return };
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let answer = match serde_json::from_str(&line) {
            Ok(document) => kept(results, &document),
            Err(error) => StoredAt::Not { why: error.to_string(), here: None },
        };
        let Ok(mut answer) = serde_json::to_string(&answer) else { return };
        answer.push('\n');
        if answers.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
