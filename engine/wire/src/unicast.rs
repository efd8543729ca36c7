//! Addresses that only one station can have.
use crate::MacAddress;
use crate::ethernet::MacAddressError;
use std::fmt;
use std::str::FromStr;

/// The MAC address of a single station: that of no group (IEEE 802, 8.2.2: the I/G bit), and not all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnicastMac(MacAddress);

impl UnicastMac {
    /// The address, if it can be a station's.
    pub const fn new(mac: MacAddress) -> Result<UnicastMac, UnicastMacError> {
        if mac.is_unicast() { Ok(UnicastMac(mac)) } else { Err(UnicastMacError::NoStation(mac)) }
    }
    /// The address.
    pub const fn get(self) -> MacAddress {
        self.0
    }
}

/// Why something is no address of a single station.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnicastMacError {
    /// It is no MAC address.
    #[error(transparent)]
    NoAddress(#[from] MacAddressError),
    /// It is a group's, or all zeros.
    #[error("{0} is no address of a single station: choose one whose first octet is even, and not all zeros")]
    NoStation(MacAddress),
}

impl From<UnicastMac> for MacAddress {
    fn from(mac: UnicastMac) -> MacAddress {
        mac.get()
    }
}

impl TryFrom<MacAddress> for UnicastMac {
    type Error = UnicastMacError;

    fn try_from(mac: MacAddress) -> Result<UnicastMac, UnicastMacError> {
        UnicastMac::new(mac)
    }
}

impl FromStr for UnicastMac {
    type Err = UnicastMacError;

    /// Reads what [`MacAddress`] reads.
    fn from_str(text: &str) -> Result<UnicastMac, UnicastMacError> {
        UnicastMac::new(text.parse()?)
    }
}

impl fmt::Display for UnicastMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_zeros_are_no_station() {
        let station: UnicastMac = "42:01:0a:0a:01:01".parse().expect("a station's");
        assert_eq!((station.to_string(), station.get()), ("42:01:0a:0a:01:01".into(), MacAddress::from(station)));
        for text in ["01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"] {
            let mac = text.parse().expect("an address");
            assert_eq!(text.parse::<UnicastMac>(), Err(UnicastMacError::NoStation(mac)));
            assert_eq!(UnicastMac::try_from(mac), Err(UnicastMacError::NoStation(mac)));
        }
        assert!(matches!("42:01".parse::<UnicastMac>(), Err(UnicastMacError::NoAddress(_))));
    }
}
