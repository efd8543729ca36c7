//! Rules as stages ask them: about eight packets at once.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use quiver_engine::{Isa, LANES, Lanes, Mask, Mask8, PacketLanes};
use quiver_ip::Family;
use quiver_ip::upper::{UpperLanes, addresses};
use quiver_wire::{IpProtocol, V4, V6};

use crate::part::{Part, Ranged};
use crate::prefix::AnyPrefix;
use crate::range::Range;
use crate::rule::{Action, Fields, Rule};
use crate::space::{Space, WORDS4, WORDS6};

/// A list as workers have it.
#[derive(Debug)]
pub struct List {
    /// Its rules.
    pub rules: Arc<[Rule]>,
    ip4: Compiled<WORDS4>,
    ip6: Compiled<WORDS6>,
    /// Whether any of them asks for the flags of TCP.
    asks_flags: bool,
    /// Whether any of them begins sessions.
    reflects: bool,
}

/// The rules that packets of a family can match: tests if they are few, or a space.
#[derive(Debug)]
struct Compiled<const W: usize> {
    tests: Box<[Test]>,
    space: Option<Space<W>>,
}

impl<const W: usize> Compiled<W> {
    fn of<F: Ranged>(rules: &[Rule]) -> Compiled<W> {
        let space = Space::of::<F>(rules);
        let tests = if space.is_some() { Box::default() } else { rules.iter().filter_map(Test::of::<F>).collect() };
        Compiled { tests, space }
    }
    /// The number of the first rule that matches a packet of these words.
    fn find(&self, rules: &[Rule], fields: &Fields, words: impl Fn() -> [u32; W]) -> Option<usize> {
        match &self.space {
            None => rules.iter().position(|rule| rule.meets(fields)),
            Some(space) => space.find(rules, &words(), fields.upper).map(|number| number as usize),
        }
    }
    /// For people.
    fn matching(&self) -> String {
        match &self.space {
            None => format!("{} rules one after the other", self.tests.len()),
            Some(space) => format!("{} tuples", space.tuples()),
        }
    }
}

impl List {
    /// A list of these rules.
    pub fn new(rules: Arc<[Rule]>) -> List {
        let asks_flags = rules.iter().any(|rule| rule.tcp_mask != 0);
        let (ip4, ip6) = (Compiled::of::<V4>(&rules), Compiled::of::<V6>(&rules));
        let reflects = rules.iter().any(|rule| rule.action == Action::PermitReflect);
        List { rules, ip4, ip6, asks_flags, reflects }
    }
    /// Name of the classification method, for `show acl-plugin tables`.
    pub(crate) fn matching(&self) -> String {
        format!("IPv4: {}; IPv6: {}", self.ip4.matching(), self.ip6.matching())
    }
    /// The number of the first rule that matches a packet.
    pub fn find(&self, fields: &Fields) -> Option<usize> {
        let (upper, protocol) = (fields.upper.unwrap_or_default(), u32::from(fields.protocol));
        let ports = u32::from(upper.source) << 16 | u32::from(upper.destination);
        match (fields.source, fields.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let words = || [u32::from(source), u32::from(destination), ports, protocol];
                self.ip4.find(&self.rules, fields, words)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => self.ip6.find(&self.rules, fields, || {
                let ([a, b, c, d], [e, f, g, h]) = (words(source), words(destination));
                [a, b, c, d, e, f, g, h, ports, protocol]
            }),
            _ => None,
        }
    }
    /// The first rule that matches a packet, and its number.
    pub fn first(&self, fields: &Fields) -> Option<(usize, &Rule)> {
        let number = self.find(fields)?;
        Some((number, self.rules.get(number)?))
    }
    /// The action of that rule. None if no rule matches.
    pub fn decide(&self, fields: &Fields) -> Option<Action> {
        self.first(fields).map(|(_, rule)| rule.action)
    }
    /// Whether a rule begins sessions.
    pub(crate) fn reflects(&self) -> bool {
        self.reflects
    }
}

/// The four words of an address.
fn words(address: Ipv6Addr) -> [u32; 4] {
    let bits = u128::from(address);
    [96, 64, 32, 0].map(|shift: u32| (bits >> shift) as u32)
}

/// A family that rules know.
pub trait Ruled: Ranged {
    /// The tests of a list, if it has few rules of the family.
    fn tests(list: &List) -> &[Test];
    /// Whether the list has more.
    fn has_space(list: &List) -> bool;
    /// Of a list with a space: which packets in `open` a rule matches, and which of them it permits.
    fn find_each<I: Isa>(list: &List, fields: &FieldLanes<I>, open: Mask8) -> [Mask8; 2];
}
impl Ruled for V4 {
    #[inline(always)]
    fn tests(list: &List) -> &[Test] {
        &list.ip4.tests
    }
    #[inline(always)]
    fn has_space(list: &List) -> bool {
        list.ip4.space.is_some()
    }
    #[inline(always)]
    fn find_each<I: Isa>(list: &List, fields: &FieldLanes<I>, open: Mask8) -> [Mask8; 2] {
        let Some(space) = &list.ip4.space else { return [Mask8(0); 2] };
        let [ports, protocol, flags] = fields.upper_words();
        let words = [fields.source[0].array(), fields.destination[0].array(), ports, protocol];
        space.find_each(&list.rules, &words, &flags, open)
    }
}
impl Ruled for V6 {
    #[inline(always)]
    fn tests(list: &List) -> &[Test] {
        &list.ip6.tests
    }
    #[inline(always)]
    fn has_space(list: &List) -> bool {
        list.ip6.space.is_some()
    }
    #[inline(always)]
    fn find_each<I: Isa>(list: &List, fields: &FieldLanes<I>, open: Mask8) -> [Mask8; 2] {
        let Some(space) = &list.ip6.space else { return [Mask8(0); 2] };
        let [ports, protocol, flags] = fields.upper_words();
        let mut words = [ports; WORDS6];
        for n in 0..4 {
            (words[n], words[4 + n]) = (fields.source[n].array(), fields.destination[n].array());
        }
        words[WORDS6 - 1] = protocol;
        space.find_each(&list.rules, &words, &flags, open)
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
    fn of<F: Ranged>(rule: &Rule) -> Option<Test> {
        let words = |prefix: &Option<AnyPrefix>| match prefix {
            None => Some(None),
            Some(prefix) => F::part(prefix).map(Some),
        };
        let (source, destination) = (words(&rule.source)?, words(&rule.destination)?);
        let protocol = rule.protocol.map(IpProtocol);
        let ports = |range: Range| (range != Range::ALL && protocol.is_some_and(Rule::has_numbers)).then_some(range);
        let flags = (u32::from(rule.tcp_mask), u32::from(rule.tcp_flags));
        Some(Test {
            is_permit: rule.action.permits(),
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
    /// The packets of which it says all there is to know; of others ask [`Fields`].
    #[inline(always)]
    pub fn known(&self) -> Mask<I> {
        self.upper.known
    }
    /// Ports, protocol and flags, each in a column.
    #[inline(always)]
    fn upper_words(&self) -> [[u32; LANES]; 3] {
        let ports = self.upper.source << 16 | self.upper.destination;
        let flags = self.upper.tcp_flags.map_or([0; LANES], |flags| flags.array());
        [ports.array(), self.upper.protocol.array(), flags]
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
        if F::has_space(list) {
            let [matched, passed] = F::find_each(list, self, open.bits());
            *open = open.without(open.with(matched));
            return open.with(passed);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Action;
    use crate::space::LINEAR_MAX;
    use fastrand::Rng;
    use quiver_ip::upper::Upper;

    /// An address of a network of so many bits; few of its hosts.
    fn address(r: &mut Rng, is_ip6: bool) -> IpAddr {
        let (net, host) = (r.u16(..8), r.u16(..300));
        match is_ip6 {
            false => IpAddr::from([10, net as u8, (host >> 8) as u8, host as u8]),
            true => IpAddr::from([0x2001, 0xdb8, net, 0, 0, 0, 0, host]),
        }
    }

    fn rule(r: &mut Rng) -> Rule {
        let is_ip6 = r.bool();
        let prefix = |r: &mut Rng| {
            let length =
                if is_ip6 { [0, 32, 48, 64, 127, 128][r.usize(..6)] } else { [0, 8, 16, 24, 31, 32][r.usize(..6)] };
            let text = format!("{}/{length}", address(r, is_ip6));
            (r.u8(..8) > 0).then(|| <AnyPrefix as quiver_control::object::Scalar>::parse(&text).expect(&text))
        };
        let (source, destination) = (prefix(r), prefix(r));
        let protocol = [None, Some(6), Some(17), Some(89), Some(1)][r.usize(..5)];
        let range = |r: &mut Rng| {
            let (one, other) = (r.u16(..40), r.u16(..40));
            let all =
                [Range::ALL, Range { first: one, last: one }, Range { first: one.min(other), last: one.max(other) }];
            if protocol.is_some_and(|number| number != 89) { all[r.usize(..3)] } else { Range::ALL }
        };
        let (source_ports, destination_ports) = (range(r), range(r));
        let tcp_mask = if protocol == Some(6) { [0, 2, 18][r.usize(..3)] } else { 0 };
        let action = [Action::Permit, Action::Deny, Action::PermitReflect][r.usize(..3)];
        let tcp_flags = r.u8(..) & tcp_mask;
        Rule { action, source, destination, protocol, source_ports, destination_ports, tcp_mask, tcp_flags }
    }

    fn fields(r: &mut Rng) -> Fields {
        let is_ip6 = r.bool();
        let (source, destination) = (address(r, is_ip6), address(r, is_ip6));
        let protocol = [6, 17, 89, 1][r.usize(..4)];
        let known = Upper { source: r.u16(..40), destination: r.u16(..40), tcp_flags: r.u8(..) };
        let upper = match protocol {
            _ if r.u8(..8) == 0 => None,
            89 => Some(Upper::default()),
            6 => Some(known),
            _ => Some(Upper { tcp_flags: 0, ..known }),
        };
        Fields { source, destination, protocol, upper }
    }

    #[test]
    fn lists_of_any_length_find_the_rule_that_a_naive_search_finds() {
        let mut r = Rng::with_seed(7);
        let (mut first, mut later, mut none) = (0, 0, 0);
        for round in 0..60 {
            let count = [10, LINEAR_MAX, 3 * LINEAR_MAX, 2000][round % 4];
            // Rules that match much stand behind those that match little, so that many of them decide.
            let mut rules: Vec<Rule> = (0..count).map(|_| rule(&mut r)).collect();
            let length = |prefix: Option<AnyPrefix>| prefix.map_or(0, |prefix| u32::from(prefix.length()));
            rules.sort_by_key(|rule| std::cmp::Reverse(length(rule.source) + length(rule.destination)));
            rules.truncate(count - count / 8);
            let list = List::new(rules.clone().into());
            for _ in 0..200 {
                let fields = fields(&mut r);
                let naive = rules.iter().position(|rule| rule.meets(&fields));
                assert_eq!(list.find(&fields), naive, "round {round}: {fields:?}");
                match naive {
                    Some(number) if number < LINEAR_MAX => first += 1,
                    Some(_) => later += 1,
                    None => none += 1,
                }
            }
        }
        assert!(first > 500 && later > 500 && none > 500, "{first}, {later}, {none}");
    }
}
