//! memif 2.0, the shared-memory packet interface of FD.io: the messages of its control channel, and the shared memory.
//! No engine inside: drivers, embedding clients and simulations use the same pieces.
//!
//! - [`message`]: the control messages, 128 bytes each.
//! - [`master`], [`slave`]: what either role does with them, as values without I/O; [`link`] is what they agree on.
//! - [`channel`]: the control channel over a real socket; [`address`]: its name. [`handshake`]: all of these together, a
//!   connection from the greeting to mapped rings.
//! - [`region`]: shared memory, and what becomes of it when a peer truncates it; [`guard`] survives that.
//! - [`ring`]: a ring of descriptors; [`receiver`] and [`transmitter`] move packets through it, in either role;
//!   [`places`]: the buffers of a slave.
//! - [`interrupt`]: eventfds; [`waker`]: writing to one that a hostile peer shares.
//! - [`layout`]: where a slave puts its rings and slots.

pub mod address;
mod ahead;
#[cfg_attr(loom, path = "cells_under_loom.rs")]
mod cells;
pub mod channel;
pub mod guard;
pub mod handshake;
pub mod interrupt;
pub mod layout;
pub mod link;
pub mod master;
pub mod message;
pub mod places;
pub mod receiver;
pub mod refusal;
pub mod region;
pub mod ring;
pub mod slave;
pub mod transmitter;
pub mod waker;

pub use address::Address;
pub use channel::{Channel, ChannelError, Credentials, Listener};
pub use handshake::{End, Established, Handshake, Peer, Progress, Storage};
pub use interrupt::Interrupt;
pub use link::{Link, LinkError, Offer, Queue, RingOffer};
pub use master::{Master, Terms};
pub use message::{Message, Mode, Secret};
pub use places::{Place, Places};
pub use receiver::{Fragment, Receiver};
pub use refusal::Refusal;
pub use region::{Region, RegionError, Regions, Store};
pub use ring::{Broken, Ring};
pub use slave::{Request, Slave};
pub use transmitter::Transmitter;
pub use waker::Waker;

/// Which end one is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Listens, and maps what the slave shares.
    Master,
    /// Connects, and owns the memory.
    Slave,
}

/// The version that is spoken: 2.0.
pub const VERSION: u16 = 0x0200;
/// Descriptors in a ring at most, as a power of two.
pub const LOG2_RING_SIZE_MAX: u8 = 14;
/// Rings in one direction at most: their indices are told as a maximum of 255.
pub const RINGS_MAX: usize = 256;
/// Regions at most.
pub const REGIONS_MAX: usize = 256;
