//! The ways from client to server.

use std::fmt;
use std::net::Ipv4Addr;

use quiver_netns::{Error, Namespace, World, bridge, veth};

/// Layer-3 MTU of every link, so that all paths carry the same segments.
const MTU: u16 = 1500;
/// Where the server listens on the paths of one subnet.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Path {
    /// A veth pair from one namespace to the other
    Veth,
    /// Two veth pairs and a Linux bridge in a third namespace
    LinuxBridge,
}

/// A path that stands: packets can go from `client` to `server`.
pub struct Site {
    /// Where the measuring programs run as clients.
    pub client: Namespace,
    /// Where they run as servers.
    pub server: Namespace,
    /// How the client reaches the server.
    pub server_address: Ipv4Addr,
    /// What joins the two, if it is a namespace of its own.
    _between: Option<Namespace>,
}

impl Path {
    /// Every path, in the order of the table.
    pub const ALL: &[Self] = &[Self::Veth, Self::LinuxBridge];

    /// Builds the path.
    pub fn build(self, world: &World) -> Result<Site, Error> {
        let client = Namespace::add(world, "client")?;
        let server = Namespace::add(world, "server")?;
        let between = match self {
            Self::Veth => {
                veth((&client, "eth0"), (&server, "eth0"), MTU)?;
                None
            }
            Self::LinuxBridge => {
                let switch = Namespace::add(world, "switch")?;
                veth((&client, "eth0"), (&switch, "port1"), MTU)?;
                veth((&server, "eth0"), (&switch, "port2"), MTU)?;
                bridge(&switch, "br0", &["port1", "port2"], MTU)?;
                Some(switch)
            }
        };
        client.ip("address add 10.0.0.1/24 dev eth0")?;
        server.ip(&format!("address add {SERVER}/24 dev eth0"))?;
        Ok(Site { client, server, server_address: SERVER, _between: between })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Veth => "direct veth pair",
            Self::LinuxBridge => "Linux bridge",
        })
    }
}
