//! Commands, matches of lines, and errors.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::rc::Rc;

use super::Reply;
use crate::control::Control;
use crate::object::{ObjectError, Record, Scalar};
use crate::signal::Signal;
use crate::time::LocalFuture;

/// A command: its grammar, a line of help, and its function.
///
/// ```
/// use quiver_control::Control;
/// use quiver_control::cli::{Command, CommandError, Matches, Reply};
///
/// fn add(_: &Control, matches: &Matches) -> Result<Reply, CommandError> {
///     let (a, b): (u32, u32) = (matches.get("a")?, matches.get("b")?);
///     Ok(Reply::text(format!("{}", u64::from(a) + u64::from(b))))
/// }
///
/// let command = Command::new("add <a:u32> <b:u32>", "Add two numbers.", add).argument("a", "the first");
/// ```
#[derive(Clone)]
pub struct Command {
    pub(super) grammar: String,
    pub(super) help: String,
    pub(super) texts: Vec<(String, String)>,
    pub(super) run: Run,
}

/// Result of a command.
type Answer = Result<Reply, CommandError>;

type AtOnce = Rc<dyn Fn(&Control, &Matches) -> Answer>;
type Waiting = Rc<dyn Fn(Control, Matches, Output) -> LocalFuture<Answer>>;

#[derive(Clone)]
pub(super) enum Run {
    AtOnce(AtOnce),
    Waiting(Waiting),
}

impl Command {
    /// Whether it shows something and changes nothing.
    pub(super) fn only_looks(&self) -> bool {
        self.grammar.split_whitespace().next() == Some("show")
    }

    /// A command that answers at once.
    pub fn new(
        grammar: impl Into<String>,
        help: impl Into<String>,
        run: impl Fn(&Control, &Matches) -> Result<Reply, CommandError> + 'static,
    ) -> Command {
        Command { grammar: grammar.into(), help: help.into(), texts: Vec::new(), run: Run::AtOnce(Rc::new(run)) }
    }

    /// A command that waits, or answers in parts: an `async fn(Control, Matches, Output)`. When the client goes
    /// away, it is dropped where it waits.
    pub fn waiting<F: Future<Output = Result<Reply, CommandError>> + 'static>(
        grammar: impl Into<String>,
        help: impl Into<String>,
        run: impl Fn(Control, Matches, Output) -> F + 'static,
    ) -> Command {
        let run = Run::Waiting(Rc::new(move |control, matches, output| Box::pin(run(control, matches, output))));
        Command { grammar: grammar.into(), help: help.into(), texts: Vec::new(), run }
    }

    /// Adds the help of an argument, or of a word.
    pub fn argument(mut self, name: &str, text: &str) -> Command {
        self.texts.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Takes the help of arguments and words from the doc comments of the fields of the same name.
    pub fn arguments_of<R: Record>(mut self) -> Command {
        self.texts.extend(R::record_fields().into_iter().map(|field| (field.name.to_owned(), field.doc.to_owned())));
        self
    }
}

/// A word that fitted: a word of the grammar, or an argument.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The grammar's word, or the argument's name.
    pub name: String,
    /// Text in the line.
    pub text: String,
    pub argument: bool,
    pub span: Range<usize>,
}

/// Words and arguments of a line that matches a command.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    pub(super) items: Vec<Item>,
    /// Length of the line.
    pub(super) end: usize,
}

impl Matches {
    /// The argument's value. An error if it was not given, which the grammar should rule out.
    pub fn get<T: Scalar>(&self, name: &str) -> Result<T, CommandError> {
        self.find(name)?.ok_or_else(|| CommandError::new(format!("<{name}> is missing")).at(self.end..self.end))
    }

    /// The value of an argument that may be left out.
    pub fn find<T: Scalar>(&self, name: &str) -> Result<Option<T>, CommandError> {
        self.arguments(name).next().map(value).transpose()
    }

    /// All values of an argument that may stand several times.
    pub fn all<T: Scalar>(&self, name: &str) -> Result<Vec<T>, CommandError> {
        self.arguments(name).map(value).collect()
    }

    /// Whether this word of the grammar was given, in full or abbreviated.
    pub fn has(&self, word: &str) -> bool {
        self.items.iter().any(|item| !item.argument && item.name == word)
    }

    /// The parts of the line that begin with this word of the grammar: for `(via <next-hop:ip4> [weight
    /// <weight:u8>])...`, `groups("via")` has one for each path. The last one has what follows, too.
    pub fn groups(&self, word: &str) -> Vec<Matches> {
        let is_start = |item: &Item| !item.argument && item.name == word;
        let mut groups: Vec<Matches> = Vec::new();
        for item in &self.items {
            if is_start(item) {
                groups.push(Matches { items: Vec::new(), end: self.end });
            }
            if let Some(group) = groups.last_mut() {
                group.items.push(item.clone());
            }
        }
        groups
    }

    /// The place of an argument or word in the line, for errors: `error.at(matches.place("mtu"))`. The line's end
    /// if it was not given.
    pub fn place(&self, name: &str) -> Range<usize> {
        let item = self.items.iter().find(|item| item.name == name);
        item.map_or(self.end..self.end, |item| item.span.clone())
    }

    fn arguments(&self, name: &str) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.argument && item.name == name)
    }
}

fn value<T: Scalar>(item: &Item) -> Result<T, CommandError> {
    T::parse(&item.text).map_err(|reason| {
        let what = if reason.is_empty() { format!("'{}' is not {}", item.text, T::EXPECTED) } else { reason };
        CommandError::new(what).at(item.span.clone())
    })
}

/// Error of a line: text, place in the line, and the possible words there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct CommandError {
    /// Error text, with a remedy if there is one.
    pub what: String,
    /// The place in the line, in bytes; empty at the end of the line if something is missing there.
    pub place: Option<Range<usize>>,
    /// Possible words there.
    pub expected: Vec<String>,
}

impl CommandError {
    /// An error of a command.
    pub fn new(what: impl Into<String>) -> CommandError {
        CommandError { what: what.into(), place: None, expected: Vec::new() }
    }

    /// Points at a place in the line.
    pub fn at(mut self, place: Range<usize>) -> CommandError {
        self.place = Some(place);
        self
    }
}

impl From<ObjectError> for CommandError {
    fn from(error: ObjectError) -> CommandError {
        CommandError::new(error.to_string())
    }
}

/// Queue for the parts of a waiting command's answer, such as the lines of `ping`.
///
/// It holds a few parts. A slow reader makes only its own command wait.
#[derive(Clone)]
pub struct Output(Rc<Queue>);

struct Queue {
    form: Form,
    parts: RefCell<VecDeque<Reply>>,
    closed: Cell<bool>,
    changed: Signal,
    /// Number of running scripts, each run by a command of the previous one.
    nested: Cell<usize>,
}

/// Forms of an answer that its reader takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Both,
    Text,
    Json,
}

/// A script that is being run, until this is dropped.
pub(super) struct Nesting(Output);

impl Nesting {
    /// More scripts within each other are a mistake.
    pub const MAX: usize = 8;
}

impl Drop for Nesting {
    fn drop(&mut self) {
        self.0.0.nested.set(self.0.0.nested.get() - 1);
    }
}

impl Default for Output {
    fn default() -> Output {
        Output::of(Form::Both)
    }
}

impl Output {
    const CAPACITY: usize = 16;
    /// The same of an answer that goes on, whose parts are large: of a thousand clients that do not read, each keeps these.
    const CAPACITY_OF_MORE: usize = 2;

    /// Creates the queue of a reader that takes text alone.
    pub fn text() -> Output {
        Output::of(Form::Text)
    }

    /// Creates the queue of a reader that takes JSON alone.
    pub fn json() -> Output {
        Output::of(Form::Json)
    }

    fn of(form: Form) -> Output {
        let changed = Signal::new();
        let (parts, closed, nested) = (RefCell::default(), Cell::new(false), Cell::new(0));
        Output(Rc::new(Queue { form, parts, closed, changed, nested }))
    }

    /// Whether the reader takes the answer as text.
    pub fn wants_text(&self) -> bool {
        self.0.form != Form::Json
    }

    /// Whether the reader takes the answer as JSON.
    pub fn wants_json(&self) -> bool {
        self.0.form != Form::Text
    }

    /// Gives out a part; waits while the reader is behind.
    pub async fn send(&self, part: Reply) {
        let capacity = if part.more { Output::CAPACITY_OF_MORE } else { Output::CAPACITY };
        while self.0.parts.borrow().len() >= capacity {
            self.0.changed.changed().await;
        }
        self.0.parts.borrow_mut().push_back(part);
        self.0.changed.notify();
    }

    /// The same, of an answer that may say nothing.
    pub(super) async fn send_unless_empty(&self, part: Reply) {
        if part != Reply::done() {
            self.send(part).await;
        }
    }

    /// Begins a script, unless too many are begun already.
    pub(super) fn nest(&self) -> Option<Nesting> {
        let nested = self.0.nested.get();
        (nested < Nesting::MAX).then(|| {
            self.0.nested.set(nested + 1);
            Nesting(self.clone())
        })
    }

    /// The next part; nothing once the command has ended and all parts were taken.
    pub async fn next(&self) -> Option<Reply> {
        loop {
            let part = self.0.parts.borrow_mut().pop_front();
            if part.is_some() {
                self.0.changed.notify();
                return part;
            }
            if self.0.closed.get() {
                return None;
            }
            self.0.changed.changed().await;
        }
    }

    /// No more parts will come.
    pub(crate) fn close(&self) {
        self.0.closed.set(true);
        self.0.changed.notify();
    }
}
