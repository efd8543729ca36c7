//! Options of `nd` and `ra`: `source-link 02:00:00:00:00:01`, `target-link 02:00:00:00:00:02`, `mtu 1500`, and
//! `prefix 2001:db8::/64 flags onlink,auto valid 2592000 preferred 604800`, with `flags none` for none.
use super::PacketTextError;
use super::text::Words;
use quiver_wire::nd::{self, LinkLayerOption, MtuOption, NdOptions, PrefixOption};
use quiver_wire::{Header, InterfaceAddress, MacAddress, V6};
use std::fmt;
use zerocopy::IntoBytes;

/// Names of a prefix's flags, from the highest bit down.
const PREFIX_FLAGS: [&str; 2] = ["onlink", "auto"];

/// An option of Neighbour Discovery (RFC 4861, 4.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NdOption {
    /// The sender's address.
    SourceLink(MacAddress),
    /// The target's address.
    TargetLink(MacAddress),
    /// Bytes of the longest packet that the link takes.
    Mtu(u32),
    /// A prefix that hosts are told of.
    Prefix {
        /// The prefix; bits behind its length, which must be zero, are kept.
        prefix: InterfaceAddress<V6>,
        /// `onlink` is 0x80, `auto` 0x40: whether it is on the link, and whether hosts may make addresses of it.
        flags: u8,
        /// Seconds for which it is on the link.
        valid: u32,
        /// Seconds for which addresses made of it are preferred.
        preferred: u32,
    },
}

impl NdOption {
    /// Reads the option that `field` begins, in a layer that has these fields too.
    pub(super) fn read(words: &mut Words<'_>, field: &str, fields: &str) -> Result<NdOption, PacketTextError> {
        let mac = "a MAC address such as 02:00:00:00:00:01";
        match field {
            "source-link" => Ok(NdOption::SourceLink(words.value("source-link", mac)?)),
            "target-link" => Ok(NdOption::TargetLink(words.value("target-link", mac)?)),
            "mtu" => Ok(NdOption::Mtu(words.number("mtu", u32::MAX)?)),
            "prefix" => {
                let prefix = words.value("prefix", "an IPv6 prefix such as 2001:db8::/64")?;
                words.exactly("flags")?;
                let flags = (read_flags(words, &PREFIX_FLAGS)? >> 24) as u8;
                words.exactly("valid")?;
                let valid = words.number("valid", u32::MAX)?;
                words.exactly("preferred")?;
                Ok(NdOption::Prefix { prefix, flags, valid, preferred: words.number("preferred", u32::MAX)? })
            }
            other => Err(words.unknown(other, &format!("{fields}, source-link, target-link, mtu, prefix"))),
        }
    }

    fn to_bytes(self) -> Vec<u8> {
        use nd::option::{MTU, PREFIX, SOURCE_LINK_LAYER, TARGET_LINK_LAYER};
        match self {
            NdOption::SourceLink(mac) => LinkLayerOption::new(SOURCE_LINK_LAYER, mac).as_bytes().into(),
            NdOption::TargetLink(mac) => LinkLayerOption::new(TARGET_LINK_LAYER, mac).as_bytes().into(),
            NdOption::Mtu(mtu) => {
                MtuOption { kind: MTU, length: 1, reserved: 0.into(), mtu: mtu.into() }.as_bytes().into()
            }
            NdOption::Prefix { prefix, flags, valid, preferred } => {
                let option = PrefixOption {
                    kind: PREFIX,
                    length: 4,
                    prefix_length: prefix.length(),
                    flags,
                    valid: valid.into(),
                    preferred: preferred.into(),
                    reserved: 0.into(),
                    prefix: prefix.address().octets(),
                };
                option.as_bytes().into()
            }
        }
    }

    /// The message with these options behind it.
    pub(super) fn append(mut message: Vec<u8>, options: &[NdOption]) -> Vec<u8> {
        for option in options {
            message.extend(option.to_bytes());
        }
        message
    }

    /// The options at the front of `bytes` that the text has words for, and what follows them.
    pub(super) fn dissect_all(bytes: &[u8]) -> (Vec<NdOption>, &[u8]) {
        let (mut options, mut rest) = (Vec::new(), bytes);
        for option in NdOptions::new(bytes).map_while(Result::ok) {
            let Some(known) = NdOption::dissect(&option) else { break };
            options.push(known);
            rest = rest.get(option.bytes.len()..).unwrap_or_default();
        }
        (options, rest)
    }

    fn dissect(option: &nd::NdOption<'_>) -> Option<NdOption> {
        let link = || LinkLayerOption::parse(option.bytes).map(|(option, _)| option.mac);
        let known = match option.kind {
            nd::option::SOURCE_LINK_LAYER => NdOption::SourceLink(link()?),
            nd::option::TARGET_LINK_LAYER => NdOption::TargetLink(link()?),
            nd::option::MTU => NdOption::Mtu(MtuOption::parse(option.bytes)?.0.mtu.get()),
            nd::option::PREFIX => {
                let (option, _) = PrefixOption::parse(option.bytes)?;
                NdOption::Prefix {
                    prefix: InterfaceAddress::new(option.prefix.into(), option.prefix_length).ok()?,
                    flags: (option.flags << PREFIX_FLAGS.len() == 0).then_some(option.flags)?,
                    valid: option.valid.get(),
                    preferred: option.preferred.get(),
                }
            }
            _ => return None,
        };
        // Other lengths and what is unused have no words.
        (known.to_bytes() == option.bytes).then_some(known)
    }
}

impl fmt::Display for NdOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NdOption::SourceLink(mac) => write!(f, "source-link {mac}"),
            NdOption::TargetLink(mac) => write!(f, "target-link {mac}"),
            NdOption::Mtu(mtu) => write!(f, "mtu {mtu}"),
            NdOption::Prefix { prefix, flags, valid, preferred } => {
                write!(f, "prefix {prefix}")?;
                write_flags(f, &PREFIX_FLAGS, u32::from(*flags) << 24)?;
                write!(f, " valid {valid} preferred {preferred}")
            }
        }
    }
}

pub(super) fn write_options(f: &mut fmt::Formatter<'_>, options: &[NdOption]) -> fmt::Result {
    options.iter().try_for_each(|option| write!(f, " {option}"))
}

/// Names with commas between as bits, the first name's the highest; `none` for no bit.
pub(super) fn read_flags(words: &mut Words<'_>, names: &[&str]) -> Result<u32, PacketTextError> {
    let remedy = format!("some of {} with commas between, or none", names.join(", "));
    words.read("flags", &remedy, |word| match word {
        "none" => Some(0),
        _ => word.split(',').try_fold(0, |flags, name| {
            let place = names.iter().position(|known| *known == name)?;
            Some(flags | 1 << 31 >> place)
        }),
    })
}

/// Writes flags as [`read_flags`] reads them, with the keyword.
pub(super) fn write_flags(f: &mut fmt::Formatter<'_>, names: &[&str], flags: u32) -> fmt::Result {
    let set = names.iter().enumerate().filter(|(place, _)| flags << place >> 31 != 0);
    let set = set.map(|(_, name)| *name).collect::<Vec<_>>().join(",");
    write!(f, " flags {}", if set.is_empty() { "none" } else { &set })
}
