//! Values of a field over the packets of a stream: `10.0.0.1`, `10.0.0.1-10.0.0.9` (one after the other, then again),
//! `10.0.0.1,10.0.0.7` (a list, likewise), `random:10.0.0.1-10.0.0.9` (drawn from the stream's seed).

use std::fmt;
use std::net::Ipv4Addr;

use quiver_control::object::Scalar;
use quiver_wire::{MacAddress, VlanId};

/// Something that a field can hold, as a number.
pub trait Value: Scalar + Copy + PartialEq {
    /// The name of lists of these in grammars.
    const VALUES: &'static str;
    /// What is expected of a list of these.
    const EXPECTED_VALUES: &'static str;
    /// As a number.
    fn number(self) -> u64;
}

macro_rules! values {
    ($($type:ty, $name:literal, $example:literal, $number:expr;)*) => {$(
        impl Value for $type {
            const VALUES: &'static str = $name;
            const EXPECTED_VALUES: &'static str = concat!("a value such as ", $example, ", or a-b, a,b,c, or random:a-b");
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
}

/// The values of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<T> {
    /// Always the same.
    One(T),
    /// From the first to the last, and again.
    Range(T, T),
    /// One after the other, and again.
    List(Vec<T>),
    /// Any from the first to the last.
    Random(T, T),
}

impl<T: Value> Values<T> {
    /// The largest value.
    pub fn largest(&self) -> u64 {
        match self {
            Values::One(value) | Values::Range(_, value) | Values::Random(_, value) => value.number(),
            Values::List(list) => list.iter().map(|value| value.number()).max().unwrap_or(0),
        }
    }
    /// The smallest value.
    pub fn smallest(&self) -> u64 {
        match self {
            Values::One(value) | Values::Range(value, _) | Values::Random(value, _) => value.number(),
            Values::List(list) => list.iter().map(|value| value.number()).min().unwrap_or(0),
        }
    }
    /// The value of every packet, as a number; `seed` tells the random fields of streams apart.
    pub(crate) fn sequence(&self, seed: u64) -> Sequence {
        let count = |first: &T, last: &T| last.number() - first.number() + 1;
        match self {
            Values::One(value) => Sequence::Range { first: value.number(), count: 1 },
            Values::Range(first, last) => Sequence::Range { first: first.number(), count: count(first, last) },
            Values::List(list) => Sequence::List(list.iter().map(|value| value.number()).collect()),
            Values::Random(first, last) => Sequence::Random { first: first.number(), count: count(first, last), seed },
        }
    }
}

impl<T: Value> fmt::Display for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::One(value) => value.fmt(f),
            Values::Range(first, last) => write!(f, "{first}-{last}"),
            Values::Random(first, last) => write!(f, "random:{first}-{last}"),
            Values::List(list) => {
                let texts: Vec<_> = list.iter().map(T::to_string).collect();
                f.write_str(&texts.join(","))
            }
        }
    }
}

impl<T: Value> Scalar for Values<T> {
    const NAME: &'static str = T::VALUES;
    const EXPECTED: &'static str = T::EXPECTED_VALUES;
    fn parse(text: &str) -> Result<Self, String> {
        let range = |text: &str| match text.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (T::parse(first.trim())?, T::parse(last.trim())?);
                if last.number() < first.number() {
                    return Err(format!("{first} comes after {last}: write the smaller value first"));
                }
                Ok((first, last))
            }
            None => Err(String::new()),
        };
        if let Some(text) = text.strip_prefix("random:") {
            return range(text).map(|(first, last)| Values::Random(first, last));
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
}

/// What a field holds in the packet of each number. Nothing is kept between packets.
#[derive(Clone, Debug)]
pub(crate) enum Sequence {
    Range { first: u64, count: u64 },
    List(Vec<u64>),
    Random { first: u64, count: u64, seed: u64 },
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
        }
    }
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
    fn texts_are_read_back_and_mistakes_told() {
        for text in ["10.0.0.1", "10.0.0.1-10.0.0.9", "10.0.0.1,10.0.0.9", "random:10.0.0.1-10.0.0.9"] {
            assert_eq!(Values::<Ipv4Addr>::parse(text).expect(text).to_string(), text);
        }
        for text in ["", "x", "1-", "random:5", "1,,2", "9-3"] {
            assert!(Values::<u16>::parse(text).is_err(), "{text}");
        }
        assert_eq!(Values::<u16>::parse("9-3").unwrap_err(), "9 comes after 3: write the smaller value first");
    }
}
