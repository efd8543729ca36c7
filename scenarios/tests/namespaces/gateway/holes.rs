//! UDP hole punching: two hosts behind NAT learn each other's outside ends from a server that both talk to, and then talk to each
//! other (RFC 5128, 3.3).

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_netns::{Namespace, World};

use super::policy::{Mapping, Policy};
use super::site::{Gateway, Link, Outside, SERVER};

/// Port of the server.
const RENDEZVOUS: u16 = 3478;
/// Modes, and the port of all hosts inside: behind one address only one of them can keep it.
const MODES: [(Mapping, u16); 2] = [(Mapping::Independent, 4000), (Mapping::Dependent, 4001)];
/// Longest time for what must come.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for what may not come, or be lost.
const SILENCE: Duration = Duration::from_millis(50);
/// Time in which no hole opens, where none can.
const CLOSED: Duration = Duration::from_millis(500);

fn open(namespace: &Namespace, address: IpAddr, port: u16) -> Result<UdpSocket, Failed> {
    let socket = namespace.within(|| UdpSocket::bind((address, port)))??;
    socket.set_read_timeout(Some(SILENCE))?;
    Ok(socket)
}

/// A datagram and its sender, if one comes.
fn receive(socket: &UdpSocket) -> io::Result<Option<(String, SocketAddr)>> {
    let mut bytes = [0; 64];
    match socket.recv_from(&mut bytes) {
        Ok((length, from)) => Ok(Some((String::from_utf8_lossy(&bytes[..length]).into_owned(), from))),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Has the server tell a host its outside end. The host asks again, for the first datagrams may await neighbors.
fn register(host: &UdpSocket, server: &UdpSocket) -> Result<SocketAddr, Failed> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        host.send_to(b"who am I?", server.local_addr()?)?;
        if let Some((_, end)) = receive(server)? {
            server.send_to(end.to_string().as_bytes(), end)?;
        }
        if let Some((end, _)) = receive(host)? {
            return Ok(end.parse()?);
        }
    }
    Err(format!("no answer of the server came to {}", host.local_addr()?).into())
}

/// Whether both hosts get datagrams from each other's outside end in a time.
fn punch(hosts: [&UdpSocket; 2], ends: [SocketAddr; 2], within: Duration) -> io::Result<bool> {
    let begun = Instant::now();
    let mut is_heard = [false; 2];
    while is_heard != [true, true] && begun.elapsed() < within {
        hosts[0].send_to(b"hole", ends[1])?;
        hosts[1].send_to(b"hole", ends[0])?;
        for (n, host) in hosts.iter().enumerate() {
            is_heard[n] |= receive(host)?.is_some_and(|(_, from)| from == ends[1 - n]);
        }
    }
    Ok(is_heard == [true, true])
}

/// Hosts behind two gateways, and behind one.
pub fn punched(world: &World) -> Result<(), Failed> {
    let outside = Outside::build(world)?;
    let gateways = [1, 2].map(|number| Gateway::build(world, &outside, Link::Tap, number));
    let [one, other] = gateways;
    let (one, other) = (one?, other?);
    let server = open(&outside.server, SERVER[0], RENDEZVOUS)?;
    for (mapping, port) in MODES {
        Policy::Nat(mapping).apply(&one)?;
        // Here a hole is needed: a gateway in endpoint-independent mode lets in all hosts by default.
        Policy::Nat(mapping).apply_filtering(&other, "address-and-port-dependent")?;
        let mut hosts = vec![];
        let behind =
            [&one, &other].into_iter().flat_map(|gateway| [(gateway, gateway.second()), (gateway, gateway.first()[0])]);
        for (gateway, address) in behind {
            let host = open(&gateway.host, address, port)?;
            let end = register(&host, &server)?;
            if end.ip() != gateway.pool() {
                return Err(format!("{address} has the outside end {end}").into());
            }
            hosts.push((host, end));
        }
        for [a, b] in [[1, 3], [0, 1]] {
            let ((host, end), (peer, peers)) = (&hosts[a], &hosts[b]);
            let can_open = mapping == Mapping::Independent;
            let is_open = punch([host, peer], [*end, *peers], if can_open { PATIENCE } else { CLOSED })?;
            if is_open != can_open {
                return Err(format!("{mapping:?}: {end} and {peers} reach each other: {is_open}").into());
            }
        }
    }
    Ok(())
}
