//! Lists with many rules: their rules as patterns, by family.

use quiver_engine::{LANES, Mask8};
use quiver_ip::upper::Upper;
use quiver_wire::IpProtocol;

use crate::part::Ranged;
use crate::range::Range;
use crate::rule::Rule;
use crate::tuples::{Item, Pattern, Tuples};

/// Rules of a family up to which they are asked one after the other.
///
/// PERF: a rule costs eight packets about 12 operations, so 64 rules cost a packet about 100; looking into two or three tuples costs
/// as much.
pub const LINEAR_MAX: usize = 64;

/// Words of packets that patterns match: those of both addresses, the ports, the protocol.
pub const WORDS4: usize = 4;
/// The same of IPv6.
pub const WORDS6: usize = 10;

/// The rules of a family that can match its packets.
#[derive(Debug)]
pub struct Space<const W: usize> {
    /// Patterns with ports.
    whole: Tuples<W>,
    /// Patterns without ports, for later fragments whose ports are not known.
    later: Tuples<W>,
}

impl<const W: usize> Space<W> {
    /// The rules that packets of the family can match. None if there are few.
    pub fn of<F: Ranged>(rules: &[Rule]) -> Option<Space<W>> {
        let items = |with_upper| -> Vec<Item<W>> {
            let numbered = (0u32..).zip(rules);
            numbered.filter_map(|(number, rule)| item::<F, W>(rule, number, with_upper)).collect()
        };
        let whole = items(true);
        (whole.len() > LINEAR_MAX).then(|| Space { whole: Tuples::new(whole), later: Tuples::new(items(false)) })
    }
    /// The first rule that matches a packet of these words.
    pub fn find(&self, rules: &[Rule], words: &[u32; W], upper: Option<Upper>) -> Option<u32> {
        let Some(upper) = upper else { return self.later.find(words, |_| true) };
        let protocol = IpProtocol(words[W - 1] as u8);
        self.whole
            .find(words, |number| rules.get(number as usize).is_some_and(|rule| rule.meets_upper(protocol, upper)))
    }
    /// Which packets in `open` a rule matches, and which of them it permits. `words` has the packets' words in columns.
    #[inline(never)]
    pub fn find_each(
        &self,
        rules: &[Rule],
        words: &[[u32; LANES]; W],
        flags: &[u32; LANES],
        open: Mask8,
    ) -> [Mask8; 2] {
        let (mut matched, mut permitted) = (Mask8(0), Mask8(0));
        for lane in open {
            let words: [u32; W] = std::array::from_fn(|n| words[n][lane]);
            let ports = words[W - 2];
            let (source, destination) = ((ports >> 16) as u16, ports as u16);
            let upper = Upper { source, destination, tcp_flags: flags[lane] as u8 };
            if let Some(rule) = self.find(rules, &words, Some(upper)).and_then(|number| rules.get(number as usize)) {
                matched = matched | Mask8(1 << lane);
                permitted = permitted | Mask8(u8::from(rule.action.permits()) << lane);
            }
        }
        [matched, permitted]
    }
    /// Number of tuples of whole packets.
    pub fn tuples(&self) -> usize {
        self.whole.count()
    }
}

/// The pattern of a rule. None if no packet of the family can match it.
fn item<F: Ranged, const W: usize>(rule: &Rule, number: u32, with_upper: bool) -> Option<Item<W>> {
    let words = F::ADDRESS_BITS as usize / 32;
    let (mut value, mut mask) = ([0; W], [0; W]);
    for (start, prefix) in [(0, &rule.source), (words, &rule.destination)] {
        if let Some(prefix) = prefix {
            let part = F::part(prefix)?;
            for n in 0..words {
                (value[start + n], mask[start + n]) = part.word(n);
            }
        }
    }
    let protocol = rule.protocol.map(IpProtocol);
    if let Some(protocol) = protocol {
        (value[W - 1], mask[W - 1]) = (protocol.0.into(), 0xff);
    }
    let mut is_conditional = with_upper && rule.tcp_mask != 0;
    if with_upper && protocol.is_some_and(Rule::has_numbers) {
        for (range, shift) in [(rule.source_ports, 16), (rule.destination_ports, 0)] {
            if range.first == range.last {
                value[W - 2] |= u32::from(range.first) << shift;
                mask[W - 2] |= 0xffff << shift;
            } else {
                is_conditional |= range != Range::ALL;
            }
        }
    }
    Some(Item { pattern: Pattern::new(value, mask), number, is_conditional })
}

/// Distinct masks of rules, at most: as many tuples can each of a list's spaces have.
pub fn masks(rules: &[Rule]) -> usize {
    let length = |prefix: &Option<crate::prefix::AnyPrefix>| prefix.map_or(0, |prefix| usize::from(prefix.length()));
    let of = |rule: &Rule| {
        let exact = |range: Range| usize::from(range.first == range.last);
        let ports = exact(rule.source_ports) << 1 | exact(rule.destination_ports);
        let lengths = length(&rule.source) << 8 | length(&rule.destination);
        lengths << 3 | usize::from(rule.protocol.is_some()) << 2 | ports
    };
    // PERF: a set of hashes takes 65,536 rules several milliseconds.
    let (mut seen, mut count) = (vec![0u64; 1 << (2 * 8 + 3) >> 6], 0);
    for rule in rules {
        let number = of(rule);
        let (word, bit) = (number / 64, 1 << (number % 64));
        count += usize::from(seen[word] & bit == 0);
        seen[word] |= bit;
    }
    count
}
