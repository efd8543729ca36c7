//! Families of sessions, which CSIT's generator keeps state for (its ASTF profiles).
//!
//! Streams keep no sessions. The outside view of UDP sessions is possible all the same: each client's packets with a
//! port of its own for every session, and the servers' replies by another stream, which sends them without being asked.
//! TCP sessions are not possible.

use std::net::Ipv4Addr;

use super::families::{NAT_PORT, each, hosts};
use super::family::{Ends, Family, NONE};
use crate::stream::PgStream;
use crate::values::Values;

/// Clients at most, and how many of them have the first of the two pairs of networks.
const HOSTS: u32 = 1 << 18;
const FEW: u32 = 1 << 16;
/// Networks of clients and servers: of few, of many.
const NETWORKS: [[Ipv4Addr; 2]; 2] = [
    [Ipv4Addr::new(192, 168, 0, 0), Ipv4Addr::new(20, 0, 0, 0)],
    [Ipv4Addr::new(172, 16, 0, 0), Ipv4Addr::new(20, 16, 0, 0)],
];
/// Sessions of a client.
const SESSIONS: u32 = 63;
/// Where all servers listen.
const PORT: u16 = 8080;
/// Packets of a session each way where data is sent.
const DATA: u16 = 5;

/// Supported families.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "ethip4udp-#h",
        what: "# clients with a server and 63 sessions each, of a packet each way; nothing waits for its answer",
        most: [HOSTS, NONE],
        has_reverse: true,
        fields: |stream, ends, [count, _]| sessions(stream, ends, count),
    },
    Family {
        name: "ethip4udp-#h-pps",
        what: "the same with five packets each way, one after the other",
        most: [HOSTS, NONE],
        has_reverse: true,
        fields: |stream, ends, [count, _]| {
            sessions(stream, ends, count);
            stream.repeat = DATA;
        },
    },
];

/// A family of CSIT's that streams cannot stand in for.
pub struct Refused {
    /// The names: `#` stands for a number.
    pub name: &'static str,
    /// The missing mechanism.
    pub lacking: &'static str,
}

/// Unsupported families.
pub const REFUSED: &[Refused] = &[
    Refused {
        name: "ethip4tcp-#h",
        lacking: "a handshake of TCP needs ends that answer each other, and streams keep no state of connections",
    },
    Refused {
        name: "ethip4tcp-#h-pps",
        lacking: "data of TCP needs a handshake, acknowledgements and retransmissions, and streams keep no state of \
                  connections",
    },
];

/// Sends from `count` clients to their servers, or in reverse.
fn sessions(stream: &mut PgStream, [from, _]: [Ends; 2], count: u32) {
    let [clients, servers] = NETWORKS[usize::from(count > FEW)].map(|network| hosts(network, 0, count));
    let ports = [each(NAT_PORT, SESSIONS, count), Values::One(PORT)];
    let ([source, destination], [source_port, destination_port]) = match (from.number, ports) {
        (0, ports) => ([clients, servers], ports),
        (_, [client, server]) => ([servers, clients], [server, client]),
    };
    (stream.source, stream.destination) = (source, destination);
    (stream.source_port, stream.destination_port) = (source_port, destination_port);
}

#[cfg(test)]
mod tests {
    use super::super::apply;
    use super::*;

    fn stream(name: &str, is_reverse: bool) -> PgStream {
        let mut stream = PgStream::unnamed();
        apply(&mut stream, name, is_reverse).expect(name);
        stream
    }
    fn fields(stream: &PgStream) -> [String; 4] {
        let PgStream { source, destination, source_port, destination_port, .. } = stream;
        [source.to_string(), destination.to_string(), source_port.to_string(), destination_port.to_string()]
    }

    #[test]
    fn sessions_of_udp_are_as_many_as_csit_has() {
        let few = stream("ethip4udp-1024h", false);
        assert_eq!(fields(&few), ["192.168.0.0-192.168.3.255", "20.0.0.0-20.0.3.255", "1024-1086", "8080"]);
        // CSIT limits this profile to 64,512 sessions: so many packets differ, and then all come again.
        let key = |packet| [few.source.sequence(0).at(packet), few.source_port.sequence(0).at(packet)];
        let seen: std::collections::BTreeSet<_> = (0..64_512).map(key).collect();
        assert_eq!((seen.len(), key(64_512)), (64_512, key(0)));
        assert_eq!(
            fields(&stream("ethip4udp-1024h", true)),
            ["20.0.0.0-20.0.3.255", "192.168.0.0-192.168.3.255", "8080", "1024-1086"]
        );
        assert_eq!(
            fields(&stream("ethip4udp-65536h", false))[..2],
            ["192.168.0.0-192.168.255.255", "20.0.0.0-20.0.255.255"]
        );
        let many = stream("ethip4udp-262144h-pps", false);
        assert_eq!(fields(&many)[..2], ["172.16.0.0-172.19.255.255", "20.16.0.0-20.19.255.255"]);
        assert_eq!((few.repeat, many.repeat), (1, 5));
    }
}
