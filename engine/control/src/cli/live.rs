//! The registered commands, and the control side whose names their arguments take: finds, completes and explains commands.

use std::rc::Rc;

use super::command::{CommandError, Matches};
use super::grammar::Part;
use super::kind::ArgumentKind;
use super::matching::{self, Arguments, Next, Thread, Unfolded, WORDS_MAX};
use super::registered::{Entry, Registered, kind_of};
use super::reply::{Cell, Table};
use super::words::{self, Token};
use crate::control::Control;

/// Largest number of completions.
const COMPLETIONS_MAX: usize = 200;

/// A way to go on with a line.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Completion {
    /// The word that could stand here; of an argument whose values are not known its `<name>`.
    pub word: String,
    /// Help text.
    pub help: String,
    /// Whether `word` can be put into the line as it is.
    pub insert: bool,
}

/// The commands as registered now, and the system that their arguments speak of.
pub(super) struct Live<'a> {
    pub registered: Rc<Registered>,
    pub control: &'a Control,
}

impl Live<'_> {
    /// The command that the words fit.
    pub fn find(&self, line: &str, words: &[Token]) -> Result<(Rc<Entry>, Matches), CommandError> {
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

    /// Parses the words in all ways, and unfolds the threads up to the next word.
    pub fn threads(&self, words: &[Token]) -> Result<Unfolded, CommandError> {
        words.iter().try_fold(self.begin(words)?, |unfolded, word| {
            matching::step(&unfolded.next, word, self).map(matching::unfold)
        })
    }

    /// The commands that the words can fit, unfolded up to the first word.
    fn begin(&self, words: &[Token]) -> Result<Unfolded, CommandError> {
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

    /// Possible next words and arguments, each once.
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

    /// The words that can follow and begin with `partial`, with their meanings.
    pub fn table(&self, unfolded: &Unfolded, partial: &str) -> Table {
        let mut table = Table::new(["Word", "Meaning"]);
        if !unfolded.complete.is_empty() && partial.is_empty() {
            table.row([Cell::from("<enter>"), Cell::from("run the command")]);
        }
        for next in self.distinct(&unfolded.next) {
            let (word, help) = self.describe(unfolded, next);
            if word.starts_with('<') || word.starts_with(partial) {
                table.row([Cell::from(word), Cell::from(help)]);
            }
        }
        table
    }

    /// A possible next word or argument, and its help text.
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

    pub fn completions(&self, unfolded: &Unfolded, partial: &str) -> Vec<Completion> {
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

/// The word that every line of a grammar begins with, if there is one.
fn first_word(grammar: &Part) -> Option<&str> {
    match grammar {
        Part::Sequence(parts) => first_word(parts.first()?),
        part => matching::word_of(part),
    }
}
