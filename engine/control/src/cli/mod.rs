//! The command line: a grammar for each command, and everything that follows from it.
//!
//! - `grammar`: the notation, `"set interface state <interface> (up|down)"`, and its syntax tree.
//! - `matching`: a line against the grammars of all commands: matches, errors, what may come next.
//! - `kind`: the types of arguments, made from [`Scalar`](crate::object::Scalar)s.
//! - `command`: [`Command`], [`Matches`], [`CommandError`], [`Output`].
//! - `reply`: [`Reply`] and [`Table`], text and JSON from one description.
//! - [`script()`]: several commands in one text, comments, and `exec`.
//! - `standard`: the commands that are always there.
//! - [`Commands`]: the commands of all rooms: run, complete, help.

mod command;
mod commands;
mod grammar;
mod kind;
mod matching;
mod near;
mod reply;
mod script;
mod standard;
mod words;

pub use command::{Command, CommandError, Matches, Output};
pub use commands::{Commands, Completion};
pub use kind::ArgumentKind;
pub use near::nearest;
pub use reply::{Cell, Reply, Table};
pub use script::{Piece, Scripts, exec_from, goes_on, script};
pub(crate) use standard::register;
pub use words::join;
