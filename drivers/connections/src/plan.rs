//! Which connection has which addresses and ports, and the way back: a record's number follows from the tuple.

use std::net::IpAddr;

/// Connections at most: their numbers have 24 bits.
pub const CONNECTIONS_MAX: u32 = 1 << 24;

/// Clients and servers: client `i` connects to server `i`, by each of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Address of the first client.
    pub clients: IpAddr,
    /// Address of the first server.
    pub servers: IpAddr,
    /// Number of clients, and of servers.
    pub hosts: u32,
    /// Ports of a client, that is connections at a time.
    pub ports: u32,
    /// A client's first port.
    pub first_port: u16,
    /// The servers' port.
    pub server_port: u16,
}

/// Addresses and ports of a packet. IPv4 addresses are numbers below 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tuple {
    /// Source address.
    pub source: u128,
    /// Destination address.
    pub destination: u128,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl Tuple {
    /// That of the answers.
    #[must_use]
    pub fn turned(self) -> Tuple {
        Tuple {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

/// A plan, ready to be used for each packet.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    clients: u128,
    servers: u128,
    hosts: u32,
    ports: u32,
    first_port: u16,
    server_port: u16,
    /// 2^32 by `ports`, rounded down.
    reciprocal: u64,
}

/// An address as a number.
pub fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

impl Places {
    /// Those of a plan with a client and a port at least.
    pub fn new(plan: &Plan) -> Places {
        Places {
            clients: number(plan.clients),
            servers: number(plan.servers),
            hosts: plan.hosts,
            ports: plan.ports,
            first_port: plan.first_port,
            server_port: plan.server_port,
            reciprocal: (1 << 32) / u64::from(plan.ports.max(1)),
        }
    }
    /// Number of connections.
    pub fn count(&self) -> u32 {
        self.hosts * self.ports
    }
    /// The client's number and port of a connection.
    #[inline(always)]
    fn split(&self, id: u32) -> (u32, u32) {
        // Rounded down, so one too low at most: the error is below `id / 2^32`.
        let host = ((u64::from(id) * self.reciprocal) >> 32) as u32;
        let port = id - host * self.ports;
        if port >= self.ports { (host + 1, port - self.ports) } else { (host, port) }
    }
    /// The connection of an attempt: all clients open one, and then each its next.
    pub fn in_order(&self, attempt: u32) -> u32 {
        let (port, host) = (attempt / self.hosts.max(1), attempt % self.hosts.max(1));
        host * self.ports + port
    }
    /// The tuple of the client's packets.
    #[inline(always)]
    pub fn tuple(&self, id: u32) -> Tuple {
        let (host, port) = self.split(id);
        Tuple {
            source: self.clients + u128::from(host),
            destination: self.servers + u128::from(host),
            source_port: self.first_port.wrapping_add(port as u16),
            destination_port: self.server_port,
        }
    }
    /// The connection whose client sends packets with this tuple.
    #[inline(always)]
    pub fn find(&self, tuple: &Tuple) -> Option<u32> {
        let host = tuple.source.wrapping_sub(self.clients);
        let port = u32::from(tuple.source_port.wrapping_sub(self.first_port));
        let is_ours = host < u128::from(self.hosts)
            && port < self.ports
            && tuple.destination.wrapping_sub(self.servers) == host
            && tuple.destination_port == self.server_port;
        is_ours.then(|| host as u32 * self.ports + port)
    }
    /// Number of the server to which a client's packet is addressed. The client may have any address.
    #[inline(always)]
    pub fn server(&self, tuple: &Tuple) -> Option<u32> {
        let host = tuple.destination.wrapping_sub(self.servers);
        (host < u128::from(self.hosts) && tuple.destination_port == self.server_port).then_some(host as u32)
    }
    /// The tuple of packets from a client of this address and port to the server of this number.
    pub fn translated(&self, client: u128, port: u16, host: u32) -> Tuple {
        Tuple {
            source: client,
            destination: self.servers + u128::from(host),
            source_port: port,
            destination_port: self.server_port,
        }
    }
}

/// Numbers from 0 to below a limit, each once, in an order without pattern.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    limit: u32,
    mask: u32,
    shift: u32,
    seed: u32,
}

impl Shuffle {
    /// The order of a seed. There is a number at least.
    pub fn new(limit: u32, seed: u32) -> Shuffle {
        let mask = limit.max(2).next_power_of_two() - 1;
        Shuffle { limit: limit.max(1), mask, shift: (mask.count_ones() / 2).max(1), seed }
    }
    /// The number in the place of this number.
    pub fn of(&self, number: u32) -> u32 {
        let mut x = number % self.limit;
        // Each step has an inverse modulo the power of two, so no two numbers share a place; those above the limit are moved again
        // until they are below it, as in format-preserving encryption.
        loop {
            x = x.wrapping_add(self.seed) & self.mask;
            for factor in [0x9e37_79b1_u32, 0x85eb_ca77, 0xc2b2_ae3d] {
                x = x.wrapping_mul(factor) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.limit {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn plan(hosts: u32, ports: u32) -> Plan {
        let (clients, servers) = ([192, 168, 0, 0].into(), [20, 0, 0, 0].into());
        Plan { clients, servers, hosts, ports, first_port: 1024, server_port: 8080 }
    }

    #[test]
    fn tuples_lead_back_to_their_connections() {
        for (hosts, ports) in [(1, 1), (1, 64_000), (1024, 63), (262_144, 63), (7, 3), (260, 64_511)] {
            let places = Places::new(&plan(hosts, ports));
            let step = (places.count() / 5000).max(1);
            for id in (0..places.count()).step_by(step as usize).chain([places.count() - 1]) {
                let tuple = places.tuple(id);
                assert_eq!(places.find(&tuple), Some(id), "{hosts} {ports} {id}");
                assert_eq!(places.find(&tuple.turned()), None);
                let other = Tuple { destination: tuple.destination.wrapping_add(1), ..tuple };
                assert_eq!(places.find(&other), None, "another server than its own");
            }
            let last = places.tuple(places.count() - 1);
            assert_eq!(places.find(&Tuple { source_port: last.source_port + 1, ..last }), None);
            assert_eq!(places.find(&Tuple { source: last.source + 1, ..last }), None);
        }
    }

    #[test]
    fn ip6_is_the_same_with_longer_addresses() {
        let (clients, servers): (IpAddr, IpAddr) = ("2001:1::".parse().unwrap(), "2001:2::fffe".parse().unwrap());
        let places = Places::new(&Plan { clients, servers, ..plan(3, 2) });
        let tuple = places.tuple(5);
        assert_eq!(std::net::Ipv6Addr::from(tuple.destination).to_string(), "2001:2::1:0");
        assert_eq!((places.find(&tuple), places.server(&tuple)), (Some(5), Some(2)));
        let outside = Tuple { source: 7, source_port: 9, ..tuple };
        assert_eq!((places.find(&outside), places.server(&outside)), (None, Some(2)));
        assert_eq!(places.translated(7, 9, 2), outside);
    }

    #[test]
    fn clients_take_turns_in_order() {
        let places = Places::new(&plan(4, 3));
        let order: Vec<_> = (0..12).map(|attempt| places.in_order(attempt)).collect();
        assert_eq!(order[..5], [0, 3, 6, 9, 1]);
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 12);
    }

    #[test]
    fn a_shuffle_has_each_number_once() {
        for limit in [1, 2, 3, 63, 64, 65, 64_512, 100_003] {
            for seed in [0, 7] {
                let shuffle = Shuffle::new(limit, seed);
                let seen: BTreeSet<_> = (0..limit).map(|number| shuffle.of(number)).collect();
                assert_eq!((seen.len() as u32, seen.last().copied()), (limit, Some(limit - 1)), "{limit} {seed}");
            }
        }
        let shuffle = Shuffle::new(64_512, 1);
        let neighbours = (1..1000).filter(|at| shuffle.of(at - 1).abs_diff(shuffle.of(*at)) < 64).count();
        assert!(neighbours < 20, "{neighbours} of 1000 neighbours stayed near each other");
    }
}
