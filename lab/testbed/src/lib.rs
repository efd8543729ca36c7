//! Where the lab measures: a [`Testbed`] has hosts, says which of them generates and which are measured, on which cores,
//! and which ports are joined. [`read()`] reads one from a file, [`Testbed::here`] is this machine. A [`Shell`] runs
//! [commands](Command) on a host, here or by ssh.
#![forbid(unsafe_code)]

mod command;
mod destination;
mod reach;
mod read;
mod running;
mod shell;
mod stay;
mod testbed;

pub use command::{Command, Finished, ShellError};
pub use quiver_control::config::Position;
pub use reach::Reach;
pub use read::{TestbedError, read};
pub use running::Running;
pub use shell::Shell;
pub use stay::Stay;
pub use testbed::{Core, Host, HostId, Link, Place, Port, PortKind, PortRef, Testbed, Topology};

/// The page of this room, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
