//! Neighbour Discovery over Ethernet (RFC 4861, RFC 2464).

use std::net::Ipv6Addr;
use std::time::Duration;

use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_engine::{ArcSpec, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::{Family, Ingress, Ip6};
use quiver_wire::ip6::upper;
use quiver_wire::nd::{
    self, ALL_NODES, LinkLayerOption, NdOptions, NeighborMessage, group_mac, option, solicited_node,
};
use quiver_wire::{EtherType, Header, Icmp6Type, Ip6Header, IpProtocol, MacAddress, V6};
use zerocopy::IntoBytes;

use super::{Announcement, Message, Protocol, Question, Sort};
use crate::table::Neighbors;
use crate::{keeper, messages};

arcs! {
    /// Where packets go from `nd-input`, which `icmp6-input` has checked.
    pub enum Next {
        ReceivedMessage => done "heard",
        /// Solicitations and advertisements that control sends.
        Send => features "interface-output",
        Busy => drop "control-busy",
        /// It has come from another link.
        BadHopLimit => drop "bad-hop-limit",
        BadMessage => drop "bad-message",
        WrongSubnet => drop "wrong-subnet",
        Unsupported => drop "unsupported-type",
    }
}

/// A solicitation, or an advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdPacket {
    /// Which of them.
    pub kind: Icmp6Type,
    /// The sender; none that has no address yet.
    pub source: Ipv6Addr,
    /// Destination address of the packet.
    pub destination: Ipv6Addr,
    /// Target address.
    pub target: Ipv6Addr,
    /// Flags of an advertisement: constants of [`NeighborMessage`].
    pub flags: u32,
    /// The link-layer address of the option, if there is one.
    pub mac: Option<MacAddress>,
}

impl NdPacket {
    fn is_solicitation(&self) -> bool {
        self.kind == Icmp6Type::NEIGHBOR_SOLICITATION
    }
}

/// RETRANS_TIMER of RFC 4861, 10.
const RETRANSMISSION: Duration = Duration::from_secs(1);

impl Protocol for V6 {
    type Message = NdPacket;
    const KIND: &'static str = "ip6-neighbors";
    const INTERFACE_SETTINGS: &'static str = "ip6-interface-neighbor-settings";
    const SETTINGS: &'static str = "ip6-neighbor-settings";
    const NODE: &'static str = "nd-input";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    const MALFORMED: &'static [&'static str] = &["bad-hop-limit", "bad-message", "unsupported-type"];
    const COUNTED: &'static str = "ip6-nd";
    const CARRIED: EtherType = EtherType::IP6;
    const ALL: MacAddress = MacAddress([0x33, 0x33, 0, 0, 0, 1]);
    // RFC 4862, 5.4.2, with DupAddrDetectTransmits of 1, and RFC 4861, 7.2.6.
    const SAYINGS: &'static [(Duration, Announcement)] =
        &[(Duration::ZERO, Announcement::Probe), (RETRANSMISSION, Announcement::Claim)];

    fn read(
        bytes: &[u8],
        ingress: &Ingress<V6>,
        interface: InterfaceId,
        is_guest: impl Fn(Ipv6Addr) -> bool,
    ) -> Result<NdPacket, u16> {
        check(bytes, ingress, interface, is_guest).map_err(u16::from)
    }
    fn sort(packet: &NdPacket) -> Sort {
        // VPP's clients know all advertisements that were received as replies.
        if packet.is_solicitation() { Sort::Request } else { Sort::Reply }
    }
    fn trace(record: &Record) -> String {
        let message = Ip6Header::parse(&record.bytes).zip(V6::payload(&record.bytes));
        match message.and_then(|(ip, payload)| Some((ip.0, NeighborMessage::parse_at(&record.bytes, payload.offset)?)))
        {
            Some((ip, (message, _))) => {
                let what = match message.icmp.kind {
                    Icmp6Type::NEIGHBOR_SOLICITATION => "solicitation of",
                    Icmp6Type::NEIGHBOR_ADVERTISEMENT => "advertisement of",
                    _ => "other message about",
                };
                format!("{} -> {} {what} {}", ip.source(), ip.destination(), message.target())
            }
            None => "no message about a neighbour".into(),
        }
    }
    fn hear(control: &Control, interface: InterfaceId, _: Option<MacAddress>, packet: &NdPacket) {
        match packet.is_solicitation() {
            true => solicited(control, interface, packet),
            false => advertised(control, interface, packet),
        }
    }

    fn question_in(packet: &NdPacket) -> Option<Question<V6>> {
        let NdPacket { source: sender, destination, target, mac, .. } = *packet;
        // RFC 4861, 4.3: who has no address yet wants one, and asks whether somebody has it.
        let asks = packet.is_solicitation() && !sender.is_unspecified() && sender != target;
        asks.then_some(Question { sender, mac, target, of_itself: !destination.is_multicast() })
    }
    fn answer_for(own: MacAddress, question: &NdPacket) -> Message {
        // RFC 4861, 7.2.8: the word of whom it is said for counts more.
        let flags = NeighborMessage::ROUTER | NeighborMessage::SOLICITED;
        advertisement(own, question.source, question.target, flags)
    }
    fn group_of(address: Ipv6Addr) -> MacAddress {
        group_mac(solicited_node(address))
    }
    fn question(own: MacAddress, source: Ipv6Addr, wanted: Ipv6Addr, itself: bool) -> Message {
        let to = if itself { wanted } else { solicited_node(wanted) };
        solicitation(source, to, wanted, Some(own))
    }
    fn probe(_: MacAddress, address: Ipv6Addr) -> Message {
        solicitation(Ipv6Addr::UNSPECIFIED, solicited_node(address), address, None)
    }
    fn claim(own: MacAddress, address: Ipv6Addr) -> Message {
        advertisement(own, ALL_NODES, address, NeighborMessage::ROUTER | NeighborMessage::OVERRIDE)
    }
}

fn solicitation(source: Ipv6Addr, to: Ipv6Addr, wanted: Ipv6Addr, own: Option<MacAddress>) -> Message {
    let option = own.map(|own| LinkLayerOption::new(option::SOURCE_LINK_LAYER, own));
    let message = NeighborMessage::solicitation(wanted).with_mac(source, to, option);
    Message { sort: Sort::Request, bytes: packet(source, to, &message) }
}

fn advertisement(own: MacAddress, to: Ipv6Addr, address: Ipv6Addr, flags: u32) -> Message {
    let option = LinkLayerOption::new(option::TARGET_LINK_LAYER, own);
    let message = NeighborMessage::advertisement(address, flags).with_mac(address, to, Some(option));
    let sort = if flags & NeighborMessage::SOLICITED != 0 { Sort::Reply } else { Sort::Gratuitous };
    Message { sort, bytes: packet(address, to, &message) }
}

/// A message behind its IP header.
fn packet(source: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> Vec<u8> {
    let header = Ip6Header::new(source, to, IpProtocol::ICMP6, nd::HOP_LIMIT, message.len());
    header.map(|header| [header.as_bytes(), message].concat()).unwrap_or_default()
}

/// The message, if it is worth telling (RFC 4861, 7.1.1 and 7.1.2).
fn check(
    bytes: &[u8],
    ingress: &Ingress<V6>,
    interface: InterfaceId,
    is_guest: impl Fn(Ipv6Addr) -> bool,
) -> Result<NdPacket, Next> {
    let (ip, behind) = Ip6Header::parse(bytes).ok_or(Next::BadMessage)?;
    if ip.hop_limit != nd::HOP_LIMIT {
        return Err(Next::BadHopLimit);
    }
    let payload = V6::payload(bytes).ok_or(Next::BadMessage)?;
    // RFC 6980, 5: whoever cuts such a message hides it, even as a single fragment.
    let headers = upper(ip.next_header, behind).ok_or(Next::BadMessage)?;
    if headers.fragment.is_some() {
        return Err(Next::BadMessage);
    }
    match bytes.get(payload.offset).map(|kind| Icmp6Type(*kind)) {
        Some(Icmp6Type::NEIGHBOR_SOLICITATION | Icmp6Type::NEIGHBOR_ADVERTISEMENT) => {}
        _ => return Err(Next::Unsupported),
    }
    let (message, options) = NeighborMessage::parse_at(bytes, payload.offset).ok_or(Next::BadMessage)?;
    let (source, destination, target) = (ip.source(), ip.destination(), message.target());
    let is_solicitation = message.icmp.kind == Icmp6Type::NEIGHBOR_SOLICITATION;
    let kind = if is_solicitation { option::SOURCE_LINK_LAYER } else { option::TARGET_LINK_LAYER };
    let mac = NdOptions::new(options).mac(kind).map_err(|_| Next::BadMessage)?;
    let is_wrong = match is_solicitation {
        // Who has no address asks all who may have it, and cannot be told by its MAC address.
        true => source.is_unspecified() && (mac.is_some() || destination != solicited_node(target)),
        false => destination.is_multicast() && message.has(NeighborMessage::SOLICITED),
    };
    let nobodys = |mac: MacAddress| mac.is_multicast() || mac == MacAddress::ZERO;
    if message.icmp.code != 0 || !V6::is_host(target) || is_wrong || mac.is_some_and(nobodys) {
        return Err(Next::BadMessage);
    }
    // Who is not on the link is not heard, unless it asks for us: networks whose addresses are /128 work so.
    let on_link = |address: Ipv6Addr| {
        V6::is_link_local(address) || ingress.addresses(interface).iter().any(|own| own.prefix().contains(address))
    };
    let speaker = if is_solicitation { source } else { target };
    let asks_us = is_solicitation && ingress.is_own(interface, target);
    if !(speaker.is_unspecified() || on_link(speaker) || is_guest(speaker) || asks_us) {
        return Err(Next::WrongSubnet);
    }
    let flags = if is_solicitation { 0 } else { message.icmp.parameter() };
    Ok(NdPacket { kind: message.icmp.kind, source, destination, target, flags, mac })
}

/// Handles a neighbor solicitation (RFC 4861, 7.2.3 and 7.2.4).
fn solicited(control: &Control, interface: InterfaceId, packet: &NdPacket) {
    let is_own = |address| control.room::<Ip6>().current().is_own(interface, address);
    let NdPacket { source, target, mac, .. } = *packet;
    if is_own(source) && control.room::<Ip6>().current().is_usable(interface, source) {
        return mac.into_iter().for_each(|mac| keeper::defend::<V6>(control, (interface, source), mac));
    }
    // RFC 4862, 5.4.3: nobody is answered about an address that is not to be used.
    let is_withheld = !control.room::<Ip6>().current().is_usable(interface, target);
    if is_withheld || !keeper::is_ours::<V6>(control, (interface, target)) {
        return;
    }
    // RFC 4861, 7.2.3: the option says where the neighbour is; from where its frame came does not matter.
    if !source.is_unspecified() && !keeper::is_answered::<V6>(control, (interface, source), true) {
        return;
    }
    let flags = NeighborMessage::ROUTER | NeighborMessage::OVERRIDE;
    if source.is_unspecified() {
        // Somebody wants an address that is ours (RFC 4862, 5.4.3).
        messages::send::<V6>(control, interface, V6::ALL, |own| advertisement(own, ALL_NODES, target, flags));
        return;
    }
    mac.into_iter().for_each(|mac| keeper::learn::<V6>(control, (interface, source), mac, true));
    let known = control.room::<Neighbors<V6>>().get((interface, source)).and_then(|neighbor| neighbor.mac);
    let flags = flags | NeighborMessage::SOLICITED;
    match mac.or(known) {
        Some(to) => drop(messages::send::<V6>(control, interface, to, |own| advertisement(own, source, target, flags))),
        // It did not say where it is: it is answered when it asks again.
        None => keeper::seek::<V6>(control, (interface, source)),
    }
}

/// Handles a neighbor advertisement (RFC 4861, 7.2.5).
fn advertised(control: &Control, interface: InterfaceId, packet: &NdPacket) {
    let wanted = (interface, packet.target);
    if control.room::<Ip6>().current().is_own(interface, packet.target) {
        if !control.room::<Ip6>().current().is_usable(interface, packet.target) {
            return;
        }
        return packet.mac.into_iter().for_each(|mac| keeper::defend::<V6>(control, wanted, mac));
    }
    let Some(known) = control.room::<Neighbors<V6>>().get(wanted).cloned() else { return };
    let has = |flag| packet.flags & flag != 0;
    let (overrides, solicited) = (has(NeighborMessage::OVERRIDE), has(NeighborMessage::SOLICITED));
    match (known.mac, packet.mac) {
        // That it hears us only an answer shows.
        (Some(old), new) if !solicited && new.is_none_or(|new| new == old) => {}
        // Another one's word does not stand against what is known, unless it says so.
        (Some(old), Some(new)) if old != new && !overrides => {}
        // Without its address it says no more than that it is there still.
        (Some(mac), None) | (_, Some(mac)) => keeper::learn::<V6>(control, wanted, mac, false),
        (None, None) => {}
    }
}
