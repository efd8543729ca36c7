//! Rules as stages ask them: about eight packets at once.

use quiver_engine::{Isa, Lanes, Mask, Mask8, PacketLanes};
use quiver_ip::Family;
use quiver_ip::upper::{UpperLanes, addresses};
use quiver_wire::{IpProtocol, Prefix, V4, V6};

use crate::prefix::AnyPrefix;
use crate::range::Range;
use crate::rule::{Action, Fields, Rule};

/// A list as workers have it.
#[derive(Clone, Debug)]
pub struct List {
    /// Its rules.
    pub rules: Box<[Rule]>,
    /// The tests of the rules that IPv4 packets can match, and of those that IPv6 packets can match.
    ip4: Box<[Test]>,
    ip6: Box<[Test]>,
    /// Whether any of them asks for the flags of TCP.
    asks_flags: bool,
}

impl List {
    /// A list of these rules.
    pub fn new(rules: &[Rule]) -> List {
        let asks_flags = rules.iter().any(|rule| rule.tcp_mask != 0);
        let (ip4, ip6) = (rules.iter().filter_map(Test::of::<V4>), rules.iter().filter_map(Test::of::<V6>));
        List { rules: rules.into(), ip4: ip4.collect(), ip6: ip6.collect(), asks_flags }
    }
    /// How packets are matched, for people.
    pub(crate) fn matching(&self) -> String {
        "one rule after the other, eight packets at once".to_owned()
    }
    /// The number of the first rule that matches a packet.
    pub fn find(&self, fields: &Fields) -> Option<usize> {
        self.rules.iter().position(|rule| rule.meets(fields))
    }
    /// The action of that rule. None if no rule matches.
    pub fn decide(&self, fields: &Fields) -> Option<Action> {
        Some(self.rules.get(self.find(fields)?)?.action)
    }
}

/// A family that rules know.
pub trait Ruled: Family {
    /// Its part of a list.
    fn tests(list: &List) -> &[Test];
    /// The words of a prefix, and of its mask; None of one of the other family.
    fn words(prefix: &AnyPrefix) -> Option<Part>;
}
impl Ruled for V4 {
    fn tests(list: &List) -> &[Test] {
        &list.ip4
    }
    fn words(prefix: &AnyPrefix) -> Option<Part> {
        if let AnyPrefix::Ip4(prefix) = prefix { Some(Part::of(prefix)) } else { None }
    }
}
impl Ruled for V6 {
    fn tests(list: &List) -> &[Test] {
        &list.ip6
    }
    fn words(prefix: &AnyPrefix) -> Option<Part> {
        if let AnyPrefix::Ip6(prefix) = prefix { Some(Part::of(prefix)) } else { None }
    }
}

/// The words of an address that have to be so, each with the bits of it that matter.
#[derive(Clone, Copy, Debug)]
pub struct Part([(u32, u32); 4]);

impl Part {
    fn of<F: Family>(prefix: &Prefix<F>) -> Part {
        let last = F::ADDRESS_BITS as u32 / 32 - 1;
        let words = |bits: u128| [0, 1, 2, 3].map(|n: u32| (bits >> (32 * last.saturating_sub(n))) as u32);
        let (value, mask) = (words(F::to_bits(prefix.address())), words(F::mask(prefix.length())));
        Part([0, 1, 2, 3].map(|n| (value[n], mask[n])))
    }
    /// The lanes of addresses that are so.
    #[inline(always)]
    fn meets<F: Family, I: Isa>(&self, address: &[Lanes<I>; 4]) -> Mask<I> {
        let is = |n: usize| {
            let (value, mask) = self.0[n];
            (address[n] & mask).eq(value)
        };
        if F::ADDRESS_BITS == 32 { is(0) } else { is(0) & is(1) & is(2) & is(3) }
    }
}

/// A rule as eight packets are asked by it.
#[derive(Clone, Debug)]
pub struct Test {
    is_permit: bool,
    protocol: Option<u32>,
    /// Ports, or types and codes: None where all are met.
    source_ports: Option<Range>,
    destination_ports: Option<Range>,
    /// Flags of TCP that matter, and how these are.
    tcp_flags: Option<(u32, u32)>,
    source: Option<Part>,
    destination: Option<Part>,
}

impl Test {
    /// Compiles a rule for one family. None if no packet of the family can match it.
    fn of<F: Ruled>(rule: &Rule) -> Option<Test> {
        let words = |prefix: &Option<AnyPrefix>| match prefix {
            None => Some(None),
            Some(prefix) => F::words(prefix).map(Some),
        };
        let (source, destination) = (words(&rule.source)?, words(&rule.destination)?);
        let protocol = rule.protocol.map(IpProtocol);
        let ports = |range: Range| (range != Range::ALL && protocol.is_some_and(Rule::has_numbers)).then_some(range);
        let flags = (u32::from(rule.tcp_mask), u32::from(rule.tcp_flags));
        Some(Test {
            is_permit: rule.action == Action::Permit,
            protocol: rule.protocol.map(u32::from),
            source_ports: ports(rule.source_ports),
            destination_ports: ports(rule.destination_ports),
            tcp_flags: (protocol == Some(IpProtocol::TCP) && flags.0 != 0).then_some(flags),
            source,
            destination,
        })
    }
    /// The lanes of packets that it meets.
    #[inline(always)]
    fn meets<F: Family, I: Isa>(&self, fields: &FieldLanes<I>, mut met: Mask<I>) -> Mask<I> {
        let upper = &fields.upper;
        if let Some(protocol) = self.protocol {
            met = met & upper.protocol.eq(protocol);
        }
        for (range, number) in [(self.source_ports, upper.source), (self.destination_ports, upper.destination)] {
            if let Some(range) = range {
                let (first, span) = (u32::from(range.first), u32::from(range.last - range.first));
                met = met.without((number - first).gt(span));
            }
        }
        if let (Some((mask, value)), Some(flags)) = (self.tcp_flags, upper.tcp_flags) {
            met = met & (flags & mask).eq(value);
        }
        for (part, address) in [(&self.source, &fields.source), (&self.destination, &fields.destination)] {
            if let Some(part) = part {
                met = met & part.meets::<F, I>(address);
            }
        }
        met
    }
}

/// The header fields of eight packets of one family that rules match.
pub struct FieldLanes<I: Isa> {
    source: [Lanes<I>; 4],
    destination: [Lanes<I>; 4],
    upper: UpperLanes<I>,
}

impl<I: Isa> FieldLanes<I> {
    /// Fields of packets whose length counts from the IP header on.
    #[inline(always)]
    pub fn of<F: Family>(p: &PacketLanes<I>) -> FieldLanes<I> {
        let [source, destination] = addresses::<F, I>(p);
        FieldLanes { source, destination, upper: UpperLanes::of::<F>(p) }
    }
    /// The packets of which it says all there is to know; of others ask [`Fields`](crate::Fields).
    #[inline(always)]
    pub fn known(&self) -> Mask<I> {
        self.upper.known
    }
    /// Evaluates a list for the packets in `open`, removes those that a rule matches, and returns the permitted ones. A packet whose
    /// window ends before a field that the list asks for moves from `open` to `unsaid`.
    #[inline(always)]
    pub fn decide<F: Ruled>(&self, list: &List, open: &mut Mask<I>, unsaid: &mut Mask<I>) -> Mask<I> {
        let mut permitted = open.with(Mask8(0));
        if list.asks_flags && self.upper.tcp_flags.is_none() {
            let is_tcp = self.upper.protocol.eq(u32::from(IpProtocol::TCP.0));
            *unsaid = *unsaid | (*open & is_tcp);
            *open = open.without(is_tcp);
        }
        for test in F::tests(list) {
            if !open.any() {
                break;
            }
            let met = test.meets::<F, I>(self, *open);
            if test.is_permit {
                permitted = permitted | met;
            }
            *open = open.without(met);
        }
        permitted
    }
}
