//! Scalars: values that are one word on the command line and one scalar in a file.

use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use quiver_wire::{InterfaceAddress, IpFamily, MacAddress, Prefix, PrefixError, UnicastMac, VlanId};
use serde_json::{Value, json};

/// A value that is one word: a number, an address, a name. The same type serves as an argument of commands and as a
/// field of objects.
///
/// `Display` writes the canonical text, which [`Scalar::parse`] reads back.
pub trait Scalar: Display + Clone + 'static {
    /// The name of the type in grammars (`<id:u32>`), help and documentation.
    const NAME: &'static str;
    /// Expected input, as it stands after "expected": `an IPv4 address such as 192.0.2.1`.
    const EXPECTED: &'static str;
    /// For a reference: the space of names of the things it refers to. Then the command line completes the names
    /// that exist and refuses others, and the configuration is checked for dangling references.
    const SPACE: Option<&'static str> = None;

    /// Parses the value. The error text says more than "expected ...", or is empty.
    fn parse(text: &str) -> Result<Self, String>;

    /// The value as JSON and YAML have it.
    fn to_value(&self) -> Value {
        Value::String(self.to_string())
    }

    /// The JSON schema of the numbers that can stand here in place of a text; nothing if only texts can.
    fn number_schema() -> Option<Value> {
        None
    }

    /// Reads the value as JSON and YAML have it.
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) if Self::number_schema().is_some() => Self::parse(&number.to_string()),
            _ => Err(String::new()),
        }
    }

    /// The JSON schema of the value: it accepts the values that [`Scalar::from_value`] accepts, and all texts if it
    /// does not know their form.
    fn schema() -> Value {
        let text = json!({"type": "string", "description": Self::EXPECTED});
        Self::number_schema().map_or(text.clone(), |number| json!({"anyOf": [number, text]}))
    }

    /// The words that can stand here, if they are few and known beforehand.
    fn choices() -> &'static [&'static str] {
        &[]
    }
}

macro_rules! unsigned {
    ($($type:ident $expected:literal;)*) => {$(
        impl Scalar for $type {
            const NAME: &'static str = stringify!($type);
            const EXPECTED: &'static str = $expected;
            fn parse(text: &str) -> Result<Self, String> {
                // Only digits: Rust would take a sign too.
                if !text.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(String::new());
                }
                text.parse().map_err(|_| String::new())
            }
            fn to_value(&self) -> Value {
                Value::from(*self)
            }
            fn from_value(value: &Value) -> Result<Self, String> {
                value.as_u64().and_then(|number| Self::try_from(number).ok()).ok_or_else(String::new)
            }
            fn schema() -> Value {
                json!({"type": "integer", "minimum": 0, "maximum": $type::MAX})
            }
        }
    )*};
}

unsigned! {
    u8 "a number from 0 to 255";
    u16 "a number from 0 to 65535";
    u32 "a number from 0 to 4294967295";
    u64 "a number from 0 to 18446744073709551615";
}

/// A time between two things that are done again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval(pub Duration);

impl Interval {
    /// So many seconds; none unless there are 0.001 to 3600 of them.
    pub fn seconds(seconds: f64) -> Option<Interval> {
        (0.001..=3600.0).contains(&seconds).then(|| Interval(Duration::from_secs_f64(seconds)))
    }
}
impl Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0.as_secs_f64(), f)
    }
}
impl Scalar for Interval {
    const NAME: &'static str = "interval";
    const EXPECTED: &'static str = "a number of seconds from 0.001 to 3600";
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().ok().and_then(Interval::seconds).ok_or_else(String::new)
    }
    fn number_schema() -> Option<Value> {
        Some(json!({"type": "number", "minimum": 0.001, "maximum": 3600}))
    }
}

/// Truth values: `true` and `false` in files; commands also take VPP's `1`, `0`, `on`, `off`, `enable`, `disable`.
impl Scalar for bool {
    const NAME: &'static str = "bool";
    const EXPECTED: &'static str = "true or false";
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "true" | "1" | "on" | "enable" => Ok(true),
            "false" | "0" | "off" | "disable" => Ok(false),
            _ => Err(String::new()),
        }
    }
    fn to_value(&self) -> Value {
        Value::Bool(*self)
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(String::new)
    }
    fn schema() -> Value {
        json!({"type": "boolean"})
    }
    fn choices() -> &'static [&'static str] {
        &["true", "false"]
    }
}

/// Any text; on the command line one word, or several in double quotes.
impl Scalar for String {
    const NAME: &'static str = "text";
    const EXPECTED: &'static str = "a word, or several in double quotes";
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Err(format!("text is meant: write \"{number}\" with quotes")),
            Value::Bool(truth) => Err(format!("text is meant: write \"{truth}\" with quotes")),
            _ => Err(String::new()),
        }
    }
    fn schema() -> Value {
        json!({"type": "string"})
    }
}

/// Makes scalars of types that implement `FromStr` and `Display`; the error of `FromStr` is the error text.
#[macro_export]
macro_rules! scalar {
    ($($type:ty, $name:literal, $expected:literal;)*) => {$(
        impl $crate::object::Scalar for $type {
            const NAME: &'static str = $name;
            const EXPECTED: &'static str = $expected;
            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error| ::std::string::ToString::to_string(&error))
            }
        }
    )*};
}

scalar! {
    MacAddress, "mac", "a MAC address such as 42:01:0a:0a:01:01";
    UnicastMac, "unicast-mac", "the MAC address of a station such as 42:01:0a:0a:01:01";
}

/// The text of a type for one of the families of IP.
const fn of_family<F: IpFamily>(ip4: &'static str, ip6: &'static str) -> &'static str {
    if F::VERSION == 4 { ip4 } else { ip6 }
}

impl<F: IpFamily> Scalar for Prefix<F> {
    const NAME: &'static str = of_family::<F>("ip4-prefix", "ip6-prefix");
    const EXPECTED: &'static str =
        of_family::<F>("an IPv4 prefix such as 10.0.0.0/8", "an IPv6 prefix such as 2001:db8::/32");
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: PrefixError| error.to_string())
    }
}

impl<F: IpFamily> Scalar for InterfaceAddress<F> {
    const NAME: &'static str = of_family::<F>("ip4-address", "ip6-address");
    const EXPECTED: &'static str = of_family::<F>(
        "an IPv4 address with its prefix length, such as 192.0.2.1/24",
        "an IPv6 address with its prefix length, such as 2001:db8::1/64",
    );
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: PrefixError| error.to_string())
    }
}

macro_rules! addresses {
    ($($type:ty, $name:literal, $expected:literal;)*) => {$(
        impl Scalar for $type {
            const NAME: &'static str = $name;
            const EXPECTED: &'static str = $expected;
            fn parse(text: &str) -> Result<Self, String> {
                // The error of `FromStr` says less than the expected text.
                text.parse().map_err(|_| String::new())
            }
        }
    )*};
}

addresses! {
    Ipv4Addr, "ip4", "an IPv4 address such as 192.0.2.1";
    Ipv6Addr, "ip6", "an IPv6 address such as 2001:db8::1";
    IpAddr, "ip", "an IP address such as 192.0.2.1 or 2001:db8::1";
}

impl Scalar for VlanId {
    const NAME: &'static str = "vlan";
    const EXPECTED: &'static str = "a VLAN from 1 to 4094";
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: quiver_wire::vlan::VlanIdError| error.to_string())
    }
    fn to_value(&self) -> Value {
        Value::from(self.get())
    }
    fn number_schema() -> Option<Value> {
        Some(json!({"type": "integer", "minimum": 0, "maximum": 4094}))
    }
}
