//! `router-input`: router solicitations and advertisements, checked (RFC 4861, 6.1) and told to control. `icmp6-input`, where
//! they come from, has checked their checksums.

use std::net::Ipv6Addr;

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame, Generations, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::{Family, Ingress};
use quiver_wire::nd::{self, NdOptions, RouterAdvertisement, option};
use quiver_wire::{EthernetHeader, Header, Icmp6Header, Icmp6Type, Ip6Header, MacAddress, V6};

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Heard => done "heard",
        /// What control sends.
        Send => features "interface-output",
        Busy => drop "control-busy",
        /// It has come from another link.
        BadHopLimit => drop "bad-hop-limit",
        BadCode => drop "bad-code",
        TooShort => drop "too-short",
        BadOption => drop "bad-option",
        /// A host without an address cannot be told by its MAC address.
        NoSource => drop "no-source",
        WrongSubnet => drop "wrong-subnet",
        NotAdvertising => drop "not-advertising",
        /// A router that is not known by its address on the link.
        NotLinkLocal => drop "sender-not-link-local",
        NobodyListens => drop "nobody-listens",
    }
}

/// A host asks for routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// The host; none that has no address yet.
    pub source: Ipv6Addr,
    /// Where it is: as it says, or else where its frame came from.
    pub mac: Option<MacAddress>,
}

/// What control hears.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Where.
    pub interface: InterfaceId,
    /// The interface's, when it was heard.
    pub generation: u32,
    /// What.
    pub solicitation: Solicitation,
}

/// The node.
pub struct RouterInput {
    /// The interfaces' addresses.
    pub ingress: Snapshot<Ingress<V6>>,
    /// Which interfaces advertise, by number.
    pub advertising: Snapshot<Vec<bool>>,
    /// Tells interfaces of one number apart.
    pub generations: Generations,
    /// To control.
    pub heard: Outbox<Heard>,
}

impl Node for RouterInput {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            frame.next[i] = self.look(cx, frame, i).unwrap_or_else(|next| next).into();
        }
    }
}

impl RouterInput {
    /// Where a packet goes; an error is a drop.
    fn look(&self, cx: &mut Context, frame: &mut Frame, i: usize) -> Result<Next, Next> {
        let bytes = frame.bytes(cx.pool, i);
        let (ip, _) = Ip6Header::parse(bytes).ok_or(Next::TooShort)?;
        if ip.hop_limit != nd::HOP_LIMIT {
            return Err(Next::BadHopLimit);
        }
        let (source, payload) = (ip.source(), V6::payload(bytes).ok_or(Next::TooShort)?);
        let (icmp, options) = Icmp6Header::parse_at(bytes, payload.offset).ok_or(Next::TooShort)?;
        if icmp.code != 0 {
            return Err(Next::BadCode);
        }
        if icmp.kind == Icmp6Type::ROUTER_ADVERTISEMENT {
            return advertised(bytes, source, payload.offset);
        }
        let interface = InterfaceId(frame.rx[i]);
        let mac = self.solicited(cx, interface, source, options)?;
        let mac = mac.or_else(|| sender(cx, frame, i));
        let generation = self.generations.of(interface.0);
        let heard = Heard { interface, generation, solicitation: Solicitation { source, mac } };
        if self.heard.send(heard) { Ok(Next::Heard) } else { Err(Next::Busy) }
    }

    /// The MAC address in a solicitation that is worth telling (RFC 4861, 6.1.1).
    fn solicited(
        &self,
        cx: &Context,
        interface: InterfaceId,
        source: Ipv6Addr,
        options: &[u8],
    ) -> Result<Option<MacAddress>, Next> {
        let mac = NdOptions::new(options).mac(option::SOURCE_LINK_LAYER).map_err(|_| Next::BadOption)?;
        if mac.is_some_and(|mac| mac.is_multicast() || mac == MacAddress::ZERO) {
            return Err(Next::BadOption);
        }
        if source.is_unspecified() && mac.is_some() {
            return Err(Next::NoSource);
        }
        let addresses = self.ingress.read(cx.guard).addresses(interface);
        let on_link = |address| addresses.iter().any(|own| own.prefix().contains(address));
        if !source.is_unspecified() && !V6::is_link_local(source) && !on_link(source) {
            return Err(Next::WrongSubnet);
        }
        match self.advertising.read(cx.guard).get(interface.index()) {
            Some(true) => Ok(mac),
            _ => Err(Next::NotAdvertising),
        }
    }
}

/// What becomes of an advertisement (RFC 4861, 6.1.2).
fn advertised(bytes: &[u8], source: Ipv6Addr, at: usize) -> Result<Next, Next> {
    let (_, options) = RouterAdvertisement::parse_at(bytes, at).ok_or(Next::TooShort)?;
    if !V6::is_link_local(source) {
        return Err(Next::NotLinkLocal);
    }
    NdOptions::new(options).mac(option::SOURCE_LINK_LAYER).map_err(|_| Next::BadOption)?;
    Err(Next::NobodyListens)
}

/// The source address of the frame that a packet came in. On links without such addresses it is not looked at.
fn sender(cx: &Context, frame: &mut Frame, i: usize) -> Option<MacAddress> {
    const BACK: isize = EthernetHeader::LENGTH as isize;
    if !frame.advance(cx.pool, i, -BACK) {
        return None;
    }
    let sender = EthernetHeader::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.source);
    frame.advance(cx.pool, i, BACK);
    sender.filter(|mac| !mac.is_multicast() && *mac != MacAddress::ZERO)
}
