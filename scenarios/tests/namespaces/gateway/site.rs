//! Gateways between hosts and an outside: a Linux router, and behind its narrow link the server.
//!
//! The gateway of number n has the networks 10.n.1.0/24 and fd00:n:1::/64 inside, 10.n.2.0/24 and fd00:n:2::/64 towards the router.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_netns::{Namespace, World, run, veth};
use quiver_site::Daemon;
use serde_json::Value;

use crate::memif;

/// MTU of the router's link to the server. The server sends no longer packets, and announces that it takes longer ones.
pub const NARROW: u16 = 1400;
/// MTU of the gateway's link to its host, which sends and takes longer packets.
pub const INSIDE: u16 = 1300;
/// Addresses of the server.
pub const SERVER: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 3, 2)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 3, 0, 0, 0, 0, 2))];
/// Longest time until packets pass a new gateway.
const REACHABLE_WITHIN: Duration = Duration::from_secs(20);

/// Address of an IPv4 network and an IPv6 network that gateways number alike.
fn both(gateway: u8, network: u8, host: u8) -> [IpAddr; 2] {
    let (n, net, host6) = (u16::from(gateway), u16::from(network), u16::from(host));
    [Ipv4Addr::new(10, gateway, network, host).into(), Ipv6Addr::new(0xfd00, n, net, 0, 0, 0, 0, host6).into()]
}

/// Adds an address of each family to a link, at once usable.
fn address(namespace: &Namespace, link: &str, addresses: [IpAddr; 2]) -> Result<(), Failed> {
    namespace.ip(&format!("address add {}/24 dev {link}", addresses[0]))?;
    namespace.ip(&format!("address add {}/64 dev {link} nodad", addresses[1]))?;
    namespace.ip(&format!("link set {link} up"))?;
    Ok(())
}

/// Adds a route of each family.
fn route(namespace: &Namespace, prefixes: [&str; 2], via: [IpAddr; 2], options: &str) -> Result<(), Failed> {
    for (prefix, via) in prefixes.into_iter().zip(via) {
        namespace.ip(&format!("route add {prefix} via {via} {options}"))?;
    }
    Ok(())
}

/// Everything behind gateways.
pub struct Outside {
    /// A router, to whose links gateways are attached.
    pub router: Namespace,
    /// The host where servers run.
    pub server: Namespace,
}

impl Outside {
    /// Builds it, without a gateway.
    pub fn build(world: &World) -> Result<Outside, Failed> {
        let (router, server) = (Namespace::add(world, "router")?, Namespace::add(world, "server")?);
        veth((&router, "server"), (&server, "eth0"), 1500)?;
        router.ip(&format!("link set server mtu {NARROW}"))?;
        let gateway = both(0, 3, 1);
        address(&router, "server", gateway)?;
        address(&server, "eth0", SERVER)?;
        route(&server, ["10.0.0.0/8", "fd00::/16"], gateway, &format!("mtu {NARROW} advmss 1440"))?;
        let set = |name: &str, value: &str| fs::write(format!("/proc/sys/net/{name}"), value);
        for namespace in [&router, &server] {
            namespace.within(|| {
                set("ipv4/ip_forward", "1")?;
                set("ipv6/conf/all/forwarding", "1")?;
                // Hosts that ask often are answered each time.
                set("ipv4/icmp_ratelimit", "0")?;
                set("ipv6/icmp/ratelimit", "0")
            })??;
        }
        Ok(Outside { router, server })
    }
}

/// Way of packets from the hosts inside to the gateway's quiverd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Its tap.
    Tap,
    /// The tap of another quiverd, which is connected to the gateway's by memif.
    Memif,
}

/// A quiverd that routes between inside and outside. Its interfaces are `lan` and `wan`.
pub struct Gateway {
    /// Stopped first, for they hold interfaces in the namespaces.
    daemon: Daemon,
    _front: Option<Daemon>,
    /// A host inside, with a second IPv4 address.
    pub host: Namespace,
    _own: Vec<Namespace>,
    number: u8,
}

impl Gateway {
    /// Starts one without any policy, and waits until packets pass it in both families.
    pub fn build(world: &World, outside: &Outside, link: Link, number: u8) -> Result<Gateway, Failed> {
        let host = Namespace::add(world, &format!("host{number}"))?;
        let mut own = vec![Namespace::add(world, &format!("gateway{number}"))?];
        // Sessions of lists are counted by one worker; others are handed over between workers.
        let workers = if link == Link::Tap { "2" } else { "1" };
        let daemon = Daemon::start_at(&own[0], &format!("/run/quiver/gateway{number}.sock"), &["--workers", workers])?;
        let socket = format!("/run/memif{number}.sock");
        let (lan, front) = match link {
            Link::Tap => {
                (format!("- {{name: lan, host-namespace: {}, host-interface: eth0}}\n", host.name()), String::new())
            }
            Link::Memif => (
                String::new(),
                format!(
                    "memif-sockets:\n- {{id: 1, filename: {socket}}}\n\
                     memifs:\n- {{name: lan, id: 7, socket: 1, role: master}}\n"
                ),
            ),
        };
        let [inside, towards] = [1, 2].map(|network| both(number, network, 1));
        let router = both(number, 2, 2);
        let text = format!(
            "taps:\n- {{name: wan, host-namespace: router, host-interface: wan{number}}}\n{lan}{front}\
             interfaces:\n- {{name: lan, state: up, mtu: {INSIDE}}}\n- {{name: wan, state: up}}\n\
             interface-addresses:\n- {{interface: lan, address: {}/24}}\n- {{interface: wan, address: {}/24}}\n\
             interface-ip6-addresses:\n- {{interface: lan, address: \"{}/64\"}}\n- {{interface: wan, address: \"{}/64\"}}\n\
             routes:\n- {{prefix: 0.0.0.0/0, paths: [{{via: {}, interface: wan}}]}}\n\
             ip6-routes:\n- {{prefix: \"::/0\", paths: [{{via: \"{}\", interface: wan}}]}}\n",
            inside[0], towards[0], inside[1], towards[1], router[0], router[1]
        );
        apply(&daemon, number, &text)?;
        let front = match link {
            Link::Tap => None,
            Link::Memif => {
                own.push(Namespace::add(world, &format!("front{number}"))?);
                let front = Daemon::start_at(&own[1], &format!("/run/quiver/front{number}.sock"), &[])?;
                memif::attach(&front, &host, &socket, "slave")?;
                host.ip("link set eth0 mtu 1500")?;
                Some(front)
            }
        };
        address(&host, "eth0", both(number, 1, 2))?;
        host.ip(&format!("address add {}/24 dev eth0", both(number, 1, 3)[0]))?;
        route(&host, ["default", "default"], inside, "")?;
        address(&outside.router, &format!("wan{number}"), router)?;
        let prefixes = [format!("10.{number}.1.0/24"), format!("fd00:{number}:1::/64")];
        route(&outside.router, prefixes.each_ref().map(String::as_str), towards, "")?;
        let gateway = Gateway { daemon, _front: front, host, _own: own, number };
        SERVER.into_iter().try_for_each(|server| gateway.wait_for(server))?;
        Ok(gateway)
    }

    /// Waits until the host reaches a server.
    fn wait_for(&self, server: IpAddr) -> Result<(), Failed> {
        let begun = Instant::now();
        loop {
            let mut ping = self.host.command("ping");
            match run(ping.args(["-n", "-c", "1", "-W", "1", &server.to_string()])) {
                Ok(_) => return Ok(()),
                Err(error) if begun.elapsed() > REACHABLE_WITHIN => {
                    return Err(format!("{error}; quiverd said: {}", self.daemon.output()).into());
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Adds objects to the configuration; those of the same name are replaced.
    pub fn apply(&self, text: &str) -> Result<(), Failed> {
        apply(&self.daemon, self.number, text)
    }

    /// The answer to a `show` command, as JSON.
    pub fn show(&self, what: &str) -> Result<Value, Failed> {
        Ok(serde_json::from_str(&self.daemon.command(&format!("--json show {what}"))?)?)
    }

    /// Packets that a node has dropped for a reason.
    pub fn dropped(&self, node: &str, reason: &str) -> Result<u64, Failed> {
        let rows = self.show("errors")?;
        let rows = rows.as_array().ok_or("rows")?;
        let row = rows.iter().find(|row| row["node"] == node && row["reason"] == reason);
        Ok(row.and_then(|row| row["count"].as_u64()).unwrap_or_default())
    }

    /// Addresses of the gateway inside.
    pub fn inside(&self) -> [IpAddr; 2] {
        both(self.number, 1, 1)
    }

    /// First addresses of the host.
    pub fn first(&self) -> [IpAddr; 2] {
        both(self.number, 1, 2)
    }

    /// Second address of the host.
    pub fn second(&self) -> IpAddr {
        both(self.number, 1, 3)[0]
    }

    /// Addresses of the router towards the gateway.
    pub fn router(&self) -> [IpAddr; 2] {
        both(self.number, 2, 2)
    }

    /// Outside address of hosts behind NAT.
    pub fn pool(&self) -> IpAddr {
        both(self.number, 2, 50)[0]
    }
}

/// Has a daemon add objects to its configuration.
fn apply(daemon: &Daemon, number: u8, text: &str) -> Result<(), Failed> {
    let file = format!("/run/gateway{number}.yaml");
    fs::write(&file, text)?;
    daemon.command(&format!("apply --merge {file}"))?;
    Ok(())
}
