//! Masks and values in VPP's words.
//!
//! ```text
//! mask  l2 dst proto  l3 ip4 src/24 dst  l4 dst_port
//! match l2 dst 02:00:00:00:00:01 proto ip4  l3 ip4 src 10.1.2.0 dst 10.0.0.1  l4 dst_port 53
//! mask  hex 00f0      match hex 0040
//! ```
//!
//! Places are those of frames without tags, and of IPv4 headers without options.

use std::iter::Peekable;
use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_wire::{EtherType, MacAddress};

use crate::table::MASK_MAX;

/// Why words are no mask, or no value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// A word that no field has.
    #[error("`{found}` cannot stand here; expected {expected}")]
    Unknown {
        /// The word.
        found: String,
        /// Valid words.
        expected: String,
    },
    /// Nothing where something is expected.
    #[error("the words end too early; expected {0}")]
    Ends(String),
    /// A value that does not fit its field.
    #[error("{field} {value}: expected {expected}")]
    Value {
        /// The field.
        field: &'static str,
        /// The given value.
        value: String,
        /// Valid values.
        expected: &'static str,
    },
}

/// Arguments of `classify filter`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilterArguments {
    /// Whether to delete the table.
    pub del: bool,
    /// The mask.
    pub mask: Option<Vec<u8>>,
    /// The value to look for.
    pub value: Option<Vec<u8>>,
}

/// Reads `[del] [mask ...] [match ...]`. `buckets N` and `memory-size N`, which VPP needs to be told, change nothing here.
pub fn words(text: &[String]) -> Result<FilterArguments, TextError> {
    let (mut read, mut words) = (FilterArguments::default(), text.iter().map(String::as_str).peekable());
    while let Some(word) = words.next() {
        match word {
            "del" => read.del = true,
            "mask" => read.mask = Some(bytes(&mut words, Part::Mask)?),
            "match" => read.value = Some(bytes(&mut words, Part::Match)?),
            "buckets" | "memory-size" => _ = next(&mut words, "a number")?,
            found => return Err(unknown(found, "mask, match or del")),
        }
    }
    Ok(read)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Mask,
    Match,
}

/// Format of a field's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Mac,
    EtherType,
    Ip4,
    Ip6,
    Number,
}

/// A field: its words, where it lies in a frame, how many bytes it has.
struct Field(&'static [&'static str], usize, usize, Form);

const L2: &[Field] =
    &[Field(&["dst"], 0, 6, Form::Mac), Field(&["src"], 6, 6, Form::Mac), Field(&["proto"], 12, 2, Form::EtherType)];
const IP4: &[Field] = &[
    Field(&["tos"], 15, 1, Form::Number),
    Field(&["length"], 16, 2, Form::Number),
    Field(&["fragment_id"], 18, 2, Form::Number),
    Field(&["ttl"], 22, 1, Form::Number),
    Field(&["proto", "protocol"], 23, 1, Form::Number),
    Field(&["checksum"], 24, 2, Form::Number),
    Field(&["src"], 26, 4, Form::Ip4),
    Field(&["dst"], 30, 4, Form::Ip4),
];
const IP6: &[Field] = &[
    Field(&["payload_length"], 18, 2, Form::Number),
    Field(&["proto", "protocol"], 20, 1, Form::Number),
    Field(&["hop_limit"], 21, 1, Form::Number),
    Field(&["src"], 22, 16, Form::Ip6),
    Field(&["dst"], 38, 16, Form::Ip6),
];
const PORTS4: &[Field] = &[Field(&["src_port"], 34, 2, Form::Number), Field(&["dst_port"], 36, 2, Form::Number)];
const PORTS6: &[Field] = &[Field(&["src_port"], 54, 2, Form::Number), Field(&["dst_port"], 56, 2, Form::Number)];

/// Reads layers and their fields up to a word that belongs to something else.
fn bytes<'w>(words: &mut Peekable<impl Iterator<Item = &'w str>>, part: Part) -> Result<Vec<u8>, TextError> {
    let (mut bytes, mut ports) = (vec![0; MASK_MAX], PORTS4);
    while let Some(layer) = words.next_if(|word| ["hex", "l2", "l3", "l4"].contains(word)) {
        let fields = match layer {
            "hex" => {
                put(&mut bytes, 0, &hex(next(words, "hexadecimal digits")?)?);
                continue;
            }
            "l2" => L2,
            "l3" => match next(words, "ip4 or ip6")? {
                "ip4" => IP4,
                "ip6" => {
                    ports = PORTS6;
                    IP6
                }
                found => return Err(unknown(found, "ip4 or ip6")),
            },
            _ => {
                words.next_if(|word| ["tcp", "udp"].contains(word));
                ports
            }
        };
        let mut any = false;
        while let Some((field, width)) = words.peek().and_then(|word| named(fields, word, part)) {
            let Field(names, at, length, form) = field;
            words.next();
            any = true;
            let value = match part {
                Part::Mask => ones(width.unwrap_or(8 * length), *length),
                Part::Match => value(names[0], next(words, names[0])?, *length, *form)?,
            };
            put(&mut bytes, *at, &value);
        }
        if !any {
            let names = fields.iter().map(|field| field.0[0]).collect::<Vec<_>>().join(", ");
            return match words.next() {
                Some(found) => Err(unknown(found, &names)),
                None => Err(TextError::Ends(names)),
            };
        }
    }
    Ok(bytes)
}

/// The field that a word names, and of an address in a mask how many bits of it count: `src/24`.
fn named<'f>(fields: &'f [Field], word: &str, part: Part) -> Option<(&'f Field, Option<usize>)> {
    let (name, width) = match word.split_once('/') {
        Some((name, width)) if part == Part::Mask => (name, Some(width.parse().ok()?)),
        _ => (word, None),
    };
    let field = fields.iter().find(|field| field.0.contains(&name))?;
    let fits = width.is_none_or(|width| matches!(field.3, Form::Ip4 | Form::Ip6) && width <= 8 * field.2);
    fits.then_some((field, width))
}

/// The first `bits` of `length` bytes.
fn ones(bits: usize, length: usize) -> Vec<u8> {
    (0..length).map(|byte| !(0xffu16 >> bits.saturating_sub(8 * byte).min(8)) as u8).collect()
}

fn value(field: &'static str, word: &str, length: usize, form: Form) -> Result<Vec<u8>, TextError> {
    let number = || match word.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    let of_number = |number: u16| match length {
        1 => u8::try_from(number).ok().map(|byte| vec![byte]),
        _ => Some(number.to_be_bytes().to_vec()),
    };
    let (read, expected) = match form {
        Form::Mac => (word.parse().ok().map(|MacAddress(mac)| mac.to_vec()), "an address such as 02:00:00:00:00:01"),
        Form::Ip4 => (word.parse().ok().map(|address: Ipv4Addr| address.octets().to_vec()), "an IPv4 address"),
        Form::Ip6 => (word.parse().ok().map(|address: Ipv6Addr| address.octets().to_vec()), "an IPv6 address"),
        Form::EtherType => (ethertype(word).or_else(number).and_then(of_number), "ip4, ip6, arp or a number"),
        Form::Number if length == 1 => (number().and_then(of_number), "a number up to 255"),
        Form::Number => (number().and_then(of_number), "a number up to 65535"),
    };
    read.ok_or_else(|| TextError::Value { field, value: word.to_owned(), expected })
}

fn ethertype(word: &str) -> Option<u16> {
    let known = [("ip4", EtherType::IP4.get()), ("ip6", 0x86dd), ("arp", EtherType::ARP.get())];
    known.into_iter().find_map(|(name, number)| (name == word).then_some(number))
}

/// Up to [`MASK_MAX`] bytes.
fn hex(digits: &str) -> Result<Vec<u8>, TextError> {
    let wrong =
        || TextError::Value { field: "hex", value: digits.to_owned(), expected: "an even number of digits, up to 512" };
    if digits.is_empty() || digits.len() > 2 * MASK_MAX || !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err(wrong());
    }
    let byte = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..digits.len()).step_by(2).map(|at| byte(at).ok_or_else(wrong)).collect()
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

fn next<'w>(words: &mut impl Iterator<Item = &'w str>, expected: &str) -> Result<&'w str, TextError> {
    words.next().ok_or_else(|| TextError::Ends(expected.to_owned()))
}

fn unknown(found: &str, expected: &str) -> TextError {
    TextError::Unknown { found: found.to_owned(), expected: expected.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FilterArguments, TextError> {
        words(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    /// The bytes that are not zero, and where they begin.
    fn part(bytes: Option<Vec<u8>>) -> (usize, Vec<u8>) {
        let bytes = bytes.expect("it was given");
        let (first, last) = (bytes.iter().position(|b| *b != 0), bytes.iter().rposition(|b| *b != 0));
        let (first, last) = (first.expect("some bit"), last.expect("some bit"));
        (first, bytes[first..=last].to_vec())
    }

    #[test]
    fn fields_lie_where_frames_have_them() {
        let mask = |text: &str| part(read(&format!("mask {text}")).expect(text).mask);
        let value = |text: &str| part(read(&format!("match {text}")).expect(text).value);
        assert_eq!(mask("l3 ip4 src"), (26, vec![255; 4]));
        assert_eq!(value("l3 ip4 src 11.22.33.44"), (26, vec![11, 22, 33, 44]));
        assert_eq!(mask("l3 ip4 src/17 dst/0"), (26, vec![255, 255, 128]));
        assert_eq!(mask("l2 dst proto"), (0, [vec![255; 6], vec![0; 6], vec![255; 2]].concat()));
        assert_eq!(value("l2 proto arp src 02:00:00:00:00:01"), (6, vec![2, 0, 0, 0, 0, 1, 8, 6]));
        assert_eq!(value("l2 proto 0x8847"), (12, vec![0x88, 0x47]));
        assert_eq!(value("l3 ip4 protocol 17 l4 udp dst_port 53"), (23, [&[17][..], &[0; 13], &[53]].concat()));
        assert_eq!(mask("l3 ip6 dst l4 src_port"), (38, vec![255; 18]));
        assert_eq!(value("l3 ip6 src 2001:db8::1").1.len(), 16);
        assert_eq!(mask("hex 00f0"), (1, vec![0xf0]));
        let all = read("del buckets 8 mask l3 ip4 ttl memory-size 128k match l3 ip4 ttl 3").expect("all words");
        assert!(all.del && part(all.mask) == (22, vec![255]) && part(all.value) == (22, vec![3]));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, error) in [
            ("masked", "`masked` cannot stand here; expected mask, match or del"),
            ("mask l3", "the words end too early; expected ip4 or ip6"),
            ("mask l3 ip5", "`ip5` cannot stand here; expected ip4 or ip6"),
            ("mask l2", "the words end too early; expected dst, src, proto"),
            ("mask l2 source", "`source` cannot stand here; expected dst, src, proto"),
            ("mask l3 ip4 src/33", "`src/33` cannot stand here; expected tos, "),
            ("mask l2 src/3", "`src/3` cannot stand here"),
            ("mask hex", "the words end too early; expected hexadecimal digits"),
            ("mask hex 123", "hex 123: expected an even number of digits"),
            ("mask hex 1é2", "hex 1é2: expected an even number of digits"),
            ("match l3 ip4 src", "the words end too early; expected src"),
            ("match l3 ip4 src 1.2.3", "src 1.2.3: expected an IPv4 address"),
            ("match l3 ip4 ttl 256", "ttl 256: expected a number up to 255"),
            ("match l4 dst_port 65536", "dst_port 65536: expected a number up to 65535"),
            ("match l2 src 1.2", "src 1.2: expected an address such as"),
            ("buckets", "the words end too early; expected a number"),
        ] {
            let found = read(text).expect_err(text).to_string();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }
}
