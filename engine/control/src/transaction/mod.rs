//! Transactions: the configuration changes as a whole, by one at a time, for good or not at all.
//!
//! - The **running** configuration is the objects that run.
//! - A **candidate** is a file that was planned ([`Control::plan`](crate::Control::plan)) and not yet applied.
//! - The **saved** configuration is the newest confirmed [`Version`] of the history; a daemon starts with it.
//!
//! [`Control::apply`](crate::Control::apply) and its like hold the configuration while they work, in turns: `show`
//! commands are answered and timers run meanwhile, other changes are refused with the name of the holder. The applied
//! configuration becomes a version of the history, at once or, on request, when it is confirmed in time; otherwise the
//! previous one comes back.
//!
//! [`Audit`] gets every change, with its author and its source.
//!
//! Modules: `state`: the hold and the candidate; `asker`: whether a client still waits for its change; `hold` and `change` take the hold and make changes; `confirm` waits
//! for the operator; `history` keeps [`Version`]s in a [`Store`], each as a [`Text`]; `waiting` retries objects that wait for the outside;
//! `command` has the operators' commands. Reasons: docs/decisions/0008-transactions.md.

mod asker;
mod audit;
mod author;
mod change;
mod command;
mod confirm;
mod error;
mod history;
mod hold;
mod state;
mod store;
mod text;
mod version;
mod waiting;

pub use audit::{Audit, Entry};
pub use author::{Author, Source};
pub use change::Terms;
pub(crate) use command::register;
pub use error::TransactionError;
pub(crate) use state::Transactions;
pub use store::{Memory, Store};
pub use text::Text;
pub use version::{Malformed, Version};
