//! `router-input`: router solicitations and advertisements, checked (RFC 4861, 6.1) and told to control. `icmp6-input`, where
//! they come from, has checked their checksums.

use std::net::Ipv6Addr;

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame, Generations, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::node::station;
use quiver_ip::{Family, Ingress};
use quiver_wire::nd::{self, MtuOption, NdOptions, PrefixOption, RouterAdvertisement, option};
use quiver_wire::{Header, Icmp6Header, Icmp6Type, Ip6Header, MacAddress, V6};
use zerocopy::FromBytes;

arcs! {
    /// Where packets go from here.
    pub enum Next {
        ReceivedMessage => done "heard",
        /// Messages that control sends.
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

/// The advertisements that control wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    /// All advertisements.
    pub all: bool,
    /// Advertisements on interfaces that learn from them, by number.
    pub interfaces: Vec<bool>,
}

/// A host asks for routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// The host; none that has no address yet.
    pub source: Ipv6Addr,
    /// Where it is: as it says, or else where its frame came from.
    pub mac: Option<MacAddress>,
}

/// A router advertisement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The router's address on the link.
    pub router: Ipv6Addr,
    /// Its header.
    pub header: RouterAdvertisement,
    /// Its prefix options.
    pub prefixes: Vec<PrefixOption>,
    /// Bytes of a packet that the link takes, if it says so.
    pub mtu: Option<u32>,
}

/// A message that is worth telling.
#[derive(Clone, Debug)]
pub enum Message {
    /// See [`Solicitation`].
    Solicitation(Solicitation),
    /// See [`Advertisement`].
    Advertisement(Advertisement),
}

/// A message that a node passes to control.
#[derive(Clone, Debug)]
pub struct ReceivedMessage {
    /// The interface.
    pub interface: InterfaceId,
    /// The interface's, when it was heard.
    pub generation: u32,
    /// The message.
    pub message: Message,
}

/// The node.
pub struct RouterInput {
    /// The interfaces' addresses.
    pub ingress: Snapshot<Ingress<V6>>,
    /// Which interfaces advertise, by number.
    pub advertising: Snapshot<Vec<bool>>,
    /// The advertisements that are wanted.
    pub listening: Snapshot<Listening>,
    /// Tells interfaces of one number apart.
    pub generations: Generations,
    /// Queue to control.
    pub heard: Outbox<ReceivedMessage>,
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
        let interface = InterfaceId(frame.rx[i]);
        let message = match icmp.kind {
            Icmp6Type::ROUTER_ADVERTISEMENT => {
                Message::Advertisement(self.advertised(cx, interface, source, &bytes[payload.offset..])?)
            }
            _ => {
                let mac = self.solicited(cx, interface, source, options)?;
                Message::Solicitation(Solicitation { source, mac: mac.or_else(|| station(cx, frame, i)) })
            }
        };
        let generation = self.generations.of(interface.0);
        let heard = ReceivedMessage { interface, generation, message };
        if self.heard.send(heard) { Ok(Next::ReceivedMessage) } else { Err(Next::Busy) }
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

    /// An advertisement that is worth telling (RFC 4861, 6.1.2).
    fn advertised(
        &self,
        cx: &Context,
        interface: InterfaceId,
        router: Ipv6Addr,
        message: &[u8],
    ) -> Result<Advertisement, Next> {
        let (header, options) = RouterAdvertisement::parse(message).ok_or(Next::TooShort)?;
        if !V6::is_link_local(router) {
            return Err(Next::NotLinkLocal);
        }
        if NdOptions::new(options).any(|option| option.is_err()) {
            return Err(Next::BadOption);
        }
        let listening = self.listening.read(cx.guard);
        if !listening.all && listening.interfaces.get(interface.index()) != Some(&true) {
            return Err(Next::NobodyListens);
        }
        let prefixes = NdOptions::new(options).flatten().filter(|of| of.kind == option::PREFIX);
        // Options of another length are not those that are known (RFC 4861, 4.6).
        let prefixes = prefixes.filter_map(|of| PrefixOption::read_from_bytes(of.bytes).ok()).collect();
        let mut mtus = NdOptions::new(options).flatten().filter(|of| of.kind == option::MTU);
        let mtu = mtus.find_map(|of| MtuOption::read_from_bytes(of.bytes).ok()).map(|of| of.mtu.get());
        Ok(Advertisement { router, header: *header, prefixes, mtu })
    }
}
