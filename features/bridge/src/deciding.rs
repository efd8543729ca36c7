//! Which interface, and which address, decides.

use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_interface::{InterfaceId, Interfaces, Undecided, decides, receiver, sender, undecided};
use quiver_wire::{EthernetHeader, Header, MacAddress};

use crate::bridges::{BVI_OUTPUT, Bridges, Mode};
use crate::station::{Place, Station};

pub(crate) fn register(control: &Control) {
    decides(control, "l2-input", domain);
    decides(control, "l2-learn", |control, record| station(control, record, |header| header.source));
    decides(control, "l2-fwd", |control, record| station(control, record, |header| header.destination));
    decides(control, "l2-flood", domain);
    decides(control, "l2-uu-fwd", domain);
    decides(control, "l2-output", sender);
    decides(control, crate::dvr::NAME, sender);
    // What a domain knows of its hosts.
    decides(control, "arp-term-l2bd", domain);
    decides(control, "bvi-input", sender);
    decides(control, BVI_OUTPUT, sender);
    undecided(control, "arp-term-l2bd", Undecided::Packet, &["bad-sender"]);
    undecided(control, "l2-flood", Undecided::Load, &["no-buffer"]);
}

/// The domain of the interface that received a frame, or the interface itself.
fn domain(control: &Control, record: &Record) -> Option<String> {
    let bridges = control.room::<Bridges>();
    match bridges.mode(InterfaceId(record.rx)) {
        Some(Mode::Member { domain, .. }) => Some(format!("bridge-domains {domain}")),
        _ => receiver(control, record),
    }
}

/// Where the domain has an address of a frame.
fn station(control: &Control, record: &Record, which: fn(&EthernetHeader) -> MacAddress) -> Option<String> {
    let (header, _) = EthernetHeader::parse(&record.bytes)?;
    let mac = which(header);
    let bridges = control.room::<Bridges>();
    let Some(Mode::Member { domain, .. }) = bridges.mode(InterfaceId(record.rx)) else {
        return receiver(control, record);
    };
    let of = format!("bridge-domains {domain}");
    if !mac.is_unicast() {
        return Some(format!("{of}: {mac} is a group"));
    }
    let index = bridges.domains().get(&domain)?.index;
    Some(match bridges.macs.place(Station { mac, domain: index }) {
        Some(Place { filter: true, .. }) => format!("{of}: {mac} is filtered"),
        Some(place) => format!("{of}: {mac} is behind {}", control.room::<Interfaces>().name(place.interface)),
        None => format!("{of}: {mac} is unknown"),
    })
}
