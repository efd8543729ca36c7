//! The commands of all rooms: run a line, complete it, explain it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;

use super::command::{Command, CommandError, Output, Run};
use super::grammar::Part;
use super::kind::ArgumentKind;
use super::live::{Completion, Live};
use super::macros::Macros;
use super::missing::Missing;
use super::registered::{Added, Registered, kind_of, parse};
use super::reply::Reply;
use super::script::script;
use super::words::{self, OpenQuote, Token};
use crate::control::Control;

/// Error of a viewer's command that is not `show`.
pub(crate) const VIEWERS_LOOK: &str =
    "viewers may run commands that begin with `show`, and nothing else; use the command socket";
/// A longer line is not a command.
const LINE_MAX: usize = 16 * 1024;
/// Most commands that `help` describes one by one.
const HELP_MAX: usize = 5;

/// The commands of all rooms, and the types of their arguments.
#[derive(Default)]
pub struct Commands {
    registered: RefCell<Rc<Registered>>,
    missing: Missing,
}

impl Control {
    /// The commands of all rooms.
    pub fn commands(&self) -> &Commands {
        self.part()
    }
}

impl Commands {
    /// Registers a command.
    ///
    /// # Panics
    /// If its grammar is malformed or another command has the same: a programming error, named.
    pub fn add(&self, command: Command) {
        if let Err(error) = self.try_add(command) {
            panic!("{error}");
        }
    }

    /// Registers a plugin's command: errors on which [`Commands::add`] panics are returned.
    pub fn try_add(&self, command: Command) -> Result<(), String> {
        let written = command.grammar.clone();
        let mut registered = self.registered.borrow_mut();
        let entry = registered.complete(&written, command)?;
        registered.check_new(&entry.command.grammar)?;
        Rc::make_mut(&mut registered).commands.push(Rc::new(entry));
        Ok(())
    }

    /// Adds an alternative to all grammars with `| $NAME` in a group, those of commands that are registered later as well; `texts` say
    /// what its words and arguments mean. Without any, the grammars have none there.
    ///
    /// # Panics
    /// If a grammar becomes malformed: a programming error, named.
    pub fn add_part(&self, place: &'static str, grammar: String, texts: &[(&str, &str)]) {
        let texts = texts.iter().map(|(of, text)| (of.to_string(), text.to_string())).collect();
        let mut registered = self.registered.borrow_mut();
        let registered = Rc::make_mut(&mut registered);
        registered.parts.entry(place).or_default().push(Added { grammar, texts });
        for at in 0..registered.commands.len() {
            let entry = registered.commands[at].clone();
            if entry.written.contains(place) {
                let completed = registered.complete(&entry.written, entry.command.clone());
                registered.commands[at] = Rc::new(completed.unwrap_or_else(|error| panic!("{error}")));
            }
        }
    }

    /// The names and types of a grammar's arguments; an error if no command of this grammar could be registered.
    pub fn arguments_of(&self, grammar: &str) -> Result<Vec<(String, String)>, String> {
        let parsed = parse(grammar)?;
        self.registered.borrow().check_new(grammar)?;
        self.check_arguments(grammar, &parsed)?;
        let mut arguments = vec![];
        parsed.arguments(&mut |name, kind| arguments.push((name.to_owned(), kind.to_owned())));
        Ok(arguments)
    }

    /// The type of arguments of this name.
    pub fn kind(&self, name: &str) -> Option<ArgumentKind> {
        kind_of(&self.registered.borrow().kinds, name)
    }

    /// Registers a type of arguments. The types of std's scalars (`u32`, `ip4`, `text` ...) are there already.
    /// The last one of a name counts: a room can add completion to a type that another room registered.
    pub fn add_kind(&self, kind: ArgumentKind) {
        Rc::make_mut(&mut self.registered.borrow_mut()).kinds.insert(kind.name, kind);
    }

    /// Refuses lines that begin with these words and match no command with the text `told`: their feature is missing.
    pub fn add_missing(&self, words: &'static str, told: String) {
        self.missing.add(words, told);
    }

    /// Whether some command begins with these words.
    pub fn begins(&self, control: &Control, words: &str) -> bool {
        words::split(words).is_ok_and(|words| self.live(control).threads(&words).is_ok())
    }

    /// Checks that every argument's type was registered, once all rooms are. The error names type and command.
    pub fn check(&self) -> Result<(), String> {
        let registered = self.registered.borrow().clone();
        registered.commands.iter().try_for_each(|entry| self.check_arguments(&entry.command.grammar, &entry.grammar))
    }

    fn check_arguments(&self, grammar: &str, parsed: &Part) -> Result<(), String> {
        let mut missing = None;
        parsed.arguments(&mut |_, kind| {
            if self.kind(kind).is_none() {
                missing = Some(kind.to_owned());
            }
        });
        match missing {
            Some(kind) => Err(format!("the command '{grammar}' has an argument of the unknown type '{kind}'")),
            None => Ok(()),
        }
    }

    /// Runs the commands of a text, one after the other ([`script`]); the first that fails ends it. Answers in parts,
    /// and those of all commands but the last, go to `output`, which is closed at the end; the last part is returned.
    /// The place of an error is in the text. `help` and a `?` at the end explain instead.
    pub async fn run(&self, control: &Control, text: &str, output: &Output) -> Result<Reply, CommandError> {
        let reply = self.run_pieces(control, text, output).await;
        output.close();
        reply
    }

    /// The same, which leaves `output` open.
    pub(crate) async fn run_pieces(
        &self,
        control: &Control,
        text: &str,
        output: &Output,
    ) -> Result<Reply, CommandError> {
        let mut last = Reply::done();
        for piece in script(text) {
            output.send_unless_empty(std::mem::take(&mut last)).await;
            last = self.dispatch(control, &piece.text, output).await.map_err(|error| {
                let place = error.place.map(|place| piece.start + place.start..piece.start + place.end);
                fit(CommandError { place, ..error }, text)
            })?;
        }
        Ok(last)
    }

    /// Runs one command, with values in place of macros.
    pub(super) async fn dispatch(&self, control: &Control, line: &str, output: &Output) -> Result<Reply, CommandError> {
        let macros = control.part::<Macros>();
        let expanded = macros.expand(control.author(), line).map_err(|error| error.at(0..line.len()))?;
        let reply = self.dispatch_expanded(control, &expanded, output).await;
        let Cow::Owned(expanded) = &expanded else { return reply };
        reply.map_err(|error| {
            // Places in the expanded line are none in that which was written.
            let what = format!("{}; with its macros the line is `{expanded}`", error.what);
            CommandError { what, place: Some(0..line.len()), ..error }
        })
    }

    async fn dispatch_expanded(&self, control: &Control, line: &str, output: &Output) -> Result<Reply, CommandError> {
        if let Some(before) = line.trim_end().strip_suffix('?') {
            return self.explain(control, before);
        }
        let live = self.live(control);
        let words = split(line)?;
        match words.split_first() {
            None => return Ok(Reply::done()),
            Some((first, rest)) if first.text == "help" => {
                let after = rest.first().map_or(line.len(), |word| word.span.start);
                return self.help(control, &line[after..]);
            }
            _ => {}
        }
        let found = live.find(line, &words);
        let (entry, matches) = found.map_err(|error| self.missing.explain(&words, &error).unwrap_or(error))?;
        if control.author().is_viewer() && !entry.command.only_looks() {
            return Err(CommandError::new(VIEWERS_LOOK).at(0..line.len()));
        }
        match &entry.command.run {
            Run::AtOnce(run) => run(control, &matches),
            Run::Waiting(run) => {
                let answer = run(control.clone(), matches, output.clone());
                answer.await
            }
        }
        .map_err(|error| fit(error, line))
    }

    /// Possible ends of `line`: a word begun there is completed. Also returns the offset in the line where the
    /// completed word starts.
    pub fn complete(&self, control: &Control, line: &str) -> (usize, Vec<Completion>) {
        let nothing = (line.len(), Vec::new());
        // A quote that is still open begins the word that is completed.
        let (mut words, start) = match words::split(line) {
            Ok(words) => match words.last() {
                Some(last) if last.span.end == line.len() => {
                    let start = last.span.start;
                    (words, start)
                }
                _ => (words, line.len()),
            },
            Err(OpenQuote(_)) => return nothing,
        };
        let partial =
            if start < line.len() { words.pop().map(|word| word.text).unwrap_or_default() } else { String::new() };
        let live = self.live(control);
        match live.threads(&words) {
            Ok(unfolded) => (start, live.completions(&unfolded, &partial)),
            Err(_) => nothing,
        }
    }

    /// Help for the commands that `line` names, and for the words that can follow it.
    fn help(&self, control: &Control, line: &str) -> Result<Reply, CommandError> {
        let (live, words) = (self.live(control), split(line)?);
        let Some(unfolded) = live.threads(&words).ok().filter(|_| !words.is_empty()) else {
            return self.explain(control, line);
        };
        let mut meant: Vec<usize> = unfolded.complete.iter().map(|thread| thread.command).collect();
        if meant.is_empty() {
            meant.extend(unfolded.next.iter().map(|next| next.thread.command));
        }
        meant.sort_unstable();
        meant.dedup();
        // Of many commands the next words say enough.
        meant.truncate(if meant.len() > HELP_MAX { 0 } else { HELP_MAX });
        let (mut text, mut commands) = (String::new(), vec![]);
        for index in meant {
            let Command { grammar, help, .. } = &live.registered.commands[index].command;
            text.push_str(&format!("{grammar}\n  {help}\n\n"));
            commands.push(json!({"command": grammar, "help": help}));
        }
        let next = live.table(&unfolded, "");
        text.push_str(&next.to_text());
        Ok(Reply::new(text, json!({"commands": commands, "next": next.to_json()})))
    }

    /// Possible continuations of `line`, as a table.
    fn explain(&self, control: &Control, line: &str) -> Result<Reply, CommandError> {
        let live = self.live(control);
        let mut words = split(line)?;
        // `sh?` explains the words that begin so; `show ?` the words that follow.
        let partial = match words.last() {
            Some(last) if last.span.end == line.len() => words.pop().map(|word| word.text).unwrap_or_default(),
            _ => String::new(),
        };
        let table = live.table(&live.threads(&words)?, &partial);
        Ok(Reply::new(table.to_text(), json!({"next": table.to_json()})))
    }

    /// All commands: grammar and help, sorted.
    pub fn list(&self) -> Vec<(String, String)> {
        let registered = self.registered.borrow();
        let mut list: Vec<_> = registered
            .commands
            .iter()
            .map(|entry| (entry.command.grammar.clone(), entry.command.help.clone()))
            .collect();
        list.sort_unstable();
        list
    }

    fn live<'a>(&self, control: &'a Control) -> Live<'a> {
        Live { registered: self.registered.borrow().clone(), control }
    }
}

fn split(line: &str) -> Result<Vec<Token>, CommandError> {
    if line.len() > LINE_MAX {
        return Err(CommandError::new(format!("a line has at most {LINE_MAX} bytes")).at(0..0));
    }
    words::split(line).map_err(|OpenQuote(at)| CommandError::new("this quote is never closed").at(at..line.len()))
}

/// An error's place, kept inside the line whatever the command said.
fn fit(mut error: CommandError, line: &str) -> CommandError {
    error.place = error.place.map(|place| place.start.min(line.len())..place.end.min(line.len()));
    error
}
