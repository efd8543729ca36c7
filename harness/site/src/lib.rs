//! Sites: a client and a server in network namespaces of their own, joined by a veth pair, a Linux bridge or quiverd,
//! and the real programs that talk across. The demo measures them, the scenarios test them.

mod addresses;
mod daemon;
mod error;
mod iperf3;
mod join;
mod ping;
mod quiver;
mod site;

pub use daemon::Daemon;
pub use error::Error;
pub use iperf3::{Direction, Protocol, Transfer, iperf3, iperf3_between};
pub use join::{Driver, Function, Join};
pub use ping::Ping;
pub use site::{Site, ping};
