//! The commands of all rooms: run a line, complete it, explain it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use quiver_wire::{InterfaceAddress, MacAddress, Prefix, V4, V6, VlanId};
use serde_json::json;

use super::command::{Command, CommandError, Matches, Output, Run};
use super::grammar::{self, Part};
use super::kind::ArgumentKind;
use super::matching::{self, Arguments, Next, Thread, Unfolded, WORDS_MAX};
use super::reply::{Cell, Reply, Table};
use super::script::script;
use super::words::{self, OpenQuote, Word};
use crate::control::Control;
use crate::object::scalar::Interval;

/// A longer line is not a command.
const LINE_MAX: usize = 16 * 1024;
/// More completions than this help nobody.
const COMPLETIONS_MAX: usize = 200;

/// The commands of all rooms, and the types of their arguments.
#[derive(Default)]
pub struct Commands(RefCell<Rc<Registered>>);

#[derive(Default, Clone)]
struct Registered {
    commands: Vec<Rc<Entry>>,
    kinds: HashMap<&'static str, ArgumentKind>,
    /// The alternatives that rooms have added to grammars, by placeholder, such as `$next-hop`.
    parts: HashMap<&'static str, Vec<Added>>,
}

/// An alternative that a room has added to grammars of others.
#[derive(Clone)]
struct Added {
    grammar: String,
    texts: Vec<(String, String)>,
}

struct Entry {
    command: Command,
    grammar: Rc<Part>,
    /// The grammar without what rooms have added.
    written: String,
}

impl Registered {
    /// A command with what rooms have added to its grammar.
    fn complete(&self, written: &str, mut command: Command) -> Result<Entry, String> {
        command.grammar = written.to_owned();
        for (place, added) in &self.parts {
            let all: Vec<_> = added.iter().map(|added| &*added.grammar).collect();
            if !command.grammar.contains(place) {
                continue;
            }
            command.grammar = command.grammar.replace(place, &all.join(" | "));
            let texts = added.iter().flat_map(|added| &added.texts);
            let new: Vec<_> = texts.filter(|text| !command.texts.contains(text)).cloned().collect();
            command.texts.extend(new);
        }
        // A place for which there is nothing yet.
        while let Some((before, after)) = command.grammar.split_once("| $") {
            let end = after.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(after.len());
            command.grammar = format!("{}{}", before.trim_end(), &after[end..]);
        }
        let grammar = parse(&command.grammar)?;
        Ok(Entry { command, grammar, written: written.to_owned() })
    }

    /// Checks that no command has this grammar yet.
    fn check_new(&self, grammar: &str) -> Result<(), String> {
        match self.commands.iter().any(|other| other.command.grammar == grammar) {
            true => Err(format!("the command '{grammar}' was registered twice")),
            false => Ok(()),
        }
    }
}

/// Reads a command's grammar; the error names the command.
fn parse(grammar: &str) -> Result<Rc<Part>, String> {
    grammar::parse(grammar).map_err(|error| format!("the grammar of the command '{grammar}': {error}"))
}

/// A way to go on with a line.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Completion {
    /// The word that could stand here; of an argument whose values are not known its `<name>`.
    pub word: String,
    /// What it means.
    pub help: String,
    /// Whether `word` can be put into the line as it is.
    pub insert: bool,
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

    /// Registers a command of foreign make: what [`Commands::add`] panics of is an error here.
    pub fn try_add(&self, command: Command) -> Result<(), String> {
        let written = command.grammar.clone();
        let mut registered = self.0.borrow_mut();
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
        let mut registered = self.0.borrow_mut();
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
        self.0.borrow().check_new(grammar)?;
        self.check_arguments(grammar, &parsed)?;
        let mut arguments = vec![];
        parsed.arguments(&mut |name, kind| arguments.push((name.to_owned(), kind.to_owned())));
        Ok(arguments)
    }

    /// The type of arguments of this name.
    pub fn kind(&self, name: &str) -> Option<ArgumentKind> {
        kind_of(&self.0.borrow().kinds, name)
    }

    /// Registers a type of arguments. The types of std's scalars (`u32`, `ip4`, `text` ...) are there already.
    /// The last one of a name counts: a room can add completion to a type that another room registered.
    pub fn add_kind(&self, kind: ArgumentKind) {
        Rc::make_mut(&mut self.0.borrow_mut()).kinds.insert(kind.name, kind);
    }

    /// Checks that every argument's type was registered, once all rooms are. The error names type and command.
    pub fn check(&self) -> Result<(), String> {
        let registered = self.0.borrow().clone();
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

    /// Runs the commands of a text, one after the other ([`script`]); the first that fails ends it. What is answered in
    /// parts, and by all commands but the last, goes to `output`, which is closed at the end; the last part is returned. The
    /// place of an error is in the text. `help` and a `?` at the end explain instead.
    pub async fn run(&self, control: &Control, text: &str, output: &Output) -> Result<Reply, CommandError> {
        let reply = self.run_pieces(control, text, output).await;
        output.close();
        reply
    }

    async fn run_pieces(&self, control: &Control, text: &str, output: &Output) -> Result<Reply, CommandError> {
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

    /// Runs one command.
    pub(super) async fn dispatch(&self, control: &Control, line: &str, output: &Output) -> Result<Reply, CommandError> {
        if let Some(before) = line.trim_end().strip_suffix('?') {
            return self.explain(control, before);
        }
        let live = self.live(control);
        let words = split(line)?;
        match words.split_first() {
            None => return Ok(Reply::done()),
            Some((first, rest)) if first.text == "help" => {
                let after = rest.first().map_or(line.len(), |word| word.span.start);
                return self.explain(control, &line[after..]);
            }
            _ => {}
        }
        let (entry, matches) = live.find(line, &words)?;
        match &entry.command.run {
            Run::AtOnce(run) => run(control, &matches),
            Run::Waiting(run) => {
                let answer = run(control.clone(), matches, output.clone());
                answer.await
            }
        }
        .map_err(|error| fit(error, line))
    }

    /// What could stand at the end of `line`: a word begun there is completed. With the place in the line where the
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

    /// What could stand after `line`, as a table.
    fn explain(&self, control: &Control, line: &str) -> Result<Reply, CommandError> {
        let live = self.live(control);
        let mut words = split(line)?;
        // `sh?` explains the words that begin so; `show ?` what follows.
        let partial = match words.last() {
            Some(last) if last.span.end == line.len() => words.pop().map(|word| word.text).unwrap_or_default(),
            _ => String::new(),
        };
        let unfolded = live.threads(&words)?;
        let mut table = Table::new(["Word", "Meaning"]);
        if !unfolded.complete.is_empty() && partial.is_empty() {
            table.row([Cell::from("<enter>"), Cell::from("run the command")]);
        }
        for next in live.distinct(&unfolded.next) {
            let (word, help) = live.describe(&unfolded, next);
            if word.starts_with('<') || word.starts_with(&partial) {
                table.row([Cell::from(word), Cell::from(help)]);
            }
        }
        Ok(Reply::new(table.to_text(), json!({"next": table.to_json()})))
    }

    /// All commands: grammar and help, sorted.
    pub fn list(&self) -> Vec<(String, String)> {
        let registered = self.0.borrow();
        let mut list: Vec<_> = registered
            .commands
            .iter()
            .map(|entry| (entry.command.grammar.clone(), entry.command.help.clone()))
            .collect();
        list.sort_unstable();
        list
    }

    fn live<'a>(&self, control: &'a Control) -> Live<'a> {
        Live { registered: self.0.borrow().clone(), control }
    }
}

/// The commands as registered now, and the system that their arguments speak of.
struct Live<'a> {
    registered: Rc<Registered>,
    control: &'a Control,
}

impl Live<'_> {
    /// The command that the words fit.
    fn find(&self, line: &str, words: &[Word]) -> Result<(Rc<Entry>, Matches), CommandError> {
        let end = line.trim_end().len();
        let mut unfolded = self.begin(words)?;
        for (at, word) in words.iter().enumerate() {
            unfolded = match matching::step(&unfolded.next, word, self) {
                Ok(threads) => matching::unfold(threads),
                Err(error) if at + 1 == words.len() => matching::ending(&unfolded.next, word).ok_or(error)?,
                Err(error) => return Err(error),
            };
        }
        match unfolded.complete.first() {
            Some(thread) => Ok((self.registered.commands[thread.command].clone(), thread.matches(end))),
            None => Err(CommandError {
                what: "the command is not complete".to_owned(),
                place: Some(end..end),
                expected: matching::expected(&unfolded.next, self),
            }),
        }
    }

    /// The ways to read the words, unfolded up to what could stand next.
    fn threads(&self, words: &[Word]) -> Result<Unfolded, CommandError> {
        words.iter().try_fold(self.begin(words)?, |unfolded, word| {
            matching::step(&unfolded.next, word, self).map(matching::unfold)
        })
    }

    /// The commands that the words can fit, unfolded up to the first word.
    fn begin(&self, words: &[Word]) -> Result<Unfolded, CommandError> {
        if let Some(word) = words.get(WORDS_MAX) {
            return Err(CommandError::new(format!("a command has at most {WORDS_MAX} words")).at(word.span.clone()));
        }
        // If any command begins with this word, those that begin with another one need not be looked at.
        let begins = |entry: &Entry| {
            words.first().zip(first_word(&entry.grammar)).map(|(word, first)| first.starts_with(&word.text))
        };
        let any = self.registered.commands.iter().any(|entry| begins(entry) == Some(true));
        let commands = self.registered.commands.iter().enumerate();
        let commands = commands.filter(|(_, entry)| !any || begins(entry) != Some(false));
        Ok(matching::unfold(commands.map(|(index, entry)| Thread::new(index, &entry.grammar))))
    }

    /// What could stand next, each word and argument once.
    fn distinct<'n>(&self, next: &'n [Next]) -> Vec<&'n Next> {
        let mut found: Vec<&Next> = Vec::new();
        for next in next {
            if !found.iter().any(|other| other.leaf == next.leaf) {
                found.push(next);
            }
        }
        found.sort_by_key(|next| matching::word_of(&next.leaf).map(str::to_owned));
        found
    }

    /// A word or argument that could stand next, and what it means.
    fn describe(&self, unfolded: &Unfolded, next: &Next) -> (String, String) {
        let entry = &self.registered.commands[next.thread.command].command;
        let text_of = |name: &str| entry.texts.iter().find(|(of, _)| of == name).map(|(_, text)| text.clone());
        match &*next.leaf {
            Part::Argument { name, kind } => {
                let expected = kind_of(&self.registered.kinds, kind).map(|kind| kind.expected).unwrap_or_default();
                let text = text_of(name).map_or(expected.to_owned(), |text| format!("{text} ({expected})"));
                (format!("<{name}>"), text)
            }
            leaf => {
                let word = matching::word_of(leaf).unwrap_or_default();
                // Where the word leads to one command only, the command's help is the word's.
                let mut commands: Vec<usize> = Vec::new();
                for other in unfolded.next.iter().filter(|other| other.leaf == next.leaf) {
                    commands.push(other.thread.command);
                }
                commands.dedup();
                let text = text_of(word).or_else(|| match (commands.as_slice(), next.thread.last_word()) {
                    ([_], _) => Some(entry.help.clone()),
                    (several, _) => Some(format!("{} commands", several.len())),
                });
                (word.to_owned(), text.unwrap_or_default())
            }
        }
    }

    fn completions(&self, unfolded: &Unfolded, partial: &str) -> Vec<Completion> {
        let mut found: Vec<Completion> = Vec::new();
        for next in self.distinct(&unfolded.next) {
            let (word, help) = self.describe(unfolded, next);
            let mut add = |word: String, insert: bool| {
                if !found.iter().any(|other| other.word == word) && found.len() < COMPLETIONS_MAX {
                    found.push(Completion { word, help: help.clone(), insert });
                }
            };
            match &*next.leaf {
                Part::Argument { kind, .. } => {
                    let kind = kind_of(&self.registered.kinds, kind);
                    let known = kind.map(|kind| kind.known(self.control)).unwrap_or_default();
                    if known.is_empty() && partial.is_empty() {
                        add(word, false);
                    }
                    for name in known.into_iter().filter(|name| name.starts_with(partial)) {
                        add(words::quoted(&name), true);
                    }
                }
                _ if word.starts_with(partial) => add(word, true),
                _ => {}
            }
        }
        found
    }
}

impl Arguments for Live<'_> {
    fn kind(&self, name: &str) -> Option<ArgumentKind> {
        kind_of(&self.registered.kinds, name)
    }
    fn is_known(&self, kind: &str, word: &str) -> bool {
        self.kind(kind).is_some_and(|kind| kind.is_known(self.control, word))
    }
    fn check(&self, kind: &str, word: &str) -> Result<(), String> {
        match self.kind(kind) {
            Some(kind) => kind.check(self.control, word),
            None => Err(format!("the type '{kind}' of this argument was never registered")),
        }
    }
}

/// A registered type, or one of those that are always there.
fn kind_of(kinds: &HashMap<&'static str, ArgumentKind>, name: &str) -> Option<ArgumentKind> {
    if let Some(kind) = kinds.get(name) {
        return Some(kind.clone());
    }
    STANDARD.iter().map(|kind| kind()).find(|kind| kind.name == name)
}

/// The types that are always there.
const STANDARD: [fn() -> ArgumentKind; 16] = [
    ArgumentKind::of::<u8>,
    ArgumentKind::of::<u16>,
    ArgumentKind::of::<u32>,
    ArgumentKind::of::<u64>,
    ArgumentKind::of::<bool>,
    ArgumentKind::of::<Interval>,
    ArgumentKind::of::<String>,
    ArgumentKind::of::<Ipv4Addr>,
    ArgumentKind::of::<Ipv6Addr>,
    ArgumentKind::of::<IpAddr>,
    ArgumentKind::of::<MacAddress>,
    ArgumentKind::of::<VlanId>,
    ArgumentKind::of::<Prefix<V4>>,
    ArgumentKind::of::<Prefix<V6>>,
    ArgumentKind::of::<InterfaceAddress<V4>>,
    ArgumentKind::of::<InterfaceAddress<V6>>,
];

/// The word that every line of a grammar begins with, if there is one.
fn first_word(grammar: &Part) -> Option<&str> {
    match grammar {
        Part::Sequence(parts) => first_word(parts.first()?),
        part => matching::word_of(part),
    }
}

fn split(line: &str) -> Result<Vec<Word>, CommandError> {
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
