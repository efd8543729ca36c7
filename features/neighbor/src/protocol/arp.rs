//! ARP over Ethernet (RFC 826, RFC 5227).

use std::net::Ipv4Addr;
use std::time::Duration;

use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_engine::{ArcSpec, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::{Ingress, Ip4};
use quiver_wire::arp::{ArpOperation, ArpPacket};
use quiver_wire::{EtherType, Header, InterfaceAddress, MacAddress, V4};
use zerocopy::IntoBytes;

use super::{Announcement, Message, Protocol, Question, Sort};
use crate::{keeper, messages};

arcs! {
    /// Where ARP packets go from `arp-input`.
    pub enum Next {
        ReceivedMessage => done "heard",
        /// Requests and replies that control sends.
        Send => features "interface-output",
        Busy => drop "control-busy",
        TooShort => drop "too-short",
        NotIp4 => drop "not-ip4-over-ethernet",
        BadOperation => drop "bad-operation",
        BadSender => drop "bad-sender",
        NotEnabled => drop "ip4-not-enabled",
        WrongSubnet => drop "wrong-subnet",
        /// A host of another subnet announces its address.
        WrongClaim => drop "wrong-subnet-claim",
    }
}

/// ANNOUNCE_INTERVAL of RFC 5227, 1.1.
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(2);

impl Protocol for V4 {
    type Message = ArpPacket;
    const KIND: &'static str = "neighbors";
    const INTERFACE_SETTINGS: &'static str = "interface-neighbor-settings";
    const SETTINGS: &'static str = "neighbor-settings";
    const NODE: &'static str = "arp-input";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    const MALFORMED: &'static [&'static str] = &["too-short", "not-ip4-over-ethernet", "bad-operation", "bad-sender"];
    const COUNTED: &'static str = "arp";
    const CARRIED: EtherType = EtherType::ARP;
    const ALL: MacAddress = MacAddress::BROADCAST;
    // ANNOUNCE_NUM of RFC 5227, 1.1.
    const SAYINGS: &'static [(Duration, Announcement)] =
        &[(Duration::ZERO, Announcement::Claim), (ANNOUNCE_INTERVAL, Announcement::Claim)];

    fn read(
        bytes: &[u8],
        ingress: &Ingress<V4>,
        interface: InterfaceId,
        is_guest: impl Fn(Ipv4Addr) -> bool,
    ) -> Result<ArpPacket, u16> {
        check(bytes, ingress, interface, is_guest).map_err(u16::from)
    }
    fn sort(packet: &ArpPacket) -> Sort {
        match packet.operation {
            // RFC 5227, 2.3 and 3.
            _ if packet.sender() == packet.target() => Sort::Gratuitous,
            ArpOperation::REQUEST => Sort::Request,
            _ => Sort::Reply,
        }
    }
    fn trace(record: &Record) -> String {
        match ArpPacket::parse(&record.bytes) {
            Some((arp, _)) => format!(
                "ARP operation {}, {} at {} -> {} at {}",
                arp.operation.0,
                arp.sender(),
                arp.sender_mac,
                arp.target(),
                arp.target_mac
            ),
            None => "no ARP packet".into(),
        }
    }
    fn hear(control: &Control, interface: InterfaceId, station: Option<MacAddress>, packet: &ArpPacket) {
        let (sender, target) = (packet.sender(), packet.target());
        if control.room::<Ip4>().current().is_own(interface, sender) {
            return keeper::defend::<V4>(control, (interface, sender), packet.sender_mac);
        }
        let for_us = keeper::is_ours::<V4>(control, (interface, target));
        let asks_us = for_us && packet.operation == ArpOperation::REQUEST;
        let is_named = !sender.is_unspecified();
        if asks_us && is_named {
            let is_its_own = station.is_none_or(|station| station == packet.sender_mac);
            if !keeper::is_answered::<V4>(control, (interface, sender), is_its_own) {
                return;
            }
        }
        if is_named {
            keeper::learn::<V4>(control, (interface, sender), packet.sender_mac, for_us);
        }
        if asks_us {
            messages::send::<V4>(control, interface, packet.sender_mac, |mac| message(packet.reply(mac)));
        }
    }

    fn question_in(packet: &ArpPacket) -> Option<Question<V4>> {
        let (sender, target) = (packet.sender(), packet.target());
        // RFC 5227, 2.1.1 and 2.3: probes and announcements are no questions.
        let asks = packet.operation == ArpOperation::REQUEST && !sender.is_unspecified() && sender != target;
        asks.then_some(Question { sender, mac: Some(packet.sender_mac), target, of_itself: false })
    }
    fn answer_for(own: MacAddress, question: &ArpPacket) -> Message {
        message(question.reply(own))
    }
    fn group_of(_: Ipv4Addr) -> MacAddress {
        MacAddress::BROADCAST
    }
    fn question(own: MacAddress, source: Ipv4Addr, wanted: Ipv4Addr, _: bool) -> Message {
        message(ArpPacket::request(own, source, wanted))
    }
    fn probe(own: MacAddress, address: Ipv4Addr) -> Message {
        message(ArpPacket::request(own, Ipv4Addr::UNSPECIFIED, address))
    }
    fn claim(own: MacAddress, address: Ipv4Addr) -> Message {
        message(ArpPacket::request(own, address, address))
    }
}

fn message(packet: ArpPacket) -> Message {
    Message { sort: V4::sort(&packet), bytes: packet.as_bytes().to_vec() }
}

/// The packet, if it is worth telling.
fn check(
    bytes: &[u8],
    ingress: &Ingress<V4>,
    interface: InterfaceId,
    is_guest: impl Fn(Ipv4Addr) -> bool,
) -> Result<ArpPacket, Next> {
    let (packet, _) = ArpPacket::parse(bytes).ok_or(Next::TooShort)?;
    if !packet.is_ip4_over_ethernet() {
        return Err(Next::NotIp4);
    }
    if packet.operation != ArpOperation::REQUEST && packet.operation != ArpOperation::REPLY {
        return Err(Next::BadOperation);
    }
    // RFC 1812, 3.3.2: a group is nobody's own address.
    if packet.sender_mac.is_multicast() || packet.sender_mac == MacAddress::ZERO || packet.sender().is_multicast() {
        return Err(Next::BadSender);
    }
    let addresses = ingress.addresses(interface);
    if addresses.is_empty() {
        return Err(Next::NotEnabled);
    }
    // Nor is what stands for a subnet.
    let of_subnet = |own: &InterfaceAddress<V4>| {
        own.length() < 31 && [own.prefix().address(), own.prefix().last_address()].contains(&packet.sender())
    };
    if addresses.iter().any(of_subnet) {
        return Err(Next::BadSender);
    }
    // A probe (RFC 5227, 2.1.1) has no sender address yet. Others are believed on the sender's own link only; whoever
    // asks for our address may be elsewhere: networks whose addresses are /32 work so.
    let on_link = addresses.iter().any(|own| own.prefix().contains(packet.sender())) || is_guest(packet.sender());
    let asks_us = ingress.is_own(interface, packet.target());
    if !packet.sender().is_unspecified() && !on_link && !asks_us {
        return Err(if packet.is_gratuitous() { Next::WrongClaim } else { Next::WrongSubnet });
    }
    Ok(*packet)
}
