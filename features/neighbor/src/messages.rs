//! Messages that control sends: requests, replies and announcements.

use std::rc::Rc;

use quiver_control::Control;
use quiver_engine::{Dataplane, Injected};
use quiver_interface::InterfaceId;
use quiver_ip::Ip;
use quiver_wire::MacAddress;
use zerocopy::IntoBytes;

use crate::counted::NeighborCounters;
use crate::input::{ReceivedMessage, SEND};
use crate::protocol::{Message, Protocol, Question};
use crate::resolve::NeighborKey;
use crate::table::Neighbors;

/// Sends a message by an interface. False if that is not up.
pub(crate) fn send<F: Protocol>(
    control: &Control,
    id: InterfaceId,
    to: MacAddress,
    message: impl Fn(MacAddress) -> Message,
) -> bool {
    let link = control.room::<Ip<F>>().fib.adjacencies.link(id).cloned();
    let Some(link) = link.filter(|link| link.up) else { return false };
    let Message { sort, bytes } = message(MacAddress(link.mac));
    let mut bytes = [link.header(to, F::CARRIED).as_bytes(), &bytes].concat();
    // Ethernet's shortest frame, without its check sequence.
    bytes.resize(bytes.len().max(60), 0);
    control.room::<Rc<NeighborCounters<F>>>().sent(id, sort);
    let node = control.room::<Neighbors<F>>().input;
    control.room::<Dataplane>().emit(0, node, SEND, Injected { bytes, rx: 0, tx: id.0, hop: 0 });
    true
}

/// Asks on a link for a neighbor, from an address of ours that belongs to the link. False if there is none, or the
/// interface is not up.
pub fn ask<F: Protocol>(control: &Control, (id, address): NeighborKey<F>) -> bool {
    let source = control.room::<Ip<F>>().current().source_for(id, address);
    ask_by::<F>(control, (id, address), None, source)
}

/// Asks for a neighbor that is needed: by broadcast or multicast, or by unicast if its MAC address is known.
pub(crate) fn ask_needed<F: Protocol>(control: &Control, (id, address): NeighborKey<F>, mac: Option<MacAddress>) {
    let source = {
        let ip = control.room::<Ip<F>>();
        // Where the link has addresses of its own, the answer comes back whatever else is configured.
        let link_local = ip.link_local(id).filter(|own| ip.current().is_usable(id, *own));
        link_local.or_else(|| ip.current().source_for(id, address))
    };
    ask_by::<F>(control, (id, address), mac, source);
}

fn ask_by<F: Protocol>(
    control: &Control,
    (id, address): NeighborKey<F>,
    mac: Option<MacAddress>,
    source: Option<F::Address>,
) -> bool {
    // Without an address of ours there is nobody to answer to.
    let Some(source) = source else { return false };
    let to = mac.unwrap_or_else(|| F::group_of(address));
    send::<F>(control, id, to, |own| F::question(own, source, address, mac.is_some()))
}

/// Announces an address of ours on a link (RFC 5227, 2.3; RFC 4861, 7.2.6). False if the interface is not up.
pub fn claim<F: Protocol>(control: &Control, (id, address): NeighborKey<F>) -> bool {
    send::<F>(control, id, F::ALL, |own| F::claim(own, address))
}

/// Probes on a link whether a new address is in use (RFC 5227, 2.1.1; RFC 4862, 5.4.2). False if the interface is not
/// up.
pub fn probe<F: Protocol>(control: &Control, (id, address): NeighborKey<F>) -> bool {
    send::<F>(control, id, F::group_of(address), |own| F::probe(own, address))
}

/// Answers a request by proxy: the address is reached through us. The reply goes to the request's sender. False if that
/// is unknown, or the interface is not up.
pub fn answer_for<F: Protocol>(control: &Control, heard: &ReceivedMessage<F>, question: &Question<F>) -> bool {
    let Some(to) = heard.station.or(question.mac) else { return false };
    send::<F>(control, heard.interface, to, |own| F::answer_for(own, &heard.message))
}
