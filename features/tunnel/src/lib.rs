//! The common part of tunnels over UDP: interfaces that send Ethernet frames or IP packets as payload of datagrams, and
//! receive the payload of received datagrams.
//!
//! The room of a kind implements [`Kind`] (names, and the header behind UDP's), and registers it with its objects
//! ([`register_kind`]).
//!
//! - [`encapsulate`], [`input`]: the nodes; [`put`]: how one packet becomes the payload of a datagram; [`outer`]: the headers; [`template`]: what stages fill in;
//!   [`ecn`]: congestion that routers on the way mark.
//! - [`directory`]: which tunnel a datagram belongs to; [`underlay`]: what differs between datagrams of IPv4 and IPv6.
//! - [`mod@configured`]: what objects of all kinds have in common; [`command`]: their commands; [`bypass`]: interfaces whose datagrams go to
//!   tunnels without a lookup.
//! - [`messages`]: what VPP's messages of all kinds ask for, and tell.
//! - [`tunnels`]: what becomes of that; `groups`: the groups that interfaces are in for tunnels.
#![forbid(unsafe_code)]

pub mod bypass;
pub mod command;
pub mod configured;
pub mod directory;
pub mod ecn;
pub mod encapsulate;
pub mod ends;
mod groups;
pub mod input;
pub mod kind;
pub mod messages;
pub mod outer;
pub mod put;
pub mod template;
pub mod tunnels;
pub mod underlay;

pub use bypass::{TunnelBypass, set_bypass};
pub use command::Keywords;
pub use configured::{Configured, Fields};
pub use ends::Ends;
pub use kind::{Header, Kind, Malformed};
pub use outer::{Choice, Outer};
pub use tunnels::{After, Settings, TunnelError, Tunnels};
pub use underlay::Underlay;

use quiver_control::Control;

/// Registers the room. IP, groups and UDP are registered before, and rooms of kinds of tunnels behind it.
pub fn register(control: &Control) {
    control.insert_room(groups::Groups::default());
    bypass::register(control);
    command::register(control);
}

/// Registers a kind of tunnels: nodes, features, objects and commands.
///
/// # Errors
/// If the data plane refuses a node, or there is no memory for its tables.
pub fn register_kind<T: Configured>(control: &Control, words: Keywords) -> Result<(), TunnelError> {
    tunnels::register::<T::Kind>(control)?;
    bypass::add_kind(control, T::Kind::WORD, T::Kind::BYPASS);
    control.objects().add(
        quiver_control::Kind::new(configured::apply::<T>)
            .check(configured::check::<T>)
            .memory(|_| quiver_interface::MEMORY),
    );
    command::register_commands::<T>(control, words);
    Ok(())
}
