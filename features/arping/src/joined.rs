//! An address and an interface in one word, as VPP takes them: its parser asks for no blanks in between.

use std::fmt;
use std::net::IpAddr;

use quiver_control::object::Scalar;
use quiver_control::serde_json::Value;

const GRATUITOUS: &str = "gratuitous";

/// Address and interface in one word, such as `192.0.2.2tap0` or `gratuitous2001:db8::1tap0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Whether the address is announced.
    pub gratuitous: bool,
    /// The address: the longest beginning of the word that is one.
    pub address: IpAddr,
    /// The name of the interface: the rest of the word.
    pub interface: String,
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.gratuitous { GRATUITOUS } else { "" };
        write!(f, "{word}{}{}", self.address, self.interface)
    }
}

impl Scalar for Joined {
    const NAME: &'static str = "address-and-interface";
    const EXPECTED: &'static str = "an IP address and an interface's name behind it, such as 192.0.2.2tap0";
    fn parse(text: &str) -> Result<Joined, String> {
        let (gratuitous, rest) = text.strip_prefix(GRATUITOUS).map_or((false, text), |rest| (true, rest));
        if rest.parse::<IpAddr>().is_ok() {
            return Err(String::new());
        }
        let mut parts = rest.char_indices().rev().filter_map(|(end, _)| rest.split_at_checked(end));
        let found = parts.find_map(|(address, interface)| Some((address.parse().ok()?, interface.to_owned())));
        let (address, interface) = found.ok_or(String::new())?;
        Ok(Joined { gratuitous, address, interface })
    }
    fn schema() -> Value {
        quiver_control::serde_json::json!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_as_long_as_it_can_be_and_the_rest_is_an_interface() {
        let joined = |gratuitous, address: &str, interface: &str| {
            Ok(Joined { gratuitous, address: address.parse().unwrap(), interface: interface.into() })
        };
        assert_eq!(Joined::parse("172.16.2.2pg1"), joined(false, "172.16.2.2", "pg1"));
        assert_eq!(Joined::parse("gratuitousfd01:2::1pg1"), joined(true, "fd01:2::1", "pg1"));
        assert_eq!(Joined::parse("10.0.0.1é"), joined(false, "10.0.0.1", "é"));
        for word in ["", "pg1", "gratuitous", "192.0.2.pg1", "1", ":pg1"] {
            assert!(Joined::parse(word).is_err(), "{word}");
        }
        // A word that is an address has no interface behind it.
        assert!(Joined::parse("192.0.2.1").is_err() && Joined::parse("2001:db8::12").is_err());
        assert_eq!(Joined::parse("gratuitous10.0.0.1pg0").unwrap().to_string(), "gratuitous10.0.0.1pg0");
    }
}
