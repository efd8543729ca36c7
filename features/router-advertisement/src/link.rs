//! Sending on an interface's link: the source address, and the seed of random delays.

use std::net::Ipv6Addr;

use quiver_control::Control;
use quiver_engine::{Dataplane, Injected};
use quiver_interface::InterfaceId;
use quiver_ip::Ip6;
use quiver_ip::adjacency::Link;
use quiver_wire::{EtherType, MacAddress};
use zerocopy::IntoBytes;

use crate::advertiser::Advertisers;
use crate::input::Next;

/// An interface's link and its address there, if it sends IPv6 and has the address for sure (RFC 4862, 5.4).
pub(crate) fn speaker(control: &Control, id: InterfaceId) -> Option<(Link, Ipv6Addr)> {
    let link = control.room::<Ip6>().fib.adjacencies.link(id).copied().filter(|link| link.up)?;
    Some((link, control.room::<Ip6>().usable_link_local(id)?))
}

/// The same of an interface that may have to speak without an address (RFC 4861, 4.1).
pub(crate) fn asker(control: &Control, id: InterfaceId) -> Option<(Link, Ipv6Addr)> {
    let link = control.room::<Ip6>().fib.adjacencies.link(id).copied().filter(|link| link.up)?;
    let ip = control.room::<Ip6>();
    ip.link_local(id)?;
    Some((link, ip.usable_link_local(id).unwrap_or(Ipv6Addr::UNSPECIFIED)))
}

/// Seed of an interface's random delays.
pub(crate) fn seed(control: &Control, id: InterfaceId) -> u64 {
    let mac = control.room::<Ip6>().fib.adjacencies.link(id).map_or([0; 6], |link| link.mac);
    mac.iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

/// Sends a message on a link.
pub(crate) fn transmit(control: &Control, id: InterfaceId, mac: MacAddress, link: &Link, message: &[u8]) {
    let mac = if link.point_to_point { link.peer } else { mac };
    let bytes = [link.header(mac, EtherType::IP6).as_bytes(), message].concat();
    let node = control.room::<Advertisers>().node;
    control.room::<Dataplane>().emit(0, node, Next::Send, Injected { bytes, rx: 0, tx: id.0, hop: 0 });
}
