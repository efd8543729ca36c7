//! The command line: a grammar for each command, and everything that follows from it.
//!
//! - `grammar`: the notation, `"set interface state <interface> (up|down)"`, and its syntax tree.
//! - `matching`: a line against the grammars of all commands: matches, errors, what may come next.
//! - `kind`: the types of arguments, made from [`Scalar`](crate::object::Scalar)s.
//! - `command`: [`Command`], [`Matches`], [`CommandError`], [`Output`].
//! - `reply`: [`Reply`] and [`Table`], text and JSON from one description.
//! - `listing`: long answers, made in short turns and given out as they are made: [`Listing`], [`Rows`].
//! - [`script()`]: several commands in one text, and comments; `exec`: runs them.
//! - `macros`: names that stand for text in lines. `missing`: commands whose feature is missing.
//! - `standard`: the commands that are always there.
//! - [`Commands`]: the commands of all rooms: run, complete, help. `registered`: what rooms have registered; `live`: lines against it.

mod command;
mod commands;
mod exec;
mod grammar;
mod kind;
mod listing;
mod live;
mod macros;
mod matching;
mod missing;
mod near;
mod registered;
mod reply;
mod script;
mod standard;
mod words;

pub use command::{Command, CommandError, Matches, Output};
pub use commands::Commands;
pub(crate) use commands::VIEWERS_LOOK;
pub use exec::{Scripts, exec_from};
pub use kind::ArgumentKind;
pub(crate) use listing::in_parts;
pub use listing::{Listing, Rows};
pub use live::Completion;
pub(crate) use macros::Macros;
pub use near::nearest;
pub use reply::{Cell, Reply, Table, join_json};
pub use script::{Piece, goes_on, script};
pub(crate) use standard::register;
pub use words::{OpenQuote, Token, join, split};
