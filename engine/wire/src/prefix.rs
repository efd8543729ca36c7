//! Prefixes (RFC 4632) of either family, and an interface's address with the prefix it lies in.
use crate::IpFamily;
use std::fmt;
use std::str::FromStr;

/// A prefix in canonical form: the bits behind its length are zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix<F: IpFamily> {
    address: F::Address,
    length: u8,
}

/// An address with the length of the prefix that is on its link, such as `192.0.2.1/24`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceAddress<F: IpFamily> {
    address: F::Address,
    length: u8,
}

/// Why a text or its parts are no prefix or interface address; the message says what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// There is no slash.
    #[error("`{text}` has no length: write an address and a length such as {example}")]
    NoLength {
        /// The text.
        text: String,
        /// A valid text.
        example: String,
    },
    /// The part before the slash is no address of the family.
    #[error("`{address}` in `{text}` is no {family} address: write one such as {example}")]
    Address {
        /// The text.
        text: String,
        /// The part that is wrong.
        address: String,
        /// `IPv4` or `IPv6`.
        family: &'static str,
        /// A valid address.
        example: &'static str,
    },
    /// The part behind the slash is no prefix length of the family.
    #[error("`{length}` in `{text}` is no {family} prefix length: write a number from 0 to {longest}")]
    Length {
        /// The text.
        text: String,
        /// The part that is wrong.
        length: String,
        /// `IPv4` or `IPv6`.
        family: &'static str,
        /// The longest length the family has.
        longest: u8,
    },
    /// Bits behind the length are set, where only a canonical prefix is taken.
    #[error("`{text}` has bits set behind its length: the prefix is {canonical}")]
    HostBits {
        /// The text.
        text: String,
        /// The canonical prefix.
        canonical: String,
    },
}

/// Reads address and length, for both types.
fn parse<F: IpFamily>(text: &str) -> Result<(F::Address, u8), PrefixError> {
    let (address, length) = text.split_once('/').ok_or_else(|| PrefixError::NoLength {
        text: text.into(),
        example: format!("{}/{}", F::EXAMPLE, F::ADDRESS_BITS / 4 * 3),
    })?;
    let parsed = address.parse().map_err(|_| PrefixError::Address {
        text: text.into(),
        address: address.into(),
        family: F::TITLE,
        example: F::EXAMPLE,
    })?;
    // `u8::from_str` alone would take a sign and leading zeros.
    let canonical = |number: &u8| *number <= F::ADDRESS_BITS && number.to_string() == length;
    let number = length.parse().ok().filter(canonical).ok_or_else(|| PrefixError::Length {
        text: text.into(),
        length: length.into(),
        family: F::TITLE,
        longest: F::ADDRESS_BITS,
    })?;
    Ok((parsed, number))
}

/// Checks a length that is not part of a text.
fn checked<F: IpFamily>(address: F::Address, length: u8) -> Result<u8, PrefixError> {
    if length <= F::ADDRESS_BITS {
        return Ok(length);
    }
    let text = format!("{address}/{length}");
    Err(PrefixError::Length { text, length: length.to_string(), family: F::TITLE, longest: F::ADDRESS_BITS })
}

impl<F: IpFamily> Prefix<F> {
    /// The prefix that holds every address.
    pub const ALL: Prefix<F> = Prefix { address: F::UNSPECIFIED, length: 0 };

    /// The prefix of this length that `address` lies in; bits behind the length are cleared.
    pub fn new(address: F::Address, length: u8) -> Result<Prefix<F>, PrefixError> {
        checked::<F>(address, length).map(|length| Self::canonical(address, length))
    }

    /// The prefix that holds `address` alone.
    pub fn host(address: F::Address) -> Prefix<F> {
        Prefix { address, length: F::ADDRESS_BITS }
    }

    /// Reads a prefix, and refuses one with bits set behind its length, which [`FromStr`] clears.
    pub fn parse_canonical(text: &str) -> Result<Prefix<F>, PrefixError> {
        let (address, length) = parse::<F>(text)?;
        let prefix = Self::canonical(address, length);
        if prefix.address == address {
            Ok(prefix)
        } else {
            Err(PrefixError::HostBits { text: text.into(), canonical: prefix.to_string() })
        }
    }

    fn canonical(address: F::Address, length: u8) -> Prefix<F> {
        Prefix { address: F::from_bits(F::to_bits(address) & F::mask(length)), length }
    }

    /// The first address.
    pub fn address(&self) -> F::Address {
        self.address
    }

    /// Prefix length in bits.
    pub fn length(&self) -> u8 {
        self.length
    }

    /// The last address: the directed broadcast address of an IPv4 subnet (RFC 919).
    pub fn last_address(&self) -> F::Address {
        F::from_bits(F::to_bits(self.address) | !F::mask(self.length))
    }

    /// Whether `address` lies in the prefix.
    pub fn contains(&self, address: F::Address) -> bool {
        F::to_bits(address) & F::mask(self.length) == F::to_bits(self.address)
    }

    /// Whether every address of `other` lies in this prefix; a prefix covers itself.
    pub fn covers(&self, other: &Prefix<F>) -> bool {
        self.length <= other.length && self.contains(other.address)
    }

    /// Whether the prefix holds one address only.
    pub fn is_host(&self) -> bool {
        self.length == F::ADDRESS_BITS
    }
}

impl<F: IpFamily> InterfaceAddress<F> {
    /// No address, where a message has room for one.
    pub const UNSPECIFIED: InterfaceAddress<F> = InterfaceAddress { address: F::UNSPECIFIED, length: 0 };

    /// An address on a link whose prefix has this length.
    pub fn new(address: F::Address, length: u8) -> Result<InterfaceAddress<F>, PrefixError> {
        checked::<F>(address, length).map(|length| InterfaceAddress { address, length })
    }

    /// The address.
    pub fn address(&self) -> F::Address {
        self.address
    }

    /// The length of the link's prefix.
    pub fn length(&self) -> u8 {
        self.length
    }

    /// The link's prefix.
    pub fn prefix(&self) -> Prefix<F> {
        Prefix::canonical(self.address, self.length)
    }
}

impl<F: IpFamily> FromStr for Prefix<F> {
    type Err = PrefixError;

    /// Reads `10.1.2.3/8` as 10.0.0.0/8: operators often paste an address of the subnet.
    fn from_str(text: &str) -> Result<Prefix<F>, PrefixError> {
        parse::<F>(text).map(|(address, length)| Self::canonical(address, length))
    }
}

impl<F: IpFamily> FromStr for InterfaceAddress<F> {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<InterfaceAddress<F>, PrefixError> {
        parse::<F>(text).map(|(address, length)| InterfaceAddress { address, length })
    }
}

impl<F: IpFamily> fmt::Display for Prefix<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl<F: IpFamily> fmt::Debug for Prefix<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<F: IpFamily> fmt::Display for InterfaceAddress<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl<F: IpFamily> fmt::Debug for InterfaceAddress<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{V4, V6};

    #[test]
    fn a_prefix_is_canonical() {
        assert_eq!("10.1.2.3/8".parse::<Prefix<V4>>().unwrap().to_string(), "10.0.0.0/8");
        assert_eq!("2001:db8:ffff::1/33".parse::<Prefix<V6>>().unwrap().to_string(), "2001:db8:8000::/33");
        assert_eq!("0.0.0.0/0".parse(), Ok(Prefix::<V4>::ALL));
        assert_eq!("::1/128".parse(), Ok(Prefix::<V6>::host("::1".parse().unwrap())));
    }

    #[test]
    fn an_interface_address_keeps_its_host_bits() {
        let address: InterfaceAddress<V4> = "192.0.2.9/24".parse().unwrap();
        assert_eq!(address.to_string(), "192.0.2.9/24");
        assert_eq!(address.prefix().to_string(), "192.0.2.0/24");
        assert_eq!(address.prefix().last_address().to_string(), "192.0.2.255");
    }

    #[test]
    fn errors_name_the_part_and_the_remedy() {
        let error = |text: &str| text.parse::<Prefix<V4>>().unwrap_err().to_string();
        assert_eq!(error("10.0.0.0"), "`10.0.0.0` has no length: write an address and a length such as 192.0.2.0/24");
        assert_eq!(error("10.0.0/8"), "`10.0.0` in `10.0.0/8` is no IPv4 address: write one such as 192.0.2.0");
        for text in ["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0/-1"] {
            assert!(error(text).ends_with("is no IPv4 prefix length: write a number from 0 to 32"), "{text}");
        }
        assert!(error("::/0").contains("is no IPv4 address"));
        let error = Prefix::<V4>::parse_canonical("10.1.0.0/8").unwrap_err().to_string();
        assert_eq!(error, "`10.1.0.0/8` has bits set behind its length: the prefix is 10.0.0.0/8");
        assert!(Prefix::<V4>::new([10, 0, 0, 0].into(), 33).is_err());
    }

    #[test]
    fn containment() {
        let prefix: Prefix<V4> = "10.0.0.0/9".parse().unwrap();
        assert!(prefix.contains([10, 127, 255, 255].into()) && !prefix.contains([10, 128, 0, 0].into()));
        assert!(Prefix::<V4>::ALL.covers(&prefix) && prefix.covers(&prefix));
        assert!(!prefix.covers(&"10.0.0.0/8".parse().unwrap()) && prefix.covers(&"10.0.0.1/32".parse().unwrap()));
        assert!(Prefix::<V6>::ALL.contains("ffff::1".parse().unwrap()));
    }
}
