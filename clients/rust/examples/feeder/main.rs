//! Learns routes from a neighbour that speaks BGP, and gives them to the daemon: whatever the neighbour changes or withdraws, and
//! all of it when it goes.
//!
//! ```sh
//! cargo run -p quiver-client --example feeder 127.0.0.2:1790 /run/vpp/api.sock
//! ```
//!
//! The neighbour connects; it belongs to another system than ours, 65002. BIRD does so by `neighbor 127.0.0.2 port 1790 as 65002;
//! multihop;`. Next hops are taken as they are said, and looked up in the daemon's own table.

mod bgp;

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use bgp::{Change, Neighbour, Network};
use quiver_client::routes::{IpRouteAddDel, Via, set};
use quiver_client::{Client, ClientError};

const SYSTEM: u16 = 65002;
const NAME: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const DEFAULT_TABLE: u32 = 0;

/// Why nothing is learned any more.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// Of the neighbour.
    #[error("the neighbour: {0}")]
    Neighbour(#[from] io::Error),
    /// Of the daemon.
    #[error("the daemon: {0}")]
    Daemon(#[from] ClientError),
}

/// Learns from one neighbour until it goes, and then forgets what it said. `learned` counts what the daemon has done.
pub fn run(listener: &TcpListener, socket: &Path, learned: &AtomicU64) -> Result<(), FeedError> {
    let mut daemon = Client::connect(socket, "feeder")?;
    let (stream, _) = listener.accept()?;
    let mut neighbour = Neighbour::greet(stream, SYSTEM, NAME)?;
    let mut held: HashSet<Network> = HashSet::new();
    while let Some(mut changes) = neighbour.hear()? {
        // What we do not have cannot be taken away.
        changes.retain(|(network, hop)| match hop {
            Some(_) => {
                held.insert(*network);
                true
            }
            None => held.remove(network),
        });
        let count = changes.len() as u64;
        daemon.requests(changes.into_iter().map(request))?;
        learned.fetch_add(count, Ordering::Release);
    }
    let count = held.len() as u64;
    daemon.requests(held.into_iter().map(|network| request((network, None))))?;
    learned.fetch_add(count, Ordering::Release);
    Ok(())
}

fn request((network, hop): Change) -> IpRouteAddDel {
    set(network, DEFAULT_TABLE, hop.map(|address| Via { address, interface: None }))
}

#[allow(dead_code, reason = "a test runs the program as a part of itself")]
fn main() -> Result<(), FeedError> {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().unwrap_or_else(|| "127.0.0.2:1790".into());
    let socket = arguments.next().unwrap_or_else(|| "/run/vpp/api.sock".into());
    run(&TcpListener::bind(listen)?, socket.as_ref(), &AtomicU64::new(0))
}
