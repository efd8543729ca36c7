//! Commands, and what they answer.
#![allow(unsafe_code)]

use crate::boundary::caught;
use crate::control::Control;
use crate::error::SetupError;
use crate::refusal::Refusal;
use crate::value::{Arguments, Cell};
use quiver_plugin_abi as abi;
use std::ffi::c_void;
use std::marker::PhantomData;

/// Answer of a command.
pub enum Reply {
    /// Nothing: it was done.
    Done,
    /// Lines.
    Text(String),
    /// A table, which is a list of mappings with `--json`.
    Table(Table),
}

/// A table.
pub struct Table {
    titles: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new<'a>(titles: impl IntoIterator<Item = &'a str>) -> Table {
        Table { titles: titles.into_iter().map(str::to_owned).collect(), rows: vec![] }
    }
    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl From<Table> for Reply {
    fn from(table: Table) -> Reply {
        Reply::Table(table)
    }
}

type Run = Box<dyn Fn(&Control<'_>, &Arguments<'_>) -> Result<Reply, Refusal>>;

/// A command that answers at once.
pub struct Command {
    grammar: String,
    help: String,
    run: Run,
}

impl Command {
    /// A command: its grammar (`show marks [<interface>]`), what it does, and how.
    pub fn new(
        grammar: &str,
        help: &str,
        run: impl Fn(&Control<'_>, &Arguments<'_>) -> Result<Reply, Refusal> + 'static,
    ) -> Command {
        Command { grammar: grammar.to_owned(), help: help.to_owned(), run: Box::new(run) }
    }
    pub(crate) fn cross(
        self,
        host: &'static abi::Host,
        add: impl FnOnce(&abi::Command, &str) -> Result<(), SetupError>,
    ) -> Result<(), SetupError> {
        // The daemon calls it for as long as the process lives.
        let user = Box::into_raw(Box::new(Ready { host, run: self.run }));
        let (grammar, help) = (abi::Text::new(&self.grammar), abi::Text::new(&self.help));
        add(&abi::Command { grammar, help, user: user.cast(), run: Some(run) }, &self.grammar)
    }
}

struct Ready {
    host: &'static abi::Host,
    run: Run,
}

unsafe extern "C" fn run(
    user: *mut c_void,
    control: *mut abi::Control,
    call: *const abi::Call,
    answer: *mut abi::Answer,
) -> abi::Status {
    // SAFETY: `user` was leaked for this command.
    let ready = unsafe { &*user.cast::<Ready>() };
    let control = Control { host: ready.host, control, answer, call: PhantomData };
    let read = |name: &str, index: u32| {
        let mut value = abi::Value::NONE;
        // SAFETY: the daemon's function and line, within its call.
        let status = unsafe { (ready.host.argument)(call, abi::Text::new(name), index, &mut value) };
        (status == abi::OK).then_some(value)
    };
    let ran = caught(|| (ready.run)(&control, &Arguments::new(&read)));
    control.end(ran.map(|answered| answered.map(|reply| reply.cross(ready.host, answer))))
}

impl Reply {
    fn cross(self, host: &abi::Host, answer: *mut abi::Answer) {
        match self {
            Reply::Done => {}
            // SAFETY: the daemon's function and handle, within its call; what is given outlives it.
            Reply::Text(text) => unsafe { (host.answer_text)(answer, abi::Text::new(&text)) },
            Reply::Table(table) => {
                let titles: Vec<_> = table.titles.iter().map(|title| abi::Text::new(title)).collect();
                // SAFETY: as above.
                unsafe { (host.answer_columns)(answer, titles.as_ptr(), titles.len() as u32) };
                for row in &table.rows {
                    let cells: Vec<_> = row.iter().map(Cell::crossing).collect();
                    // SAFETY: as above.
                    unsafe { (host.answer_row)(answer, cells.as_ptr(), cells.len() as u32) };
                }
            }
        }
    }
}
