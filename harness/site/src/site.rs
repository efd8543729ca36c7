//! Building a site and taking it down.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use quiver_netns::{Namespace, World, bridge, veth};

use crate::addresses::Addresses;
use crate::ping::{Ping, echo};
use crate::{Daemon, Error, Join, quiver};

/// Longest time until the first packet comes back.
const REACHABLE_WITHIN: Duration = Duration::from_secs(10);

/// A site that stands; everything of it goes when this value is dropped.
///
/// Only one site can stand at a time in a world, for its namespaces have fixed names.
pub struct Site {
    /// Stopped first, for they hold interfaces in the namespaces.
    daemon: Option<Daemon>,
    /// The server's quiverd, where each end has one.
    other: Option<Daemon>,
    client: Namespace,
    server: Namespace,
    /// Namespaces of the connection, where it has some of its own.
    between: Vec<Namespace>,
    addresses: Addresses,
    join: Join,
    mtu: u16,
    workers: usize,
}

impl Site {
    /// Builds a site whose links have this layer-3 MTU, and waits until packets cross it.
    pub fn build(world: &World, join: Join, mtu: u16) -> Result<Self, Error> {
        Self::build_with_workers(world, join, mtu, 0)
    }

    /// The same, with so many workers in each quiverd; 0 is its default.
    pub fn build_with_workers(world: &World, join: Join, mtu: u16, workers: usize) -> Result<Self, Error> {
        let addresses = Addresses::of(join);
        let client = Namespace::add(world, "client")?;
        let server = Namespace::add(world, "server")?;
        let (between, daemon, other) = match join {
            Join::Veth => {
                veth((&client, "eth0"), (&server, "eth0"), mtu)?;
                (vec![], None, None)
            }
            Join::LinuxBridge => {
                let switch = Namespace::add(world, "switch")?;
                veth((&client, "eth0"), (&switch, "port1"), mtu)?;
                veth((&server, "eth0"), (&switch, "port2"), mtu)?;
                bridge(&switch, "br0", &["port1", "port2"], mtu)?;
                (vec![switch], None, None)
            }
            Join::Quiver { function, driver } => {
                let quiver = Namespace::add(world, "quiver")?;
                let daemon = Daemon::start_at(&quiver, Daemon::SOCKET, &["--workers", &workers.to_string()])?;
                quiver::attach(&daemon, &quiver, driver, [&client, &server], mtu)?;
                quiver::configure(&daemon, function, driver, &addresses)?;
                (vec![quiver], Some(daemon), None)
            }
            Join::Memif { master_at_client, is_zero_copy } => {
                let namespaces = [Namespace::add(world, "quiver")?, Namespace::add(world, "quiver2")?];
                let start = |number: usize, end| {
                    let is_master = (number == 0) == master_at_client;
                    quiver::end(number, &namespaces[number], end, is_master, is_zero_copy, mtu, workers)
                };
                let (daemon, other) = (start(0, &client)?, start(1, &server)?);
                (namespaces.into(), Some(daemon), Some(other))
            }
        };
        let gateways = addresses.gateways;
        address(&client, addresses.client, gateways.map(|(client_side, _)| client_side))?;
        address(&server, addresses.server, gateways.map(|(_, server_side)| server_side))?;
        let site = Self { daemon, other, client, server, between, addresses, join, mtu, workers };
        site.wait_until_reachable()?;
        Ok(site)
    }

    /// Connection of client and server.
    pub fn join(&self) -> Join {
        self.join
    }

    /// Where programs run as clients.
    pub fn client(&self) -> &Namespace {
        &self.client
    }

    /// Where programs run as servers.
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// The server's address as the client reaches it.
    pub fn server_address(&self) -> Ipv4Addr {
        self.addresses.server
    }

    /// The quiverd between the two, if it is one that joins them.
    pub fn daemon(&self) -> Option<&Daemon> {
        self.daemon.as_ref()
    }

    /// The server's quiverd, where each end has one.
    pub fn other_daemon(&self) -> Option<&Daemon> {
        self.other.as_ref()
    }

    /// Kills a quiverd of two, the client's or the server's (1), starts another in its place, and waits until packets
    /// cross the site again.
    pub fn kill_and_restart(&mut self, number: usize) -> Result<(), Error> {
        let Join::Memif { master_at_client, is_zero_copy } = self.join else { return Ok(()) };
        let is_master = (number == 0) == master_at_client;
        let (place, end) = if number == 0 { (&mut self.daemon, &self.client) } else { (&mut self.other, &self.server) };
        // Killed first: its tap has the name that the next one's gets.
        drop(place.take());
        *place =
            Some(quiver::end(number, &self.between[number], end, is_master, is_zero_copy, self.mtu, self.workers)?);
        address(end, if number == 0 { self.addresses.client } else { self.addresses.server }, None)?;
        // The new tap has another MAC address; a real host would announce it.
        let there = if number == 0 { &self.server } else { &self.client };
        there.ip("neighbor flush dev eth0")?;
        self.wait_until_reachable()
    }

    /// The first packets may meet interfaces that are not yet up and neighbours that are not yet known.
    fn wait_until_reachable(&self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match ping(self, 56, 1) {
                Ok(_) => return Ok(()),
                Err(error) if start.elapsed() > REACHABLE_WITHIN => {
                    let daemon = self.daemon.as_ref();
                    return Err(Error::Unreachable {
                        join: self.join,
                        address: self.server_address(),
                        source: Box::new(error),
                        daemon: daemon.map_or(String::new(), |daemon| format!("; quiverd said: {}", daemon.output())),
                    });
                }
                // A lost packet has taken its second; an unreachable network answers at once.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// Gives an end its address, and its route to everything else.
fn address(end: &Namespace, address: Ipv4Addr, gateway: Option<Ipv4Addr>) -> Result<(), Error> {
    end.ip(&format!("address add {address}/24 dev eth0"))?;
    end.ip("link set dev eth0 up")?;
    if let Some(gateway) = gateway {
        end.ip(&format!("route add default via {gateway}"))?;
    }
    Ok(())
}

/// Sends `count` echo requests with `payload` bytes of data, never fragmented, from client to server.
///
/// No reply at all is an error.
pub fn ping(site: &Site, payload: u16, count: u32) -> Result<Ping, Error> {
    echo(site.client(), site.server_address(), payload, count)
}
