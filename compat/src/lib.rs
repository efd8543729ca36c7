//! VPP's surfaces, so that its clients work against Quiver unchanged.
//!
//! - [`wire`]: what fields of messages are, on the wire and in descriptions; [`message`]: messages and services.
//! - [`definition`]: descriptions of messages, their CRC; [`json`]: the `.api.json` files that clients load.
//! - [`api`]: the messages that the daemon knows, and who answers them: rooms [`add`] theirs.
//! - [`session`]: one client, from its handshake to its end, without a socket; [`event`]: what it asked to be told;
//!   [`caller`]: a client for tests.
//! - [`trace`]: what clients have asked, remembered.
//! - [`memclnt`]: the messages of the protocol itself; [`types`]: fields that several rooms use.
//! - [`missing`]: features of VPP that no room has yet, and their commands; [`awaiting`]: messages that none has;
//!   [`release`]: checksums of other releases of VPP.
//! - [`terminal`]: VPP's command line on a socket, as `vppctl` speaks it.
//! - [`startup`]: VPP's `startup.conf`, and the same on the command line, as options of quiverd.
#![forbid(unsafe_code)]

// The derives name this crate; so they work inside it, too.
extern crate self as quiver_compat;

pub mod api;
pub mod awaiting;
mod base;
pub mod caller;
mod clients;
pub mod definition;
pub mod event;
pub mod json;
pub mod memclnt;
pub mod message;
pub mod missing;
pub mod release;
pub mod retval;
pub mod session;
pub mod startup;
pub mod terminal;
pub mod trace;
pub mod types;
pub mod wire;

pub use api::Api;
pub use base::add;
pub use caller::Caller;
pub use event::{Client, Subscribers};
pub use message::{Done, Message};
pub use quiver_compat_derive::{Message, Wire};
pub use release::Release;
pub use retval::{Refusal, Retval};
pub use session::Session;
pub use wire::{Text, Wire};
