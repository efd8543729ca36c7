//! Network namespaces for the demo and the tests.
//!
//! A program calls [`enter`] and from then on lives in a [`World`]: private process, mount and network namespaces of
//! which it is the first process. Inside it makes [`Namespace`]s, joins them by links and runs programs in them. When
//! the first process ends, by whatever death, the kernel takes away every process, device and namespace of the world.
//! Nothing is ever written to the machine's own file system or network, so there is nothing to clean up.
//!
//! As root the world uses the machine's user namespace; without root it makes one of its own, if the machine allows.

mod error;
mod found;
mod link;
mod namespace;
mod packages;
mod program;
mod rights;
mod world;

pub use error::Error;
pub use found::KeptWorld;
pub use link::{bridge, veth};
pub use namespace::Namespace;
pub use packages::{Purpose, missing_packages};
pub use program::{Program, find, run};
pub use rights::{Rights, rights};
pub use world::{World, enter, enter_handling_signals, enter_machine_network};
