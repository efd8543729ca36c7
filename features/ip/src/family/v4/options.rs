//! `ip4-options`: the checks of `ip4-input` packet by packet, for headers longer than 20 bytes and whatever else needs a closer
//! look: fragments that begin in a transport header, and addresses of special use where some of them are forwarded.
//!
//! Packets that ask for a route of their sender's choosing are dropped (RFC 7126, 4.3 and 4.4). Other options pass as
//! they are: routers need not act on them, and few do.

use std::net::Ipv4Addr;

use quiver_engine::{Context, Frame, Node, Snapshot, arcs};
use quiver_wire::ip4::option;
use quiver_wire::options::Options;
use quiver_wire::{Header, Ip4Header, V4};

use crate::ingress::Ingress;

arcs! {
    /// Where packets go from `ip4-options`.
    pub enum Next {
        Unicast => features "ip4-unicast",
        BadLength => drop "bad-length",
        BadChecksum => drop "bad-checksum",
        Broadcast => drop "broadcast",
        Multicast => features "ip4-multicast",
        Martian => drop "martian-address",
        BadOption => drop "bad-option",
        SourceRoute => drop "source-route",
        InHeader => drop "fragment-in-header",
    }
}

/// The node.
pub struct Ip4Options {
    /// Which addresses of special use are forwarded.
    pub ingress: Snapshot<Ingress<V4>>,
}

impl Node for Ip4Options {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let ingress = self.ingress.read(cx.guard);
        for i in 0..frame.len() {
            let (next, total) = check(ingress, frame.bytes(cx.pool, i), frame.length[i]);
            frame.next[i] = next.into();
            frame.truncate(i, total);
        }
    }
}

/// Where a packet goes, and how long it says that it is.
fn check(ingress: &Ingress<V4>, bytes: &[u8], length: u32) -> (Next, u32) {
    let Some((header, rest)) = Ip4Header::parse(bytes) else { return (Next::BadLength, length) };
    let total = u32::from(header.total_length.get());
    let options = header.header_length().checked_sub(Ip4Header::LENGTH).and_then(|options| rest.get(..options));
    let Some(options) = options.filter(|_| total as usize >= header.header_length() && total <= length) else {
        return (Next::BadLength, length);
    };
    if !header.checksum_is_right(options) {
        return (Next::BadChecksum, total);
    }
    let (source, destination) = (header.source(), header.destination());
    if header.fragment_offset() == 8 {
        return (Next::InHeader, total);
    }
    if destination.is_broadcast() {
        return (Next::Broadcast, total);
    }
    if destination.is_multicast() {
        return (Next::Multicast, total);
    }
    let is_martian = |address: Ipv4Addr, most: u8| {
        let first = address.octets()[0];
        matches!(first, 0 | 127) || first >= most
    };
    let from_martian = is_martian(source, 224) && (source.is_broadcast() || !ingress.is_ordinary(source));
    if from_martian || (is_martian(destination, 240) && !ingress.is_ordinary(destination)) {
        return (Next::Martian, total);
    }
    for option in Options::new(options) {
        match option {
            Err(_) => return (Next::BadOption, total),
            Ok(option) if matches!(option.kind, option::LOOSE_SOURCE_ROUTE | option::STRICT_SOURCE_ROUTE) => {
                return (Next::SourceRoute, total);
            }
            Ok(_) => {}
        }
    }
    (Next::Unicast, total)
}
