//! The interactive shell: a line editor whose completion and help come from the daemon.

use std::cell::RefCell;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use quiver_control::protocol::{Request, Response};
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    Highlighter, Hinter, KeyEvent, RepeatCount, Validator,
};

use crate::client::{Client, ClientError};
use crate::{exec, show};

const PROMPT: &str = "quiver> ";

/// Runs the shell until its user leaves.
pub fn run(socket: &Path) -> Result<ExitCode, ClientError> {
    let client = Rc::new(RefCell::new(Client::connect(socket)?));
    let asked_for_help = Arc::new(AtomicBool::new(false));
    let mut editor = match editor(client.clone(), asked_for_help.clone()) {
        Ok(editor) => editor,
        Err(error) => {
            show::say(format_args!("quiver: this terminal cannot be edited on: {error}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    let history = history_file();
    // The first time there is none.
    let _ = history.as_ref().map(|file| editor.load_history(file));
    show::print("Tab completes, ? says what can follow, Ctrl-D leaves.");
    let mut begun = String::new();
    loop {
        match editor.readline_with_initial(PROMPT, (&std::mem::take(&mut begun), "")) {
            Ok(line) if asked_for_help.swap(false, Ordering::Relaxed) => {
                explain(&mut client.borrow_mut(), &line)?;
                begun = line;
            }
            Ok(line) => {
                let line = line.trim();
                if matches!(line, "quit" | "exit" | "q") {
                    break;
                }
                if line.is_empty() {
                    continue;
                }
                // A line that is not kept is no reason not to run it.
                let _ = editor.add_history_entry(line);
                match run_interruptible(&mut client.borrow_mut(), line) {
                    Err(ClientError::HungUp) => {
                        show::error(&ClientError::HungUp);
                        client.borrow_mut().reconnect()?;
                    }
                    result => result?,
                }
            }
            // Ctrl-C gives up the line, as in other shells.
            Err(ReadlineError::Interrupted) => {}
            Err(_) => break,
        }
    }
    if let Some(file) = history {
        let saved = file.parent().map_or(Ok(()), std::fs::create_dir_all).map(|()| editor.save_history(&file));
        if let Err(error) = saved {
            show::say(format_args!("quiver: the history cannot be kept in {}: {error}", file.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn editor(
    client: Rc<RefCell<Client>>,
    asked_for_help: Arc<AtomicBool>,
) -> rustyline::Result<Editor<Daemon, DefaultHistory>> {
    let config = Config::builder().completion_type(CompletionType::List).history_ignore_dups(true)?.build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Daemon { client }));
    let help = EventHandler::Conditional(Box::new(HelpKey { asked_for_help }));
    editor.bind_sequence(KeyEvent::from('?'), help);
    Ok(editor)
}

/// What the line editor asks the daemon.
#[derive(Helper, Hinter, Highlighter, Validator)]
struct Daemon {
    client: Rc<RefCell<Client>>,
}

impl Completer for Daemon {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let request = Request::Complete { line: line[..pos].to_owned() };
        // The client is free while a line is edited; if the daemon is gone, there is nothing to complete.
        let response = self.client.borrow_mut().ask(&request, |_| {});
        let Ok(Response::Completions { start, words }) = response else { return Ok((pos, Vec::new())) };
        let words = words.into_iter().filter(|word| word.insert);
        Ok((start, words.map(|word| Pair { display: word.word.clone(), replacement: word.word + " " }).collect()))
    }
}

/// `?` asks what can follow, except inside quotes.
struct HelpKey {
    asked_for_help: Arc<AtomicBool>,
}

impl ConditionalEventHandler for HelpKey {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let in_quotes = context.line()[..context.pos()].matches('"').count() % 2 == 1;
        if in_quotes {
            return None;
        }
        self.asked_for_help.store(true, Ordering::Relaxed);
        Some(Cmd::AcceptLine)
    }
}

fn explain(client: &mut Client, line: &str) -> Result<(), ClientError> {
    exec::run(client, &format!("{line}?"), false).map(|_| ())
}

/// Runs a line. Ctrl-C gives it up and keeps the shell.
fn run_interruptible(client: &mut Client, line: &str) -> Result<(), ClientError> {
    let interrupt = Interrupt::catch()?;
    client.send(&Request::Command { line: line.to_owned(), json: false })?;
    loop {
        if !client.has_received() && interrupt.comes_before(client)? {
            return client.reconnect();
        }
        match client.receive()? {
            Response::Part(answer) => show::answer(&answer, false, true),
            end => {
                exec::finish(end, line, false);
                return Ok(());
            }
        }
    }
}

/// Ctrl-C, caught while this lives.
struct Interrupt {
    signals: SigSet,
    file: SignalFd,
}

impl Interrupt {
    fn catch() -> Result<Interrupt, ClientError> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.thread_block().map_err(std::io::Error::from)?;
        let file = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
        Ok(Interrupt { signals, file: file.map_err(std::io::Error::from)? })
    }

    /// Waits for Ctrl-C or for the client's next response; whether it was Ctrl-C.
    fn comes_before(&self, client: &Client) -> Result<bool, ClientError> {
        let mut files =
            [PollFd::new(self.file.as_fd(), PollFlags::POLLIN), PollFd::new(client.as_fd(), PollFlags::POLLIN)];
        poll(&mut files, PollTimeout::NONE).map_err(std::io::Error::from)?;
        Ok(files[0].any().unwrap_or(false))
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        // A signal that was not taken would end the program once it is unblocked.
        while let Ok(Some(_)) = self.file.read_signal() {}
        let _ = self.signals.thread_unblock();
    }
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")));
    state.map(|state| state.join("quiver/history"))
}
