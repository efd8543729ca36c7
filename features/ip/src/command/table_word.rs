//! Tables in commands: by their numbers, or by their names. Every command that means a table asks [`table`] for it.

use std::fmt;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, CommandError, Matches};
use quiver_control::object::Scalar;
use quiver_wire::{V4, V6};

use crate::config::objects::IpTable;
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::TableId;

/// A table argument of a command, by id or name. Its argument types are `ip4-table` and `ip6-table`, or `table` where
/// either family is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWord(String);

impl fmt::Display for TableWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Scalar for TableWord {
    const NAME: &'static str = "table";
    const EXPECTED: &'static str = "the number or the name of a table";
    fn parse(text: &str) -> Result<TableWord, String> {
        if text.is_empty() { Err(String::new()) } else { Ok(TableWord(text.into())) }
    }
}

pub(super) fn register(control: &Control) {
    let kind = || ArgumentKind::of::<TableWord>();
    let expected = TableWord::EXPECTED;
    control.commands().add_kind(kind().named("ip4-table", expected).completed_by(words::<V4>));
    control.commands().add_kind(kind().named("ip6-table", expected).completed_by(words::<V6>));
    // Where the family is said elsewhere.
    let both = |control: &Control| [words::<V4>(control), words::<V6>(control)].concat();
    control.commands().add_kind(kind().completed_by(both));
}

/// The numbers of all tables, and the names that were given to them.
fn words<F: Family>(control: &Control) -> Vec<String> {
    let ip = control.room::<Ip<F>>();
    ip.fib
        .tables()
        .flat_map(|table| [Some(table.id.to_string()), given_name::<F>(control, table.id)])
        .flatten()
        .collect()
}

fn given_name<F: Family>(control: &Control, id: TableId) -> Option<String> {
    control.objects().get::<IpTable<F>>(&id.0)?.name.clone()
}

/// The name of a table: one that was given to it, or the one that it has by its number.
pub fn name_of<F: Family>(control: &Control, id: TableId) -> String {
    given_name::<F>(control, id).unwrap_or_else(|| format!("{}:{id}", F::NAMES.vrf))
}

/// The number of the table that a command names in this argument, if it names one. There need not be a table of a number.
pub fn table<F: Family>(control: &Control, given: &Matches, argument: &str) -> Result<Option<u32>, CommandError> {
    let Some(TableWord(word)) = given.find::<TableWord>(argument)? else { return Ok(None) };
    let wrong = |what: String| Err(CommandError::new(what).at(given.place(argument)));
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return match u32::parse(&word) {
            Ok(number) => Ok(Some(number)),
            Err(_) => wrong(format!("{word} is no number of a table: they end with {}", u32::MAX)),
        };
    }
    let ids: Vec<TableId> = control.room::<Ip<F>>().fib.tables().map(|table| table.id).collect();
    let named: Vec<TableId> = ids.into_iter().filter(|id| name_of::<F>(control, *id) == word).collect();
    match named[..] {
        [id] => Ok(Some(id.0)),
        [] => wrong(format!("there is no {} table '{word}'; `show {} table` lists them", F::TITLE, F::NAMES.command)),
        _ => {
            let numbers: Vec<String> = named.iter().map(ToString::to_string).collect();
            wrong(format!("{} tables {} have the name '{word}'; give the number", F::TITLE, numbers.join(", ")))
        }
    }
}

/// The table of a command that must name one.
pub(super) fn wanted<F: Family>(control: &Control, given: &Matches) -> Result<u32, CommandError> {
    table::<F>(control, given, "table")?.ok_or_else(|| CommandError::new("it must name a table"))
}
