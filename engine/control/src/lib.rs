//! The control side: the code of the one control thread, which owns all configuration.
//!
//! It knows nothing of packets. A room gives it three things, all in one `register` function:
//!
//! - its **state**, any type, kept in [`Control`] and found by its type;
//! - its **config objects**, structs that derive [`Object`]: their fields are the one source of the YAML file,
//!   the schema, `docs/objects.md` and the texts of the CLI;
//! - its **commands**, a [`Command`](cli::Command) each: a grammar in VPP's style and a handler.
//!
//! The page to read first is `tests/all/tiny_room.rs`: a complete room in some fifty lines.
//!
//! Rules that keep the control side simple:
//!
//! - Everything is single-threaded (`Rc`, `RefCell`). A borrow of a room's state never lives across an `.await`,
//!   and never across a call into another room that may come back.
//! - Configuration changes only through [`Objects`](object::Objects): a command builds an object and puts it; what
//!   the CLI made is therefore in `quiver save`. Whole configurations change in [`transaction`]s.
//! - Time, timers and tasks come from [`Control`], so that a simulation can host them.
#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod docs;
pub mod files;
pub mod object;
pub mod protocol;
pub mod transaction;

mod control;
mod create;
mod identity;
mod list;
mod numbers;
mod pace;
mod signal;
mod time;
mod turn;
mod walk;

pub use control::Control;
pub use numbers::LowestFree;
pub use object::{Change, Kind, Object, ObjectError, Record};
pub use pace::Pace;
pub use quiver_control_derive::{Object, Record};
pub use signal::Signal;
pub use time::{Clock, LocalFuture, Spawner, Task, Time, Timer};
pub use turn::{TURN_MAX, TurnCounts};
pub use walk::{behind, one_by_one};

#[doc(hidden)]
pub use serde_json;
