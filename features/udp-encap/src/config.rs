//! Configured encapsulations.

use std::collections::BTreeMap;
use std::net::IpAddr;

use quiver_control::{Change, Control, LowestFree, Object, ObjectError};
use quiver_engine::{Counters, Domain, Paged, Publisher, Snapshot};
use quiver_ip::fib::{Path, TableId, Target};
use quiver_ip::objects::TableNumber;
use quiver_ip::{Family, Ip};
use quiver_wire::{V4, V6};

use quiver_tunnel::{Choice, Ends, Outer};

/// UDP encapsulation, to which routes refer by its id.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "udp-encaps", provides = "next-hop", prefix = "udp-encap ")]
pub struct UdpEncap {
    /// Id by which routes refer to it.
    #[key]
    pub id: u16,
    /// Source address of the outer header.
    pub source: IpAddr,
    /// Destination address of the outer header, of the same family.
    pub destination: IpAddr,
    /// Source port; 0 selects one by the inner flow, for load balancing on the way (RFC 7510).
    #[default(0)]
    pub source_port: u16,
    /// Destination port of the outer header.
    pub destination_port: u16,
    /// Table that resolves an IPv4 destination.
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<V4>,
    /// Table for IPv6 in place of `table`.
    #[default(TableNumber::DEFAULT)]
    pub ip6_table: TableNumber<V6>,
}

impl UdpEncap {
    /// The number of the table in which its destination is looked up.
    pub fn table_id(&self) -> TableId {
        if self.destination.is_ipv4() { self.table.into() } else { self.ip6_table.into() }
    }
}

/// An encapsulation as workers read it.
#[derive(Clone, Copy, Debug)]
pub struct Encap {
    /// Addresses of the datagrams.
    pub ends: Ends,
    /// The headers of datagrams.
    pub outer: Outer,
    /// Source port; 0 selects one by flow.
    pub source_port: u16,
    /// Group of the route to the destination, in its family.
    pub group: u32,
}

/// All encapsulations.
pub struct Encaps {
    held: BTreeMap<u16, Encap>,
    free: LowestFree,
    published: Publisher<Paged<Option<Encap>>>,
    counters: Counters,
}

impl Encaps {
    pub(crate) fn new(domain: &Domain, counters: Counters) -> Encaps {
        let (held, free) = Default::default();
        Encaps { held, free, published: Publisher::new(domain, Paged::default()), counters }
    }
    /// The encapsulations that workers read, by number.
    pub fn view(&self) -> Snapshot<Paged<Option<Encap>>> {
        self.published.snapshot()
    }
    /// Packets and bytes by number.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    /// An encapsulation.
    pub fn get(&self, id: u16) -> Option<&Encap> {
        self.held.get(&id)
    }
    /// The lowest free number.
    pub fn free(&self) -> Option<u16> {
        let is_taken = |id| u16::try_from(id).is_ok_and(|id| self.held.contains_key(&id));
        u16::try_from(self.free.find(is_taken)).ok()
    }
    fn set(&mut self, id: u16, encap: Option<Encap>) -> Option<Encap> {
        let old = match encap {
            Some(encap) => self.held.insert(id, encap),
            None => self.held.remove(&id),
        };
        if encap.is_none() {
            self.free.release(id.into());
        }
        if old.is_none() {
            self.counters.grow(u32::from(id) + 1);
            self.counters.clear(id.into());
        }
        let mut published = self.published.current().clone();
        *published.get_mut(id.into()) = encap;
        self.published.publish(published);
        old
    }
}

/// Checks an encapsulation on its own, regardless of other objects.
pub(crate) fn check(encap: &UdpEncap) -> Result<(), ObjectError> {
    let wrong = |field: &str, what: String, remedy: &str| Err(ObjectError::field(field, what).remedy(remedy));
    let is_host = |address: IpAddr| match address {
        IpAddr::V4(address) => V4::is_host(address),
        IpAddr::V6(address) => V6::is_host(address),
    };
    if Ends::new(encap.source, encap.destination).is_none() {
        let what = format!("{} is not of the family of {}", encap.destination, encap.source);
        return wrong("destination", what, "give two addresses of one family");
    }
    for (field, address) in [("source", encap.source), ("destination", encap.destination)] {
        if !is_host(address) {
            return wrong(field, format!("{address} is no address of a single host"), "give one");
        }
    }
    match encap.destination {
        _ if encap.destination_port == 0 => wrong("destination-port", "port 0 is reserved".into(), "give 1 to 65535"),
        IpAddr::V6(address) if V6::is_link_local(address) => {
            wrong("destination", format!("{address} is a link-local address"), "give another one")
        }
        IpAddr::V4(_) if encap.ip6_table != TableNumber::DEFAULT => {
            wrong("ip6-table", "the addresses are of IPv4".into(), "set table")
        }
        IpAddr::V6(_) if encap.table != TableNumber::DEFAULT => {
            wrong("table", "the addresses are of IPv6".into(), "set ip6-table")
        }
        _ => Ok(()),
    }
}

/// Keeps the way to the other end, or lets it go.
fn hold<F: Family>(control: &Control, table: TableId, to: F::Address) -> u32 {
    control.room_mut::<Ip<F>>().fib.hold(vec![Path::to(Target::Recursive(table, to))])
}

pub(crate) fn apply(control: &Control, change: Change<'_, UdpEncap>) -> Result<(), ObjectError> {
    let (id, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new.id, Some(new)),
        Change::Delete(old) => (old.id, None),
    };
    let encap = wanted.and_then(|wanted| {
        let ends = Ends::new(wanted.source, wanted.destination)?;
        let group = match ends {
            Ends::V4(_, to) => hold::<V4>(control, wanted.table.into(), to),
            Ends::V6(_, to) => hold::<V6>(control, wanted.ip6_table.into(), to),
        };
        let outer = Outer::new(&ends, &Choice::of(&ends, wanted.destination_port), &[]);
        Some(Encap { ends, outer, source_port: wanted.source_port, group })
    });
    let old = control.room_mut::<Encaps>().set(id, encap);
    match old.map(|old| (old.ends, old.group)) {
        Some((Ends::V4(..), group)) => control.room_mut::<Ip<V4>>().fib.let_go(group),
        Some((Ends::V6(..), group)) => control.room_mut::<Ip<V6>>().fib.let_go(group),
        None => {}
    }
    Ok(())
}
