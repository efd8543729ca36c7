//! `arp-input`: ARP packets, checked and told to control, which answers and learns.
//!
//! Control keeps the only table, so an answer comes from there; it takes one wake-up of the control thread.

use quiver_engine::channel::Outbox;
use quiver_engine::trace::Record;
use quiver_engine::{Context, Frame, Generations, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::Ingress;
use quiver_wire::arp::{ArpOperation, ArpPacket};
use quiver_wire::{Header, InterfaceAddress, MacAddress, V4};

use crate::counted::ArpRow;

arcs! {
    /// Where ARP packets go from `arp-input`.
    pub enum Next {
        Heard => done "heard",
        /// What control sends: answers and questions.
        Send => features "interface-output",
        TooShort => drop "too-short",
        NotIp4 => drop "not-ip4-over-ethernet",
        BadOperation => drop "bad-operation",
        BadSender => drop "bad-sender",
        NotEnabled => drop "ip4-not-enabled",
        WrongSubnet => drop "wrong-subnet",
        Busy => drop "control-busy",
    }
}

/// What control hears.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Where.
    pub interface: InterfaceId,
    /// The interface's, when it was heard.
    pub generation: u32,
    /// What.
    pub packet: ArpPacket,
}

/// The node.
pub struct ArpInput {
    /// The interfaces' addresses.
    pub ingress: Snapshot<Ingress>,
    /// Tells interfaces of one number apart.
    pub generations: Generations,
    /// To control.
    pub heard: Outbox<Heard>,
    /// What this worker heard.
    pub counted: ArpRow,
}

impl Node for ArpInput {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let ingress = self.ingress.read(cx.guard);
        for i in 0..frame.len() {
            let interface = InterfaceId(frame.rx[i]);
            let next = match check(frame.bytes(cx.pool, i), ingress, interface) {
                Ok(packet) => {
                    self.counted.add(interface, &packet);
                    let generation = self.generations.of(interface.0);
                    match self.heard.send(Heard { interface, generation, packet }) {
                        true => Next::Heard,
                        false => Next::Busy,
                    }
                }
                Err(reason) => reason,
            };
            frame.next[i] = next.into();
        }
    }
}

/// The packet, if it is worth telling.
fn check(bytes: &[u8], ingress: &Ingress, interface: InterfaceId) -> Result<ArpPacket, Next> {
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
    let on_link = addresses.iter().any(|own| own.prefix().contains(packet.sender()));
    let asks_us = ingress.is_own(interface, packet.target());
    if !packet.sender().is_unspecified() && !on_link && !asks_us {
        return Err(Next::WrongSubnet);
    }
    Ok(*packet)
}

/// Who asks for whom, for the trace.
pub(crate) fn describe(record: &Record) -> String {
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
