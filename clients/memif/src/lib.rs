//! memif for applications: a program opens an interface, another program (Quiver, VPP, DPDK, or one with this crate) opens
//! the other end, and packets pass through memory that both share. No engine inside, no thread, no runtime.
//!
//! ```no_run
//! use quiver_memif_client::{Client, Packets, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = Client::new()?;
//! let interface = client.open(Settings::slave("/run/quiver/memif.sock".parse()?, 0))?;
//! let mut packets = Packets::new();
//! loop {
//!     for event in client.wait(None)? {
//!         println!("{event}");
//!     }
//!     // Nothing to be had before the other end is there, or after it went.
//!     let Some((rx, tx)) = client.queues(interface, 0) else { continue };
//!     while rx.receive(&mut packets, 64)? > 0 {
//!         tx.send(packets.iter())?;
//!     }
//! }
//! # }
//! ```
//!
//! - [`Client`]: all interfaces of a program, and one file descriptor to wait for.
//! - [`Settings`]: what an interface is.
//! - [`RxQueue`], [`TxQueue`]: the ends of its rings; they can go to threads of their own ([`Client::take_queues`]).
//! - [`Packets`]: received packets, copied out of the shared memory before anybody looks at them.

mod client;
mod queue;
mod settings;

pub use client::{Client, ClientError, Event, EventKind, InterfaceId};
pub use queue::{PACKET_MAX, Packets, QueueError, RxQueue, TxQueue};
pub use quiver_memif_protocol::address::AddressError;
pub use quiver_memif_protocol::message::SecretError;
pub use quiver_memif_protocol::{Address, Broken, Credentials, Mode, Peer, Role, Secret};
pub use settings::{Settings, SettingsError};
