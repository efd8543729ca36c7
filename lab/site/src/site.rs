//! Building a site and taking it down.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use quiver_netns::{Namespace, World, bridge, veth};

use crate::{Daemon, Error, Function, Join, ping, quiver};

/// How long a site may take until the first packet comes back.
const REACHABLE_WITHIN: Duration = Duration::from_secs(10);

/// A site that stands; everything of it goes when this value is dropped.
///
/// Only one site can stand at a time in a world, for its namespaces have fixed names.
pub struct Site {
    join: Join,
    /// Stopped first, for it holds interfaces in the namespaces.
    daemon: Option<Daemon>,
    client: Namespace,
    server: Namespace,
    /// What joins the two, if it has a namespace of its own.
    _between: Option<Namespace>,
    addresses: Addresses,
}

/// The addresses of a site's two ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) client: Ipv4Addr,
    pub(crate) server: Ipv4Addr,
    /// On a routed site, the router's addresses towards client and server.
    pub(crate) gateways: Option<(Ipv4Addr, Ipv4Addr)>,
}

impl Addresses {
    fn of(join: Join) -> Self {
        match join {
            Join::Quiver { function: Function::Router, .. } => Self {
                client: Ipv4Addr::new(10, 0, 1, 2),
                server: Ipv4Addr::new(10, 0, 2, 2),
                gateways: Some((Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 2, 1))),
            },
            _ => Self { client: Ipv4Addr::new(10, 0, 0, 1), server: Ipv4Addr::new(10, 0, 0, 2), gateways: None },
        }
    }
}

impl Site {
    /// Builds a site whose links have this layer-3 MTU, and waits until packets cross it.
    pub fn build(world: &World, join: Join, mtu: u16) -> Result<Self, Error> {
        let addresses = Addresses::of(join);
        let client = Namespace::add(world, "client")?;
        let server = Namespace::add(world, "server")?;
        let (between, daemon) = match join {
            Join::Veth => {
                veth((&client, "eth0"), (&server, "eth0"), mtu)?;
                (None, None)
            }
            Join::LinuxBridge => {
                let switch = Namespace::add(world, "switch")?;
                veth((&client, "eth0"), (&switch, "port1"), mtu)?;
                veth((&server, "eth0"), (&switch, "port2"), mtu)?;
                bridge(&switch, "br0", &["port1", "port2"], mtu)?;
                (Some(switch), None)
            }
            Join::Quiver { function, driver, is_fused } => {
                let quiver = Namespace::add(world, "quiver")?;
                let daemon = Daemon::start(&quiver)?;
                quiver::attach(&daemon, &quiver, driver, [&client, &server], mtu)?;
                quiver::configure(&daemon, function, is_fused, driver, &addresses)?;
                (Some(quiver), Some(daemon))
            }
        };
        let gateways = addresses.gateways;
        address(&client, addresses.client, gateways.map(|(client_side, _)| client_side))?;
        address(&server, addresses.server, gateways.map(|(_, server_side)| server_side))?;
        let site = Self { join, daemon, client, server, _between: between, addresses };
        site.wait_until_reachable()?;
        Ok(site)
    }

    /// What joins the two.
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

    /// How the client reaches the server.
    pub fn server_address(&self) -> Ipv4Addr {
        self.addresses.server
    }

    /// The quiverd between the two, if it is one that joins them.
    pub fn daemon(&self) -> Option<&Daemon> {
        self.daemon.as_ref()
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
