//! Rules, and the packet fields that they match.

use std::net::IpAddr;

use quiver_control::{ObjectError, Record};
use quiver_ip::Family;
use quiver_ip::upper::Upper;
use quiver_wire::{Header, IpHeader, IpProtocol};

use crate::prefix::AnyPrefix;
use crate::range::Range;

quiver_control::choice! {
    /// Action of a rule for matching packets.
    pub enum Action {
        /// The packet matches the list.
        Permit = "permit",
        /// The packet does not match the list, regardless of later rules.
        Deny = "deny",
        /// The packet matches the list, and packets of its flow, in both directions, pass the interface from then on.
        PermitReflect = "permit+reflect",
    } as "acl-action", "permit, permit+reflect or deny";
}

impl Action {
    /// Whether a matching packet passes.
    pub fn permits(self) -> bool {
        self != Action::Deny
    }
}

/// A rule: an action and conditions on packets. Conditions that are not set match every packet.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Rule {
    /// Action for matching packets.
    #[default(Action::Permit)]
    pub action: Action,
    /// Source prefix. A rule without source and destination matches both address families.
    pub source: Option<AnyPrefix>,
    /// Destination prefix of matching packets.
    pub destination: Option<AnyPrefix>,
    /// IP protocol number, such as 17 for UDP; for IPv6 that behind the extension headers.
    pub protocol: Option<u8>,
    /// TCP or UDP source ports, or ICMP types.
    #[default(Range::ALL)]
    pub source_ports: Range,
    /// TCP or UDP destination ports, or ICMP codes.
    #[default(Range::ALL)]
    pub destination_ports: Range,
    /// Mask of TCP flags that are compared, such as 2 for SYN and 16 for ACK.
    #[default(0)]
    pub tcp_mask: u8,
    /// Required values of the masked TCP flags.
    #[default(0)]
    pub tcp_flags: u8,
}

/// Packet fields that rules match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Source address.
    pub source: IpAddr,
    /// Destination address, of the same family.
    pub destination: IpAddr,
    /// Protocol behind the IP header and IPv6's extension headers.
    pub protocol: u8,
    /// Not of later fragments, unless shallow reassembly knows it.
    pub upper: Option<Upper>,
}

fn is_icmp(protocol: IpProtocol) -> bool {
    protocol == IpProtocol::ICMP4 || protocol == IpProtocol::ICMP6
}

impl Fields {
    /// Reads the fields of a packet, from its IP header on. None if it is malformed or truncated.
    pub fn of<F: Family>(packet: &[u8]) -> Option<Fields> {
        let (header, _) = F::Header::parse(packet)?;
        let payload = F::payload(packet)?;
        let is_later = payload.fragment.is_some_and(|place| place > 0);
        let upper = if is_later { None } else { Some(Upper::read(packet, &payload)?) };
        let (source, destination) = (header.source().into(), header.destination().into());
        Some(Fields { source, destination, protocol: payload.protocol.0, upper })
    }
    /// The fields, with ports that shallow reassembly noted for a later fragment.
    #[must_use]
    pub fn or(self, noted: Option<Upper>) -> Fields {
        Fields { upper: self.upper.or(noted), ..self }
    }
}

impl Rule {
    /// Whether it meets a packet. Of later fragments ports are not asked where they are not known, so that they go where the first
    /// one goes.
    pub fn meets(&self, fields: &Fields) -> bool {
        // What is asked with the least work comes first.
        if let Some(protocol) = self.protocol {
            if protocol != fields.protocol {
                return false;
            }
            if fields.upper.is_some_and(|upper| !self.meets_upper(IpProtocol(protocol), upper)) {
                return false;
            }
        }
        let within = |prefix: &Option<AnyPrefix>, address| prefix.is_none_or(|prefix| prefix.contains(address));
        within(&self.source, fields.source) && within(&self.destination, fields.destination)
    }
    /// Whether rules' port ranges apply to a protocol.
    pub(crate) fn has_numbers(protocol: IpProtocol) -> bool {
        matches!(protocol, IpProtocol::TCP | IpProtocol::UDP) || is_icmp(protocol)
    }
    /// Whether the rule matches the ports, or type and code, of a packet of its protocol.
    pub(crate) fn meets_upper(&self, protocol: IpProtocol, upper: Upper) -> bool {
        let numbers = self.source_ports.contains(upper.source) && self.destination_ports.contains(upper.destination);
        let flags = protocol != IpProtocol::TCP || upper.tcp_flags & self.tcp_mask == self.tcp_flags;
        (numbers || !Rule::has_numbers(protocol)) && flags
    }
    /// Checks the fields of a rule; the error names a field of the rule.
    pub(crate) fn check(&self) -> Result<(), ObjectError> {
        let wrong = |field: &str, what: &str, remedy: &str| Err(ObjectError::field(field, what).remedy(remedy));
        let protocol = self.protocol.map(IpProtocol);
        let has_ports = protocol.is_some_and(Rule::has_numbers);
        let has_all = self.source_ports == Range::ALL && self.destination_ports == Range::ALL;
        match (self.source, self.destination) {
            (Some(source), Some(destination)) if source.is_ip6() != destination.is_ip6() => {
                return wrong("destination", "it is of the other family than source", "give two of one family");
            }
            _ => {}
        }
        match () {
            () if !has_all && !has_ports => {
                wrong("source-ports", "the protocol has no ports", "name protocol 6 (TCP), 17 (UDP), 1 or 58 (ICMP)")
            }
            () if self.tcp_mask != 0 && protocol != Some(IpProtocol::TCP) => {
                wrong("tcp-mask", "the protocol has no TCP flags", "name protocol 6 (TCP)")
            }
            () if self.tcp_flags & !self.tcp_mask != 0 => {
                wrong("tcp-flags", "a flag is set that the mask excludes", "add it to tcp-mask")
            }
            () => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_testkit::packet::Packet;
    use quiver_wire::{V4, V6};

    fn fields(text: &str) -> Fields {
        let bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
        let fields = if text.starts_with("ip4") { Fields::of::<V4>(&bytes) } else { Fields::of::<V6>(&bytes) };
        fields.unwrap_or_else(|| panic!("{text}"))
    }

    fn rule(text: &str) -> Rule {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let rules = crate::text::rules(&words).unwrap_or_else(|error| panic!("{text}: {error}"));
        rules.into_iter().next().unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn rules_meet_what_they_name() {
        let udp = fields("ip4 10.0.0.1 > 10.0.1.1 ttl 64 / udp 1000 > 53 / payload 8");
        let tcp = fields("ip6 2001:db8::1 > 2001:db8:1::1 hlim 64 / tcp 1000 > 80 syn,ack seq 1 ack 2 window 9");
        let ping = fields("ip4 10.0.0.1 > 10.0.1.1 ttl 64 / icmp echo-request id 1 seq 1 / payload 8");
        let other = fields("ip4 10.0.0.1 > 10.0.1.1 ttl 64 protocol 89 / payload 8");
        for (text, met) in [
            ("permit", [true, true, true, true]),
            ("permit src 10.0.0.0/24", [true, false, true, true]),
            ("permit dst 10.0.0.0/24", [false, false, false, false]),
            ("permit src ::/0", [false, true, false, false]),
            ("permit proto 17", [true, false, false, false]),
            ("permit proto 17 dport 53", [true, false, false, false]),
            ("permit proto 17 sport 1001-65535", [false, false, false, false]),
            ("permit proto 6 sport 1000 dport 1-100", [false, true, false, false]),
            ("permit proto 6 tcpflags 18 18", [false, true, false, false]),
            ("permit proto 6 tcpflags 2 18", [false, false, false, false]),
            ("permit proto 1 sport 8 dport 0", [false, false, true, false]),
            ("permit proto 1 sport 0-7", [false, false, false, false]),
            ("permit proto 89", [false, false, false, true]),
        ] {
            let rule = rule(text);
            assert_eq!([udp, tcp, ping, other].map(|fields| rule.meets(&fields)), met, "{text}");
        }
    }

    #[test]
    fn the_first_rule_decides() {
        let rules = [rule("deny dst 10.0.1.0/24 proto 17 dport 53"), rule("permit dst 10.0.0.0/16 proto 17")];
        let list = crate::List::new(rules.clone().into());
        let to = |text: &str| list.decide(&fields(&format!("ip4 10.0.0.1 > {text} / payload 8")));
        assert_eq!(to("10.0.1.1 ttl 64 / udp 1 > 53"), Some(Action::Deny));
        assert_eq!(to("10.0.1.1 ttl 64 / udp 1 > 54"), Some(Action::Permit));
        assert_eq!(to("10.1.1.1 ttl 64 / udp 1 > 54"), None);
    }

    #[test]
    fn later_fragments_go_where_the_first_one_goes() {
        let (ports, later) = (
            rule("permit proto 17 dport 53"),
            fields("ip4 10.0.0.1 > 10.0.1.1 ttl 64 id 7 offset 800 protocol udp / payload 8"),
        );
        assert!(ports.meets(&later) && !rule("permit proto 6").meets(&later));
    }

    #[test]
    fn what_is_cut_off_has_no_fields() {
        let text = "ip4 10.0.0.1 > 10.0.1.1 ttl 64 / tcp 1000 > 80 syn seq 1 ack 2 window 9";
        let whole = text.parse::<Packet>().expect("a packet").to_bytes();
        for length in 0..34 {
            assert_eq!(Fields::of::<V4>(&whole[..length]), None, "{length}");
        }
        assert!(Fields::of::<V4>(&whole[..34]).is_some());
    }
}
