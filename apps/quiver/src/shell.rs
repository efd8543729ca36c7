//! The interactive shell: a line editor whose completion and help come from the daemon.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quiver_control::cli::{Cell, Table, split};
use quiver_control::protocol::{Request, Response};
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    Highlighter, Hinter, KeyEvent, RepeatCount, Validator,
};

use crate::client::{Client, ClientError, Session};
use crate::line::FILTERS;
use crate::{exec, local, show};

const PROMPT: &str = "quiver> ";

/// Runs the shell until its user leaves.
pub fn run(session: &Session) -> Result<ExitCode, ClientError> {
    let client = Rc::new(RefCell::new(Client::connect(&session.socket)?));
    let session = Session { gives_up: true, ..session.clone() };
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
                run_line(&client, &session, line)?;
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

/// Completion of the line editor by the daemon.
#[derive(Helper, Hinter, Highlighter, Validator)]
struct Daemon {
    client: Rc<RefCell<Client>>,
}

impl Completer for Daemon {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let begun = &line[..pos];
        let word = begun.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        let own = |names: Vec<String>| {
            let names = names.into_iter().filter(|name| name.starts_with(&begun[word..]));
            names.map(|name| Pair { display: name.clone(), replacement: name + " " }).collect::<Vec<_>>()
        };
        if is_behind_pipe(begun) {
            let is_name = begun[..word].trim_end().ends_with('|');
            let names = if is_name { FILTERS.map(|(name, _)| name.to_owned()).into() } else { vec![] };
            return Ok((word, own(names)));
        }
        let request = Request::Complete { line: begun.to_owned() };
        // The client is free while a line is edited; if the daemon is gone, there is nothing to complete.
        let response = self.client.borrow_mut().ask(&request, |_| {});
        let Ok(Response::Completions { start, words }) = response else { return Ok((pos, Vec::new())) };
        let words = words.into_iter().filter(|word| word.insert);
        let mut pairs: Vec<Pair> =
            words.map(|word| Pair { display: word.word.clone(), replacement: word.word + " " }).collect();
        // Where a line begins, the shell's commands stand beside the daemon's.
        if start == 0 && word == 0 {
            let known = |pair: &Pair| !pairs.iter().any(|other| other.display == pair.display);
            let own: Vec<Pair> =
                own(local::names().into_iter().map(|(name, _)| name).collect()).into_iter().filter(known).collect();
            pairs.extend(own);
        }
        Ok((start, pairs))
    }
}

/// `?` lists the possible next words, except inside quotes.
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

/// Lists the possible continuations of a line.
fn explain(client: &mut Client, line: &str) -> Result<(), ClientError> {
    match line.rsplit_once('|').filter(|_| is_behind_pipe(line)) {
        Some(_) => show::print(listing(FILTERS).trim_end()),
        None => {
            exec::run(client, &format!("{line}?"), false, None)?;
            if line.trim().is_empty() {
                show_own();
            }
        }
    }
    Ok(())
}

/// Lists the shell's own commands.
fn show_own() {
    show::print(format_args!(
        "\nCommands of the shell; `help plan` says more of one:\n{}",
        listing(local::names()).trim_end()
    ));
    let more = [
        ("--json", "the answer, or the error, as JSON"),
        ("--watch", "repeat a show command every second, until Ctrl-C"),
    ];
    let filters = FILTERS.map(|(name, does)| (format!("| {name}"), does));
    let more = filters.into_iter().chain(more.map(|(name, does)| (name.to_owned(), does)));
    show::print(format_args!("\nBehind a command:\n{}", listing(more).trim_end()));
}

fn listing<N: Into<String>, D: Into<String>>(rows: impl IntoIterator<Item = (N, D)>) -> String {
    let mut table = Table::new(["Word", "Meaning"]);
    rows.into_iter().for_each(|(name, does)| table.row([Cell::from(name.into()), Cell::from(does.into())]));
    table.to_text()
}

/// Whether the end of a line is a filter, or its beginning.
fn is_behind_pipe(line: &str) -> bool {
    split(line).is_ok_and(|words| words.iter().any(|word| &line[word.span.clone()] == "|"))
}

/// Runs a line. Ctrl-C gives it up and keeps the shell.
fn run_line(client: &RefCell<Client>, session: &Session, line: &str) -> Result<(), ClientError> {
    let words = split(line).unwrap_or_default();
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let mut client = client.borrow_mut();
    let result = match &words[..] {
        ["help", rest @ ..] if local::is_one(rest) => local::run(&[rest[0], "--help"], session),
        _ if local::is_one(&words) => local::run(&words, session),
        _ => run_interruptible(&mut client, session, line),
    };
    match result {
        Ok(()) if words == ["help"] => show_own(),
        Err(ClientError::Interrupted) => return client.reconnect(),
        Err(error @ ClientError::HungUp) => {
            show::client_error(&error, session.json);
            return client.reconnect();
        }
        // A failed command of the shell does not end it.
        Err(error) if local::is_one(&words) => show::client_error(&error, session.json),
        result => result?,
    }
    Ok(())
}

fn run_interruptible(client: &mut Client, session: &Session, line: &str) -> Result<(), ClientError> {
    client.catch_interrupts()?;
    let result = exec::run(client, line, session.json, None);
    client.release_interrupts();
    result.map(|_| ())
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")));
    state.map(|state| state.join("quiver/history"))
}
