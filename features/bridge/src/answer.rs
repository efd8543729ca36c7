//! `arp-term-l2bd`: answers requests for the addresses of a domain's hosts in place of flooding them: ARP requests (RFC
//! 826), and neighbor solicitations (RFC 4861, 7.2.4). Control is told of the senders, if a client wants to know. Only
//! group-addressed frames come here, from members with and without a split-horizon group; those with one have come
//! through a tunnel, and the tunnel's other end answers their requests.
//!
//! Drops: `bad-sender`, for ARP that does not name the frame's own sender; `no-flooding`, where the domain does not.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Flags, Frame, Generations, Node, Seed, Snapshot, arcs};
use quiver_interface::{InterfaceId, LOCAL};
use quiver_wire::arp::{ArpOperation, ArpPacket};
use quiver_wire::icmp6::{self, Icmp6Type};
use quiver_wire::nd::{HOP_LIMIT, LinkLayerOption, NeighborMessage, option};
use quiver_wire::vlan::TaggedFrame;
use quiver_wire::{EtherType, EthernetHeader, Header, Ip6Header, IpProtocol, MacAddress};

use crate::layer2::{Layer2, Port};

arcs! {
    /// Where frames for groups go.
    pub enum Next {
        Flood => node "l2-flood",
        Output => features "l2-output",
        Virtual => node "bvi-input",
        BadSender => drop "bad-sender",
        NoFlooding => drop "no-flooding",
    }
}

/// Sender of an ARP request or a neighbor solicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Behind this interface.
    pub interface: InterfaceId,
    /// The interface's, then.
    pub generation: u32,
    /// At this address of layer 3.
    pub address: IpAddr,
    /// Its MAC address.
    pub mac: MacAddress,
}

/// The way to control.
#[derive(Clone)]
pub(crate) struct Askers {
    pub outbox: Outbox<Asker>,
    pub generations: Generations,
    /// Whether a client wants to know of senders.
    pub wanted: Arc<AtomicBool>,
}

/// The node.
pub struct ArpTerm {
    pub(crate) layer2: Snapshot<Layer2>,
    pub(crate) askers: Askers,
}

/// Result of looking at a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Another packet, or a request without an answer here.
    Other,
    /// ARP that does not name the frame's own sender.
    BadSender,
    /// It is the answer by now.
    Answered,
}

impl Node for ArpTerm {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let layer2 = self.layer2.read(cx.guard);
        for i in 0..frame.len() {
            let (rx, hop) = (frame.rx[i], frame.hop[i]);
            let port = layer2.port(rx);
            let (found, asker) = match port.word & Port::GROUP {
                0 => look(frame.bytes_mut(cx.pool, i), |address| layer2.host(hop as u16, address)),
                _ => (Found::Other, None),
            };
            asker.into_iter().for_each(|asker| self.askers.tell(rx, asker));
            frame.next[i] = match found {
                Found::BadSender => Next::BadSender,
                Found::Other if hop & Port::FLOOD == 0 => Next::NoFlooding,
                Found::Other => Next::Flood,
                Found::Answered => {
                    // It goes back where it came from, which `l2-output` lets no frame of a member do.
                    (frame.tx[i], frame.rx[i]) = (rx, LOCAL.0);
                    frame.set_flag(i, Flags::LOCAL);
                    if port.word & Port::VIRTUAL != 0 { Next::Virtual } else { Next::Output }
                }
            }
            .into();
        }
    }
}

impl Askers {
    /// The way to control for an instance of the node.
    pub(crate) fn of(&self, seed: Seed) -> Askers {
        Askers { outbox: self.outbox.of(seed), ..self.clone() }
    }
    fn tell(&self, rx: u32, (address, mac): Addresses) {
        if self.wanted.load(Ordering::Relaxed) {
            let generation = self.generations.of(rx);
            // A full queue loses it: who asks once asks again.
            self.outbox.send(Asker { interface: InterfaceId(rx), generation, address, mac });
        }
    }
}

/// An IP address and its MAC address.
type Addresses = (IpAddr, MacAddress);

/// Turns a request for the address of a `host` into its reply. Returns the result, and the sender of the request.
fn look(frame: &mut [u8], host: impl Fn(IpAddr) -> Option<MacAddress>) -> (Found, Option<Addresses>) {
    let Some(tagged) = TaggedFrame::parse(frame) else { return (Found::Other, None) };
    let (ethertype, source) = (tagged.ethertype, tagged.ethernet.source);
    let at = frame.len() - tagged.payload.len();
    let (ethernet, payload) = frame.split_at_mut(at);
    let (asker, mac) = match ethertype {
        EtherType::ARP => match arp(payload, source, host) {
            Some(Ok(heard)) => heard,
            Some(Err(found)) => return (found, None),
            None => return (Found::Other, None),
        },
        EtherType::IP6 => solicitation(payload, source, host).unwrap_or_default(),
        _ => return (Found::Other, None),
    };
    match (EthernetHeader::parse_mut(ethernet), mac) {
        (Some((header, _)), Some(mac)) => {
            (header.destination, header.source) = (source, mac);
            (Found::Answered, asker)
        }
        _ => (Found::Other, asker),
    }
}

/// The sender of the request, and the MAC address of the requested host if the packet was turned into the reply.
type Heard = (Option<Addresses>, Option<MacAddress>);

/// Looks at an ARP packet; none if it is not about IPv4 over Ethernet.
fn arp(
    payload: &mut [u8],
    source: MacAddress,
    host: impl Fn(IpAddr) -> Option<MacAddress>,
) -> Option<Result<Heard, Found>> {
    let (arp, _) = ArpPacket::parse_mut(payload)?;
    if !arp.is_ip4_over_ethernet() || ![ArpOperation::REQUEST, ArpOperation::REPLY].contains(&arp.operation) {
        return None;
    }
    // RFC 5798, 7.3: the virtual address of a router may be another than that of the frame.
    let is_virtual = arp.sender_mac.0.starts_with(&[0x00, 0x00, 0x5e, 0x00, 0x01]);
    let is_odd = arp.sender_mac != source && !is_virtual || arp.sender_mac.is_multicast();
    if is_odd || arp.sender().is_multicast() {
        return Some(Err(Found::BadSender));
    }
    // RFC 5227, 2.1.1: a probe has no sender yet, and an answer to its own would tell a host that somebody else has its address.
    let asker = (!arp.sender().is_unspecified()).then_some((arp.sender().into(), arp.sender_mac));
    let is_question = arp.operation == ArpOperation::REQUEST && arp.sender() != arp.target();
    let mac = host(arp.target().into()).filter(|mac| is_question && *mac != arp.sender_mac);
    if let Some(mac) = mac {
        *arp = arp.reply(mac);
    }
    Some(Ok((asker, mac)))
}

/// Looks at a message of neighbour discovery; none if it is none, or one that RFC 4861, 7.1.1, calls invalid.
fn solicitation(payload: &mut [u8], source: MacAddress, host: impl Fn(IpAddr) -> Option<MacAddress>) -> Option<Heard> {
    let (ip, rest) = Ip6Header::parse_mut(payload)?;
    let (asker, length) = (Ipv6Addr::from(ip.source), usize::from(ip.payload_length.get()));
    if ip.next_header != IpProtocol::ICMP6
        || ip.hop_limit != HOP_LIMIT
        || asker.is_unspecified()
        || asker.is_multicast()
    {
        return None;
    }
    let icmp = rest.get_mut(..length)?;
    let is_right = icmp6::pseudo_header(asker, ip.destination.into(), length).add_bytes(icmp).is_right();
    let (message, options) = NeighborMessage::parse(icmp)?;
    let kind = message.icmp.kind;
    if !is_right || ![Icmp6Type::NEIGHBOR_SOLICITATION, Icmp6Type::NEIGHBOR_ADVERTISEMENT].contains(&kind) {
        return None;
    }
    let told = (!asker.is_unicast_link_local()).then_some((asker.into(), source));
    let given = LinkLayerOption::parse(options).map(|(given, _)| (given.kind, given.length));
    let is_question = kind == Icmp6Type::NEIGHBOR_SOLICITATION && message.icmp.code == 0;
    let target = message.target();
    let answers = is_question && given == Some((option::SOURCE_LINK_LAYER, 1)) && length == ANSWER;
    let Some(mac) = host(target.into()).filter(|_| answers) else { return Some((told, None)) };
    let flags = NeighborMessage::SOLICITED | NeighborMessage::OVERRIDE;
    let given = LinkLayerOption::new(option::TARGET_LINK_LAYER, mac);
    let answer = NeighborMessage::advertisement(target, flags).with_mac(target, asker, Some(given));
    (ip.source, ip.destination) = (target.octets(), asker.octets());
    icmp.copy_from_slice(&answer);
    Some((told, Some(mac)))
}

/// Bytes of an advertisement with a link-layer address. Longer solicitations have options that are not supported here.
const ANSWER: usize = size_of::<NeighborMessage>() + size_of::<LinkLayerOption>();

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::nd::solicited_node;
    use zerocopy::IntoBytes;

    const ASKER: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
    const TARGET: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);
    const FROM: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

    fn host(address: IpAddr) -> Option<MacAddress> {
        (address == IpAddr::from(TARGET) || address == IpAddr::from([10, 0, 0, 9])).then_some(HOST)
    }

    /// A solicitation with these hops left, behind tags.
    fn question(from: Ipv6Addr, target: Ipv6Addr, hops: u8, tags: &[u8]) -> Vec<u8> {
        let given = LinkLayerOption::new(option::SOURCE_LINK_LAYER, ASKER);
        let to = solicited_node(target);
        let message = NeighborMessage::solicitation(target).with_mac(from, to, Some(given));
        let ip = Ip6Header::new(from, to, IpProtocol::ICMP6, hops, message.len()).expect("it is short");
        [&[0xff; 6], &ASKER.0[..], tags, &[0x86, 0xdd], ip.as_bytes(), &message].concat()
    }

    #[test]
    fn solicitations_for_hosts_are_answered() {
        for tags in [&[][..], &[0x81, 0x00, 0x00, 0x07]] {
            let mut frame = question(FROM, TARGET, 255, tags);
            let length = frame.len();
            assert_eq!(look(&mut frame, host), (Found::Answered, Some((FROM.into(), ASKER))));
            let given = LinkLayerOption::new(option::TARGET_LINK_LAYER, HOST);
            let flags = NeighborMessage::SOLICITED | NeighborMessage::OVERRIDE;
            let message = NeighborMessage::advertisement(TARGET, flags).with_mac(TARGET, FROM, Some(given));
            let ip = Ip6Header::new(TARGET, FROM, IpProtocol::ICMP6, 255, message.len()).expect("it is short");
            let wanted = [&ASKER.0[..], &HOST.0, tags, &[0x86, 0xdd], ip.as_bytes(), &message].concat();
            assert_eq!((frame, length), (wanted.clone(), wanted.len()));
        }
    }

    #[test]
    fn what_is_no_valid_question_stays_as_it_is() {
        let unspecified = Ipv6Addr::UNSPECIFIED;
        let mut damaged = question(FROM, TARGET, 255, &[]);
        damaged[60] ^= 1;
        for (frame, asker) in [
            (question(FROM, FROM, 255, &[]), Some((FROM.into(), ASKER))),
            (question(FROM, TARGET, 64, &[]), None),
            (question(unspecified, TARGET, 255, &[]), None),
            (question(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), TARGET, 255, &[]), None),
            (damaged, None),
        ] {
            let mut looked = frame.clone();
            assert_eq!(look(&mut looked, host), (Found::Other, asker));
            assert_eq!(looked, frame);
        }
    }

    #[test]
    fn frames_may_end_anywhere() {
        let arp = ArpPacket::request(ASKER, [10, 0, 0, 1].into(), [10, 0, 0, 9].into());
        let arp = [&[0xff; 6], &ASKER.0[..], &[0x08, 0x06], arp.as_bytes()].concat();
        for whole in [question(FROM, TARGET, 255, &[]), arp] {
            for end in 0..whole.len() {
                assert_eq!(look(&mut whole[..end].to_vec(), host), (Found::Other, None), "{end}");
            }
            assert_eq!(look(&mut whole.clone(), host).0, Found::Answered);
        }
    }
}
