//! Values of a field over the packets of a stream: `10.0.0.1`, `10.0.0.1-10.0.0.9` (one after the other, then again),
//! `10.0.0.1,10.0.0.7` (a list, likewise), `28x64,16x570,4x1518` (a mix: each value so many times in a round, evenly spread),
//! `random:10.0.0.1-10.0.0.9` (drawn from the stream's seed), `drawn:1000:10.0.0.1-10.9.9.9` (so many that were drawn once, by no
//! seed, one after the other, then again).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_control::object::Scalar;
use quiver_control::serde_json::Value as Json;
use quiver_wire::{MacAddress, VlanId};

/// Something that a field can hold, as a number.
pub trait Value: Scalar + Copy + PartialEq {
    /// The name of lists of these in grammars.
    const VALUES: &'static str;
    /// Description of a list of these for errors.
    const EXPECTED_VALUES: &'static str;
    /// Values with a name of their own.
    const NAMED: &'static [(&'static str, &'static str)] = &[];
    /// The value as a number.
    fn number(self) -> u64;
    /// The bits above the 64 of the number. Values of a field differ in one of the two only.
    fn above(self) -> u64 {
        0
    }
}

quiver_control::number! {
    /// Bytes of a frame.
    pub struct FrameSize(u16) in 1..=65535 as "frame-size";
}

quiver_control::number! {
    /// A VXLAN network.
    pub struct Vni(u32) in 0..=16_777_215 as "vni";
}

macro_rules! values {
    ($($type:ty, $name:literal, $example:literal, $number:expr $(, $named:expr)?;)*) => {$(
        impl Value for $type {
            const VALUES: &'static str = $name;
            const EXPECTED_VALUES: &'static str =
                concat!("a value such as ", $example, ", or a-b, a,b,c, 3xa,1xb, random:a-b, or drawn:N:a-b");
            $(const NAMED: &'static [(&'static str, &'static str)] = $named;)?
            fn number(self) -> u64 {
                ($number)(self)
            }
        }
    )*};
}

values! {
    MacAddress, "macs", "02:00:00:00:00:01", MacAddress::to_u64;
    Ipv4Addr, "ip4s", "10.0.0.1", |address: Ipv4Addr| u64::from(u32::from(address));
    u16, "u16s", "1000", u64::from;
    VlanId, "vlans", "10", |vlan: VlanId| u64::from(vlan.get());
    Vni, "vnis", "100", |vni: Vni| u64::from(vni.get());
    FrameSize, "frame-sizes", "64 or imix", |size: FrameSize| u64::from(size.get()), &[("imix", IMIX)];
}

impl Value for Ipv6Addr {
    const VALUES: &'static str = "ip6s";
    const EXPECTED_VALUES: &'static str = "a value such as 2001:db8::1, or a-b, a,b,c, 3xa,1xb, random:a-b, or drawn:N:a-b, all in one network of 64 bits, or \
         the same host in several";
    fn number(self) -> u64 {
        self.to_bits() as u64
    }
    fn above(self) -> u64 {
        (self.to_bits() >> 64) as u64
    }
}

/// The mix of sizes that CSIT's suites call IMIX.
const IMIX: &str = "28x64,16x570,4x1518";
/// Values in a round of a mix at most.
const ROUND_MAX: u64 = 65_536;

/// The values of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<T> {
    /// Always the same.
    One(T),
    /// Counts from the first to the last, repeatedly.
    Range(T, T),
    /// Takes one after the other, repeatedly.
    List(Vec<T>),
    /// Each so many times in a round.
    Mix(Vec<(u32, T)>),
    /// Any from the first to the last.
    Random(T, T),
    /// A fixed number of values drawn from the first to the last, one after the other, repeated.
    Drawn(u32, T, T),
}

impl<T: Value> Values<T> {
    /// The largest value.
    pub fn largest(&self) -> u64 {
        self.ends().into_iter().map(T::number).max().unwrap_or(0)
    }
    /// The smallest value.
    pub fn smallest(&self) -> u64 {
        self.ends().into_iter().map(T::number).min().unwrap_or(0)
    }
    /// The values that are written down.
    fn ends(&self) -> Vec<T> {
        match self {
            Values::One(value) => vec![*value],
            Values::Range(first, last) | Values::Random(first, last) | Values::Drawn(_, first, last) => {
                vec![*first, *last]
            }
            Values::List(list) => list.clone(),
            Values::Mix(parts) => parts.iter().map(|(_, value)| *value).collect(),
        }
    }
    /// Whether all values have this in common.
    fn share(&self, part: fn(T) -> u64) -> bool {
        let parts: Vec<u64> = self.ends().into_iter().map(part).collect();
        parts.windows(2).all(|pair| pair[0] == pair[1])
    }
    /// Whether they differ above the 64 bits of their numbers: what varies is that, and the numbers are the same.
    pub(crate) fn vary_above(&self) -> bool {
        !self.share(T::above)
    }
    /// The upper bits of the first value, and its number.
    pub(crate) fn first(&self) -> [u64; 2] {
        self.ends().first().map_or([0; 2], |value| [value.above(), value.number()])
    }
    /// The varying part of the value of every packet; `seed` tells the random fields of streams apart.
    pub(crate) fn sequence(&self, seed: u64) -> Sequence {
        let part = if self.vary_above() { T::above } else { T::number };
        // The last of all 2^64 IPv6 addresses of a network is left out rather than that none is.
        let count = |first: &T, last: &T| (part(*last) - part(*first)).saturating_add(1);
        match self {
            Values::One(value) => Sequence::Range { first: part(*value), count: 1 },
            Values::Range(first, last) => Sequence::Range { first: part(*first), count: count(first, last) },
            Values::List(list) => Sequence::List(list.iter().map(|value| part(*value)).collect()),
            Values::Mix(parts) => Sequence::List(round(parts, part)),
            Values::Random(first, last) => Sequence::Random { first: part(*first), count: count(first, last), seed },
            Values::Drawn(draws, first, last) => {
                Sequence::Drawn { ends: [part(*first), part(*last)], count: (*draws).into() }
            }
        }
    }
}

/// A round of a mix. The k-th of n copies of a value stands at (2k + 1) / 2n of the round, so that each value comes at even
/// distances.
fn round<T: Value>(parts: &[(u32, T)], part: fn(T) -> u64) -> Vec<u64> {
    let places = |(weight, value): &(u32, T)| {
        let (weight, number) = (u64::from(*weight), part(*value));
        (0..weight).map(move |k| (2 * k + 1, weight, number))
    };
    let mut round: Vec<_> = parts.iter().flat_map(places).collect();
    // Sorting is stable: of values in the same place, the one written first comes first.
    round.sort_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)));
    round.into_iter().map(|(.., number)| number).collect()
}

impl<T: Value> fmt::Display for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::One(value) => value.fmt(f),
            Values::Range(first, last) => write!(f, "{first}-{last}"),
            Values::Random(first, last) => write!(f, "random:{first}-{last}"),
            Values::Drawn(count, first, last) => write!(f, "drawn:{count}:{first}-{last}"),
            Values::List(list) => {
                let texts: Vec<_> = list.iter().map(T::to_string).collect();
                f.write_str(&texts.join(","))
            }
            Values::Mix(parts) => {
                let texts: Vec<_> = parts.iter().map(|(weight, value)| format!("{weight}x{value}")).collect();
                f.write_str(&texts.join(","))
            }
        }
    }
}

/// A part of a mix, `28x64`; without a weight, it has a weight of 1.
fn part<T: Value>(text: &str) -> Result<(u32, T), String> {
    let (weight, value) = text.split_once('x').unwrap_or(("1", text));
    match u32::parse(weight.trim()) {
        Ok(weight) if weight > 0 => Ok((weight, T::parse(value.trim())?)),
        _ => Err(format!("'{weight}' is no weight: write how many times in a round the value comes, such as 28x64")),
    }
}

/// A mix, `28x64,16x570,4x1518`.
fn mix<T: Value>(text: &str) -> Result<Values<T>, String> {
    let parts = text.split(',').map(|text| part(text.trim())).collect::<Result<Vec<(u32, T)>, _>>()?;
    match parts.iter().map(|(weight, _)| u64::from(*weight)).sum() {
        ..=ROUND_MAX => Ok(Values::Mix(parts)),
        sum => Err(format!("a round of {sum} is too long: use weights whose sum is at most {ROUND_MAX}")),
    }
}

impl<T: Value> Scalar for Values<T> {
    const NAME: &'static str = T::VALUES;
    const EXPECTED: &'static str = T::EXPECTED_VALUES;
    fn parse(text: &str) -> Result<Self, String> {
        let values = read(text)?;
        match values.share(T::above) || values.share(T::number) {
            true => Ok(values),
            false => {
                Err("these addresses are different hosts in several networks of 64 bits: choose one network, or one \
                host"
                    .into())
            }
        }
    }
    fn number_schema() -> Option<Json> {
        // One value is written as by itself.
        let one = T::schema();
        if one["type"] == "integer" { Some(one) } else { T::number_schema() }
    }
}

/// Values as they are written.
fn read<T: Value>(text: &str) -> Result<Values<T>, String> {
    let range = |text: &str| match text.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (T::parse(first.trim())?, T::parse(last.trim())?);
            if (last.above(), last.number()) < (first.above(), first.number()) {
                return Err(format!("{first} comes after {last}: write the smaller value first"));
            }
            Ok((first, last))
        }
        None => Err(String::new()),
    };
    if let Some(text) = text.strip_prefix("random:") {
        return range(text).map(|(first, last)| Values::Random(first, last));
    }
    if let Some((count, text)) = text.strip_prefix("drawn:").and_then(|text| text.split_once(':')) {
        let (first, last) = range(text)?;
        return match u32::parse(count.trim()) {
            Ok(count) if count > 0 => Ok(Values::Drawn(count, first, last)),
            _ => {
                Err(format!("'{count}' is no number of values: write one from 1 on, such as drawn:1000:{first}-{last}"))
            }
        };
    }
    if let Some((_, meant)) = T::NAMED.iter().find(|(name, _)| *name == text) {
        return read(meant);
    }
    if text.contains('x') {
        return mix(text);
    }
    if text.contains(',') {
        return text.split(',').map(|part| T::parse(part.trim())).collect::<Result<_, _>>().map(Values::List);
    }
    if let Ok(value) = T::parse(text) {
        return Ok(Values::One(value));
    }
    match text.contains('-') {
        true => range(text).map(|(first, last)| Values::Range(first, last)),
        false => T::parse(text).map(Values::One),
    }
}

/// The value of a field by the packet's number. No state is kept between packets.
#[derive(Clone, Debug)]
pub(crate) enum Sequence {
    Range { first: u64, count: u64 },
    List(Vec<u64>),
    Random { first: u64, count: u64, seed: u64 },
    Drawn { ends: [u64; 2], count: u64 },
}

impl Sequence {
    pub fn is_constant(&self) -> bool {
        matches!(self, Sequence::Range { count: 1, .. })
    }
    #[inline]
    pub fn at(&self, packet: u64) -> u64 {
        match self {
            Sequence::Range { first, count } => first + packet % count,
            Sequence::List(list) => list.get((packet % list.len().max(1) as u64) as usize).copied().unwrap_or(0),
            Sequence::Random { first, count, seed } => first + mixed(seed.wrapping_add(packet)) % count,
            Sequence::Drawn { ends, count } => drawn(*ends, packet % count),
        }
    }
}

/// The draw of a number between two ends, which are possible, too: as `drawn:` has it.
///
/// PERF: the upper half of a product is as even as a remainder, and no division.
#[inline]
pub fn drawn([first, last]: [u64; 2], number: u64) -> u64 {
    let span = u128::from(last.saturating_sub(first)) + 1;
    first + ((u128::from(mixed(number)) * span) >> 64) as u64
}

/// A number that looks drawn by lot: the finaliser of the generator SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_six<T: Value>(text: &str) -> Vec<u64> {
        let sequence = Values::<T>::parse(text).expect(text).sequence(7);
        (0..6).map(|packet| sequence.at(packet)).collect()
    }

    #[test]
    fn fields_are_fixed_or_step_or_follow_a_list() {
        assert_eq!(first_six::<u16>("5"), [5; 6]);
        assert_eq!(first_six::<u16>("5-7"), [5, 6, 7, 5, 6, 7]);
        assert_eq!(first_six::<u16>("9, 1"), [9, 1, 9, 1, 9, 1]);
        assert_eq!(first_six::<Ipv4Addr>("10.0.0.255-10.0.1.0")[..3], [0x0a00_00ff, 0x0a00_0100, 0x0a00_00ff]);
        assert_eq!(first_six::<MacAddress>("02:00:00:00:00:ff-02:00:00:00:01:00")[1], 0x0200_0000_0100);
    }

    #[test]
    fn random_fields_follow_from_the_seed_and_stay_inside() {
        let values = Values::<u16>::parse("random:100-103").expect("a range");
        let draw = |seed| (0..200).map(|packet| values.sequence(seed).at(packet)).collect::<Vec<_>>();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let seen: std::collections::BTreeSet<_> = draw(1).into_iter().collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [100, 101, 102, 103]);
    }

    #[test]
    fn a_mix_has_its_weights_in_every_round_and_is_spread() {
        let mix = Values::<FrameSize>::parse("imix").expect("it has this name");
        assert_eq!(mix.to_string(), "28x64,16x570,4x1518");
        assert_eq!((mix.smallest(), mix.largest()), (64, 1518));
        let sequence = mix.sequence(0);
        // Whichever packet a round of 48 begins with.
        for start in 0..96 {
            let count = |size| (start..start + 48).filter(|packet| sequence.at(*packet) == size).count();
            assert_eq!((count(64), count(570), count(1518)), (28, 16, 4), "from {start}");
            let quarter = (start..start + 12).filter(|packet| sequence.at(*packet) == 1518).count();
            assert_eq!(quarter, 1, "from {start}: they do not come in a row");
        }
        assert_eq!(first_six::<u16>("2x7,9"), [7, 9, 7, 7, 9, 7]);
        assert_eq!(first_six::<Ipv4Addr>("3x0.0.0.1, 1x0.0.0.2"), [1, 1, 2, 1, 1, 1]);
        assert_eq!(first_six::<u16>("5x3"), [3; 6]);
    }

    #[test]
    fn addresses_of_ip6_share_a_network() {
        assert_eq!(first_six::<Ipv6Addr>("2001:1::fe-2001:1::100")[..4], [0xfe, 0xff, 0x100, 0xfe]);
        let values = Values::<Ipv6Addr>::parse("random:2001:1::2-2001:1::fe").expect("a range");
        assert_eq!((values.first(), values.largest()), ([0x2001_0001_0000_0000, 2], 0xfe));
        assert_eq!(values.to_string(), "random:2001:1::2-2001:1::fe");
        for text in ["2001:1::1-2001:2::2", "::1,1::2", "random:::-1::1", "2x::1,3x1::2,1x1::1", "drawn:9:::1-1::2"] {
            let error = Values::<Ipv6Addr>::parse(text).expect_err(text);
            assert!(error.contains("several networks"), "{text}: {error}");
        }
        let all = Values::<Ipv6Addr>::parse("2001::-2001::ffff:ffff:ffff:ffff").expect("a network").sequence(0);
        assert_eq!((all.at(0), all.at(u64::MAX)), (0, 0));
    }

    #[test]
    fn or_they_are_one_host_of_many_networks() {
        let networks = first_six::<Ipv6Addr>("2001:1::7-2001:1:0:1::7");
        assert_eq!(networks[..3], [0x2001_0001_0000_0000, 0x2001_0001_0000_0001, 0x2001_0001_0000_0000]);
        assert_eq!(first_six::<Ipv6Addr>("1::7,2::7")[..2], [1 << 48, 2 << 48]);
        for text in ["1::7,2::7", "random:1::7-2::7", "2x1::7,1x2::7", "drawn:5:1::7-2::7"] {
            let values = Values::<Ipv6Addr>::parse(text).expect(text);
            assert!(values.vary_above() && values.first() == [1 << 48, 7], "{text}");
            assert_eq!(values.to_string(), text);
        }
        assert!(!Values::<Ipv6Addr>::parse("1::7,1::7").expect("a list").vary_above());
    }

    #[test]
    fn what_is_drawn_once_comes_again_whatever_the_seed() {
        let values = Values::<Ipv4Addr>::parse("drawn:1000:10.0.0.0-10.255.255.255").expect("values");
        let draw = |seed, from| (from..from + 1000).map(|n| values.sequence(seed).at(n)).collect::<Vec<_>>();
        assert_eq!((draw(1, 0), draw(1, 3000)), (draw(2, 0), draw(2, 0)));
        let ends = [0x0a00_0000, 0x0aff_ffff];
        assert!((0..1000).all(|n| draw(0, 0)[n as usize] == drawn(ends, n)));
        let different: std::collections::BTreeSet<_> = draw(0, 0).into_iter().collect();
        assert!(different.len() > 990 && different.iter().all(|value| (ends[0]..=ends[1]).contains(value)));
        let of_four: std::collections::BTreeSet<_> = (0..100).map(|n| drawn([5, 8], n)).collect();
        assert_eq!(of_four.into_iter().collect::<Vec<_>>(), [5, 6, 7, 8]);
        let all = [0, u64::MAX];
        assert!(drawn(all, 1) != drawn(all, 2));
        for text in ["drawn:0:1-2", "drawn:x:1-2", "drawn:5", "drawn:5:7", "drawn:5:3-2"] {
            assert!(Values::<u16>::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn texts_are_read_back_and_mistakes_told() {
        for text in ["28x64,16x570,4x1518", "1x9", "1x64,1x9000"] {
            assert_eq!(Values::<FrameSize>::parse(text).expect(text).to_string(), text);
        }
        for text in ["0x64", "x64", "2x", "2x64,,", "-1x64", "2x0", "2x64-65", "65536x64,64", "4294967295x64,9x9"] {
            assert!(Values::<FrameSize>::parse(text).is_err(), "{text}");
        }
        assert!(Values::<u16>::parse("imix").is_err(), "sizes have this name, ports do not");
        for text in ["10.0.0.1", "10.0.0.1-10.0.0.9", "10.0.0.1,10.0.0.9", "random:10.0.0.1-10.0.0.9"] {
            assert_eq!(Values::<Ipv4Addr>::parse(text).expect(text).to_string(), text);
        }
        for text in ["", "x", "1-", "random:5", "1,,2", "9-3"] {
            assert!(Values::<u16>::parse(text).is_err(), "{text}");
        }
        assert_eq!(Values::<u16>::parse("9-3").unwrap_err(), "9 comes after 3: write the smaller value first");
    }
}
