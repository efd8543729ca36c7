//! Rules of translation, as workers read them.

use std::collections::HashMap;
use std::sync::Arc;

use quiver_session::second::Ip4End;

use crate::mappings::{Filtering, MappingMode};

quiver_control::choice! {
    /// Whether clients of a mapping are translated, too.
    pub enum TwiceNat {
        /// No client is translated.
        Off = "never",
        /// All clients are translated.
        On = "always",
        /// Only a client that is the mapping's own host is translated.
        Own = "self",
    } as "twice-nat", "never, always or self";
}

/// An address of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooled {
    /// Address.
    pub address: u32,
    /// Slot of the table whose hosts it serves; None: of all tables.
    pub table: Option<u32>,
    /// Mode of its sessions.
    pub mode: MappingMode,
    /// Hosts that may begin sessions from the outside, in endpoint-independent mode.
    pub filtering: Filtering,
}

impl Pooled {
    /// Whether a host's sessions have one outside end.
    pub fn is_independent(&self) -> bool {
        self.mode == MappingMode::EndpointIndependent
    }
}

/// A host on the inside to which a mapping leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Address and port; the port is 0 in a mapping of addresses.
    pub end: Ip4End,
    /// Slot of its table.
    pub table: u32,
    /// Share of new sessions, relative to those of the others.
    pub weight: u8,
}

/// A static mapping between an outside address, or port, and hosts on the inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Outside address and port; the port is 0 in a mapping of addresses.
    pub outside: Ip4End,
    /// IP protocol number; 0: all, of a mapping of addresses.
    pub protocol: u8,
    /// The hosts; sessions are spread over several.
    pub locals: Arc<[Local]>,
    /// Whether clients' addresses are translated, too.
    pub twice: TwiceNat,
    /// Whether it says nothing of sessions that the hosts begin.
    pub is_inbound_only: bool,
    /// Whether a client is sent to the same host again.
    pub is_sticky: bool,
}

/// Key by which a packet's end is looked for: address, port and protocol; both are 0 of mappings of addresses.
type Place = (u32, u16, u8);

fn places(end: Ip4End, protocol: u8) -> [Place; 2] {
    [(end.address, end.port, protocol), (end.address, 0, 0)]
}

impl Mapping {
    /// Whether it maps addresses with all their ports.
    pub fn is_of_address(&self) -> bool {
        self.protocol == 0
    }
    fn place(&self, end: Ip4End) -> Place {
        if self.is_of_address() { (end.address, 0, 0) } else { (end.address, end.port, self.protocol) }
    }
    /// The host of a new session of a client.
    pub fn local(&self, client: Ip4End) -> Option<&Local> {
        let [first, .., _] = &self.locals[..] else { return self.locals.first() };
        let total: u64 = self.locals.iter().map(|local| u64::from(local.weight)).sum();
        let port = if self.is_sticky { 0 } else { u64::from(client.port) };
        // Fibonacci hashing: neighboring ports and addresses are spread evenly.
        let mixed = (u64::from(client.address) << 16 | port).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut at = (mixed * total) >> 32;
        for local in self.locals.iter() {
            match at.checked_sub(local.weight.into()) {
                Some(rest) => at = rest,
                None => return Some(local),
            }
        }
        Some(first)
    }
    /// The outside end of a host's end.
    pub fn outside_of(&self, local: Ip4End) -> Ip4End {
        if self.is_of_address() { Ip4End { port: local.port, ..self.outside } } else { self.outside }
    }
    /// The host's end of an outside end.
    pub fn inside_of(&self, local: &Local, outside: Ip4End) -> Ip4End {
        if self.is_of_address() { Ip4End { port: outside.port, ..local.end } } else { local.end }
    }
}

/// All rules.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Whether packets to the inside that match no rule are forwarded as they are.
    pub forwards: bool,
    /// Sessions of a worker at most.
    pub sessions_max: u32,
    /// Ticks for which a freed port of a mapping rests.
    pub rest: u32,
    /// Bytes that a packet can have on every interface with NAT that there has been.
    pub mtu_least: u32,
    /// The pool.
    pub pool: Vec<Pooled>,
    /// Pool of twice NAT: source addresses that inside hosts see in place of clients' addresses.
    pub twice_pool: Vec<u32>,
    by_outside: HashMap<Place, Arc<Mapping>>,
    by_inside: HashMap<(Place, u32), Arc<Mapping>>,
    /// Outside addresses of the pool and of mappings, with how often each of them is one.
    outside: HashMap<u32, u32>,
}

impl Rules {
    /// No rules, a limit on the sessions of a worker, and ticks for which ports rest.
    pub fn of_limits(sessions_max: u32, rest: u32) -> Rules {
        Rules { sessions_max, rest, mtu_least: u32::MAX, ..Rules::default() }
    }
    /// Sets the pools. An address that is there twice, of which one is in endpoint-independent mode, is in that mode: sessions to different
    /// destinations must not share its ports.
    pub fn set_pools(&mut self, mut pool: Vec<Pooled>, twice_pool: Vec<u32>) {
        let independent: HashMap<_, _> =
            pool.iter().filter(|pooled| pooled.is_independent()).map(|pooled| (pooled.address, *pooled)).collect();
        for pooled in &mut pool {
            if let Some(Pooled { mode, filtering, .. }) = independent.get(&pooled.address).copied() {
                (pooled.mode, pooled.filtering) = (mode, filtering);
            }
        }
        let old = std::mem::replace(&mut self.pool, pool.clone());
        pool.iter().for_each(|new| self.count_outside(new.address));
        old.iter().for_each(|old| self.uncount_outside(old.address));
        self.twice_pool = twice_pool;
    }
    /// Adds a mapping.
    pub fn add(&mut self, mapping: Mapping) {
        let mapping = Arc::new(mapping);
        self.count_outside(mapping.outside.address);
        self.by_outside.insert(mapping.place(mapping.outside), mapping.clone());
        for local in mapping.locals.iter() {
            self.by_inside.insert((mapping.place(local.end), local.table), mapping.clone());
        }
    }
    /// Removes a mapping.
    pub fn remove(&mut self, mapping: &Mapping) {
        let is_it = |known: &Arc<Mapping>| known.outside == mapping.outside && known.protocol == mapping.protocol;
        self.uncount_outside(mapping.outside.address);
        self.by_outside.remove(&mapping.place(mapping.outside));
        for local in mapping.locals.iter() {
            let key = (mapping.place(local.end), local.table);
            // Another mapping may lead to the same host.
            if self.by_inside.get(&key).is_some_and(is_it) {
                self.by_inside.remove(&key);
            }
        }
    }
    fn count_outside(&mut self, address: u32) {
        *self.outside.entry(address).or_default() += 1;
    }
    fn uncount_outside(&mut self, address: u32) {
        let left = self.outside.get_mut(&address).map(|count| {
            *count -= 1;
            *count
        });
        if left == Some(0) {
            self.outside.remove(&address);
        }
    }
    /// Whether an address is one to which hosts on the inside are translated.
    pub fn is_outside(&self, address: u32) -> bool {
        self.outside.contains_key(&address)
    }
    /// The mapping of a packet to an outside end: of its port, or else of its address.
    pub fn to(&self, end: Ip4End, protocol: u8) -> Option<&Mapping> {
        places(end, protocol).iter().find_map(|place| self.by_outside.get(place)).map(|mapping| &**mapping)
    }
    /// The mapping of a packet from a host's end in the table of a slot.
    pub fn from(&self, end: Ip4End, protocol: u8, table: u32) -> Option<&Mapping> {
        let found = |place: &Place| self.by_inside.get(&(*place, table)).filter(|found| !found.is_inbound_only);
        places(end, protocol).iter().find_map(found).map(|mapping| &**mapping)
    }
    /// Whether a mapping has an outside end, so that no other session may get it.
    pub fn is_mapped(&self, end: Ip4End, protocol: u8) -> bool {
        self.to(end, protocol).is_some()
    }
    /// Addresses of the pool for a host, the first one by its address: a host keeps its outside address (RFC 4787, REQ-2). All are in the mode
    /// of the first one.
    pub fn addresses_for(&self, host: u32, table: u32) -> impl Iterator<Item = &Pooled> + '_ {
        let (number, first) = (self.pool.len(), host as usize % self.pool.len().max(1));
        let in_turn = (0..number).map(move |at| &self.pool[(first + at) % number]);
        let mut serving = in_turn.filter(move |pooled| pooled.table.is_none_or(|own| own == table)).peekable();
        let mode = serving.peek().map(|pooled| pooled.mode);
        serving.filter(move |pooled| Some(pooled.mode) == mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(address: u32, port: u16) -> Ip4End {
        Ip4End { address, port }
    }
    fn mapping(outside: Ip4End, protocol: u8, locals: &[Local]) -> Mapping {
        let twice = TwiceNat::Off;
        Mapping { outside, protocol, locals: locals.into(), twice, is_inbound_only: false, is_sticky: false }
    }
    fn local(end: Ip4End, table: u32, weight: u8) -> Local {
        Local { end, table, weight }
    }

    #[test]
    fn ports_come_before_addresses_and_tables_are_apart() {
        let of_address = mapping(end(9, 0), 0, &[local(end(1, 0), 0, 1)]);
        let of_port = mapping(end(9, 80), 6, &[local(end(2, 8080), 3, 1)]);
        let mut rules = Rules::default();
        rules.add(of_address.clone());
        rules.add(of_port.clone());
        assert_eq!(rules.to(end(9, 80), 6), Some(&of_port));
        assert_eq!(rules.to(end(9, 80), 17), Some(&of_address));
        assert_eq!(rules.to(end(8, 80), 6), None);
        assert_eq!(rules.from(end(2, 8080), 6, 3), Some(&of_port));
        assert_eq!(rules.from(end(2, 8080), 6, 0), None, "another tenant has the same address");
        assert_eq!(rules.from(end(1, 7), 17, 0).map(|found| found.outside_of(end(1, 7))), Some(end(9, 7)));
        assert!(rules.is_outside(9) && !rules.is_outside(1));
        rules.remove(&of_port);
        assert_eq!((rules.to(end(9, 80), 6), rules.is_outside(9)), (Some(&of_address), true));
        rules.remove(&of_address);
        assert_eq!((rules.to(end(9, 80), 6), rules.is_outside(9)), (None, false));
    }

    #[test]
    fn sessions_are_spread_by_weight() {
        let locals = [local(end(1, 80), 0, 70), local(end(2, 80), 0, 30)];
        let mapping = mapping(end(9, 80), 6, &locals);
        let first = |mapping: &Mapping, port| mapping.local(end(77, port)).is_some_and(|local| local.end.address == 1);
        let share = (1024..11_024).filter(|port| first(&mapping, *port)).count();
        assert!((6800..7200).contains(&share), "{share}");
        let sticky = Mapping { is_sticky: true, ..mapping };
        assert!((1024..1100).all(|port| first(&sticky, port) == first(&sticky, 1)));
    }

    fn pooled(address: u32) -> Pooled {
        Pooled { address, table: None, mode: MappingMode::default(), filtering: Filtering::default() }
    }

    #[test]
    fn a_host_has_addresses_of_one_mode() {
        let independent = |address| Pooled { mode: MappingMode::EndpointIndependent, ..pooled(address) };
        let mut rules = Rules::default();
        rules.set_pools(vec![pooled(0), independent(1), pooled(2), pooled(1)], vec![]);
        let of = |host| rules.addresses_for(host, 0).map(|pooled| pooled.address).collect::<Vec<_>>();
        // Address 1 is there twice.
        assert_eq!((of(0), of(1), of(2)), (vec![0, 2], vec![1, 1], vec![2, 0]));
    }

    #[test]
    fn hosts_keep_their_outside_address_and_are_spread() {
        let pool: Vec<_> = (0..64).map(pooled).chain([Pooled { table: Some(5), ..pooled(99) }]).collect();
        let mut rules = Rules::default();
        rules.set_pools(pool, vec![100]);
        assert!(rules.is_outside(5) && rules.is_outside(63) && !rules.is_outside(100));
        let first = |host| rules.addresses_for(host, 0).next().map(|pooled| pooled.address);
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
        assert_eq!(rules.addresses_for(7, 0).count(), 64, "one serves another table");
        assert_eq!(rules.addresses_for(7, 5).count(), 65);
        rules.set_pools(vec![], vec![]);
        assert_eq!((rules.addresses_for(7, 0).next(), rules.is_outside(5)), (None, false));
    }
}
