//! A frame in one line, for people: `10.1.0.2 > 20.1.2.3 icmp echo request`.
//!
//! Whatever the bytes are, the line is short, has only printable characters, and says where headers end too early. Nothing
//! is judged: checksums are not looked at.
use crate::nd::NeighborMessage;
use crate::vlan::TaggedFrame;
use crate::{
    ArpOperation, ArpPacket, EtherType, EthernetHeader, GeneveHeader, Header, Icmp4Header, Icmp4Type, Icmp6Header,
    Icmp6Type, Ip4Header, Ip6Header, IpProtocol, TcpHeader, UdpHeader, VxlanHeader, icmp4, icmp6, ip6,
};
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

/// Packets within packets of which something is said: that of a tunnel, and the one that an ICMP error in it quotes.
const DEPTH: usize = 3;
/// Said in place of a header whose bytes are not all there.
const CUT: &str = ", cut short";

/// A frame, from its Ethernet header on.
pub fn of(frame: &[u8]) -> String {
    let mut line = String::new();
    ethernet(&mut line, frame, DEPTH);
    line
}

/// A packet, from its IP header on, of either family.
pub fn of_packet(packet: &[u8]) -> String {
    let mut line = String::new();
    ip(&mut line, packet, DEPTH);
    line
}

/// Writing to a string cannot fail.
macro_rules! say {
    ($line:expr, $($what:tt)+) => {{ let _ = write!($line, $($what)+); }};
}

fn ethernet(line: &mut String, frame: &[u8], depth: usize) {
    let Some((header, _)) = EthernetHeader::parse(frame) else {
        say!(line, "{} bytes{CUT}", frame.len());
        return;
    };
    let stations = |line: &mut String| say_stations(line, header);
    let Some(tagged) = TaggedFrame::parse(frame) else {
        stations(line);
        say!(line, " {}{CUT}", header.ethertype);
        return;
    };
    for tag in [tagged.outer, tagged.inner].into_iter().flatten() {
        say!(line, "vlan {} ", tag.tci.vlan());
    }
    match tagged.ethertype {
        EtherType::ARP => arp(line, tagged.payload),
        EtherType::IP4 | EtherType::IP6 => ip(line, tagged.payload, depth),
        ethertype => {
            stations(line);
            match ethertype.is_length() {
                true => say!(line, " 802.3 length {}", ethertype.get()),
                false => say!(line, " {ethertype}"),
            };
        }
    }
}

fn say_stations(line: &mut String, header: &EthernetHeader) {
    say!(line, "{} > {}", header.source, header.destination);
}

fn arp(line: &mut String, bytes: &[u8]) {
    let Some((arp, _)) = ArpPacket::parse(bytes) else {
        say!(line, "arp{CUT}");
        return;
    };
    match arp.operation {
        _ if !arp.is_ip4_over_ethernet() => say!(line, "arp for {}", arp.protocol),
        ArpOperation::REQUEST => say!(line, "arp who has {} tell {}", arp.target(), arp.sender()),
        ArpOperation::REPLY => say!(line, "arp {} is at {}", arp.sender(), arp.sender_mac),
        ArpOperation(number) => say!(line, "arp operation {number}"),
    };
}

fn ip(line: &mut String, packet: &[u8], depth: usize) {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => ip4(line, packet, depth),
        Some(6) => ip6(line, packet, depth),
        Some(version) => say!(line, "ip version {version}"),
        None => say!(line, "ip{CUT}"),
    };
}

/// Where a packet goes, what of it there is, and how much may still be said.
struct Upper<'a> {
    source: IpAddr,
    destination: IpAddr,
    protocol: IpProtocol,
    bytes: &'a [u8],
    depth: usize,
}

fn ip4(line: &mut String, packet: &[u8], depth: usize) {
    let Some((header, _)) = Ip4Header::parse(packet) else {
        say!(line, "ip4{CUT}");
        return;
    };
    // What is behind its length is the link's; a capture may have less.
    let whole = &packet[..packet.len().min(usize::from(header.total_length.get()))];
    let upper = Upper {
        source: header.source().into(),
        destination: header.destination().into(),
        protocol: header.protocol,
        bytes: whole.get(header.header_length()..).unwrap_or_default(),
        depth,
    };
    match header.header_length() {
        0..20 => say!(line, "{} > {} ip4 header of {} bytes", upper.source, upper.destination, header.header_length()),
        _ => upper.say_part(line, header.is_fragment().then(|| header.fragment_offset())),
    };
}

fn ip6(line: &mut String, packet: &[u8], depth: usize) {
    let Some((header, rest)) = Ip6Header::parse(packet) else {
        say!(line, "ip6{CUT}");
        return;
    };
    let rest = match usize::from(header.payload_length.get()) {
        // A jumbogram, or a packet that is still to be cut (RFC 2675).
        0 => rest,
        length => &rest[..rest.len().min(length)],
    };
    let (source, destination) = (header.source().into(), header.destination().into());
    match ip6::upper(header.next_header, rest) {
        Some(found) => {
            let bytes = rest.get(found.offset..).unwrap_or_default();
            let upper = Upper { source, destination, protocol: found.protocol, bytes, depth };
            upper.say_part(line, found.fragment.map(|fragment| fragment.offset));
        }
        None => say!(line, "{source} > {destination} {}{CUT}", protocol(header.next_header)),
    };
}

/// A protocol that has no name is a number.
fn protocol(protocol: IpProtocol) -> String {
    let name = protocol.to_string();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("protocol {name}") } else { name }
}

impl Upper<'_> {
    /// A whole packet, or the part of one that begins at `offset`. Only the first part has the upper header.
    fn say_part(&self, line: &mut String, offset: Option<usize>) {
        match offset {
            Some(1..) => self.say_ends(line, &protocol(self.protocol)),
            _ => self.say(line),
        }
        if let Some(offset) = offset {
            say!(line, ", fragment at {offset}");
        }
    }

    fn say_ends(&self, line: &mut String, what: &str) {
        say!(line, "{} > {} {what}", self.source, self.destination);
    }

    fn say_ports(&self, line: &mut String, source: u16, destination: u16, what: &str) {
        let (source, destination) =
            (SocketAddr::new(self.source, source), SocketAddr::new(self.destination, destination));
        say!(line, "{source} > {destination} {what}");
    }

    fn say(&self, line: &mut String) {
        let said = match self.protocol {
            IpProtocol::TCP => self.tcp(line),
            IpProtocol::UDP => self.udp(line),
            IpProtocol::ICMP4 => self.icmp4(line),
            IpProtocol::ICMP6 => self.icmp6(line),
            IpProtocol::IP4 | IpProtocol::IP6 => {
                self.say_ends(line, &protocol(self.protocol));
                self.say_inside(line, self.bytes, ip);
                Some(())
            }
            other => {
                self.say_ends(line, &protocol(other));
                Some(())
            }
        };
        if said.is_none() {
            self.say_ends(line, &format!("{}{CUT}", protocol(self.protocol)));
        }
    }

    /// Writes a summary of the packet's payload, in parentheses.
    fn say_inside(&self, line: &mut String, bytes: &[u8], what: fn(&mut String, &[u8], usize)) {
        if let Some(depth) = self.depth.checked_sub(1).filter(|_| !bytes.is_empty()) {
            line.push_str(" (");
            what(line, bytes, depth);
            line.push(')');
        }
    }

    fn tcp(&self, line: &mut String) -> Option<()> {
        let (tcp, _) = TcpHeader::parse(self.bytes)?;
        self.say_ports(line, tcp.source_port.get(), tcp.destination_port.get(), &format!("tcp {}", tcp.flags));
        Some(())
    }

    fn udp(&self, line: &mut String) -> Option<()> {
        let (udp, inside) = UdpHeader::parse(self.bytes)?;
        let mut ends = |what: &str| self.say_ports(line, udp.source_port.get(), udp.destination_port.get(), what);
        let port = udp.destination_port.get();
        if port == VxlanHeader::PORT.0
            && let Some((vxlan, inside)) = VxlanHeader::parse(inside)
            && let Some(vni) = vxlan.vni()
        {
            ends(&format!("vxlan {vni}"));
            self.say_inside(line, inside, ethernet);
        } else if port == GeneveHeader::PORT.0
            && let Some((geneve, rest)) = GeneveHeader::parse(inside)
        {
            ends(&format!("geneve {}", geneve.vni()));
            let inside = rest.get(geneve.options_length()..).unwrap_or_default();
            let what = if geneve.protocol == EtherType::TRANSPARENT_BRIDGING { ethernet } else { ip };
            self.say_inside(line, inside, what);
        } else {
            ends("udp");
        }
        Some(())
    }

    fn icmp4(&self, line: &mut String) -> Option<()> {
        let (icmp, inside) = Icmp4Header::parse(self.bytes)?;
        self.say_ends(line, &format!("icmp {}", icmp4_name(icmp.kind, icmp.code)));
        if icmp.kind.is_error() {
            self.say_inside(line, inside, ip);
        }
        Some(())
    }

    fn icmp6(&self, line: &mut String) -> Option<()> {
        let (icmp, inside) = Icmp6Header::parse(self.bytes)?;
        self.say_ends(line, &format!("icmp6 {}", icmp6_name(icmp.kind, icmp.code)));
        if icmp.kind.is_error() {
            self.say_inside(line, inside, ip);
        }
        if matches!(icmp.kind, Icmp6Type::NEIGHBOR_SOLICITATION | Icmp6Type::NEIGHBOR_ADVERTISEMENT)
            && let Some((message, _)) = NeighborMessage::parse(self.bytes)
        {
            say!(line, " of {}", message.target());
        }
        Some(())
    }
}

/// A message's name; its number where it has none here (IANA "icmp-parameters").
fn icmp4_name(kind: Icmp4Type, code: u8) -> String {
    use icmp4::{time_exceeded, unreachable};
    let name = match (kind, code) {
        (Icmp4Type::ECHO_REQUEST, _) => "echo request",
        (Icmp4Type::ECHO_REPLY, _) => "echo reply",
        (Icmp4Type::UNREACHABLE, unreachable::NETWORK) => "network unreachable",
        (Icmp4Type::UNREACHABLE, unreachable::HOST) => "host unreachable",
        (Icmp4Type::UNREACHABLE, unreachable::PROTOCOL) => "protocol unreachable",
        (Icmp4Type::UNREACHABLE, unreachable::PORT) => "port unreachable",
        (Icmp4Type::UNREACHABLE, unreachable::FRAGMENTATION_NEEDED) => "fragmentation needed",
        (Icmp4Type::UNREACHABLE, unreachable::HOST_PROHIBITED | unreachable::PROHIBITED) => "prohibited",
        (Icmp4Type::UNREACHABLE, code) => return format!("unreachable, code {code}"),
        (Icmp4Type::TIME_EXCEEDED, time_exceeded::REASSEMBLY) => "reassembly time exceeded",
        (Icmp4Type::TIME_EXCEEDED, _) => "time exceeded",
        (Icmp4Type::PARAMETER_PROBLEM, _) => "parameter problem",
        (Icmp4Type(kind), code) => return format!("type {kind}, code {code}"),
    };
    name.to_owned()
}

/// The same of ICMPv6 (IANA "icmpv6-parameters").
fn icmp6_name(kind: Icmp6Type, code: u8) -> String {
    use icmp6::{time_exceeded, unreachable};
    let name = match (kind, code) {
        (Icmp6Type::ECHO_REQUEST, _) => "echo request",
        (Icmp6Type::ECHO_REPLY, _) => "echo reply",
        (Icmp6Type::UNREACHABLE, unreachable::NO_ROUTE) => "no route",
        (Icmp6Type::UNREACHABLE, unreachable::PROHIBITED) => "prohibited",
        (Icmp6Type::UNREACHABLE, unreachable::BEYOND_SCOPE) => "beyond scope",
        (Icmp6Type::UNREACHABLE, unreachable::ADDRESS) => "address unreachable",
        (Icmp6Type::UNREACHABLE, unreachable::PORT) => "port unreachable",
        (Icmp6Type::UNREACHABLE, code) => return format!("unreachable, code {code}"),
        (Icmp6Type::PACKET_TOO_BIG, _) => "packet too big",
        (Icmp6Type::TIME_EXCEEDED, time_exceeded::REASSEMBLY) => "reassembly time exceeded",
        (Icmp6Type::TIME_EXCEEDED, _) => "time exceeded",
        (Icmp6Type::PARAMETER_PROBLEM, _) => "parameter problem",
        (Icmp6Type::MLD_QUERY, _) => "mld query",
        (Icmp6Type::MLD_REPORT | Icmp6Type::MLD2_REPORT, _) => "mld report",
        (Icmp6Type::MLD_DONE, _) => "mld done",
        (Icmp6Type::ROUTER_SOLICITATION, _) => "router solicitation",
        (Icmp6Type::ROUTER_ADVERTISEMENT, _) => "router advertisement",
        (Icmp6Type::NEIGHBOR_SOLICITATION, _) => "neighbor solicitation",
        (Icmp6Type::NEIGHBOR_ADVERTISEMENT, _) => "neighbor advertisement",
        (Icmp6Type::REDIRECT, _) => "redirect",
        (Icmp6Type(kind), code) => return format!("type {kind}, code {code}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests;
