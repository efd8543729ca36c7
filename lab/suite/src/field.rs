//! The fields of a case, and their words: in files, in names, in tags.

use std::fmt;

use serde::{Serialize, Serializer};

/// A field with a few values.
pub trait Keyword: Copy + Sized + 'static {
    /// Its name in a file.
    const FIELD: &'static str;
    /// All values.
    const ALL: &'static [Self];
    /// The word for a value in a file.
    fn word(self) -> &'static str;
}

/// Declares a field with a few values: each with its word.
macro_rules! words {
    ($(#[$about:meta])* $name:ident, $field:literal: $($(#[$of:meta])* $value:ident = $word:literal,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$of])* $value,)*
        }

        impl Keyword for $name {
            const FIELD: &'static str = $field;
            const ALL: &'static [$name] = &[$($name::$value),*];

            fn word(self) -> &'static str {
                match self {
                    $($name::$value => $word,)*
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }
    };
}

words! {
    /// The device under test.
    Device, "device":
    /// Quiver's daemon.
    Quiver = "quiver",
    /// FD.io's VPP.
    Vpp = "vpp",
    /// DPDK's testpmd.
    Testpmd = "testpmd",
    /// The bridge and the router of the kernel.
    Linux = "linux",
}

words! {
    /// How generator and device are joined.
    Driver, "driver":
    /// Shared memory.
    Memif = "memif",
    /// TAP interfaces.
    Tap = "tap",
    /// Pairs of veth, by AF_PACKET.
    Veth = "veth",
    /// The device's own packet generator.
    Pg = "pg",
}

words! {
    /// Where memif's packets lie in the device.
    Buffers, "buffers":
    /// They are copied from and to memory of the link.
    Copied = "copied",
    /// The device's packet buffers are memory of the link.
    ZeroCopy = "zerocopy",
}

words! {
    /// The headers in front of the payload's.
    Encap, "encap":
    /// None but Ethernet.
    Eth = "eth",
    /// One tag of 802.1Q.
    Dot1q = "dot1q",
    /// Two tags.
    Dot1ad = "dot1ad",
}

words! {
    /// Function of the device.
    Function, "function":
    /// Layer 2 cross-connect: from one interface to the other.
    CrossConnect = "l2xc",
    /// A bridge domain with learning.
    Bridge = "l2bd",
    /// IPv4 routing.
    Ip4 = "ip4",
    /// IPv6 routing.
    Ip6 = "ip6",
}

impl Function {
    /// Whether packets go by routes.
    pub fn is_routing(self) -> bool {
        matches!(self, Function::Ip4 | Function::Ip6)
    }
}

words! {
    /// Feature beside the function.
    Feature, "feature":
    /// Nothing.
    None = "none",
    /// It counts the packets of each route.
    RouteCounters = "routecount",
    /// It drops packets by whose interface no way leads back to the sender (RFC 3704).
    UrpfStrict = "urpfstrict",
    /// It drops packets to whose sender no way leads.
    UrpfLoose = "urpfloose",
    /// Policies send packets that a list permits by paths of their own, past the routes (ABF in VPP).
    PolicyRouting = "abf",
    /// Each route leads by several next hops, among which flows are spread.
    MultiPath = "ecmp",
    /// Its interfaces and routes are in a table of their own.
    OwnTable = "vrf",
    /// It tracks connections and drops packets that fit none (the kernel's conntrack).
    Conntrack = "conntrack",
    /// Access lists on input: one rule that no packet matches, and one that permits all.
    Acl1 = "iacl1sl",
    /// The same with 10 rules that no packet matches.
    Acl10 = "iacl10sl",
    /// The same with 50.
    Acl50 = "iacl50sl",
    /// As the first one, but the rule that permits all begins sessions, which pass the lists.
    Acl1Sessions = "iacl1sf",
    /// The same with 10 rules that no packet matches.
    Acl10Sessions = "iacl10sf",
    /// The same with 50.
    Acl50Sessions = "iacl50sf",
    /// It swaps both addresses of Ethernet before it passes a frame on.
    MacSwap = "macswap",
}

impl Feature {
    /// Rules of its access lists that no packet matches; none without lists.
    pub fn unmatched_rules(self) -> Option<u8> {
        match self {
            Feature::Acl1 | Feature::Acl1Sessions => Some(1),
            Feature::Acl10 | Feature::Acl10Sessions => Some(10),
            Feature::Acl50 | Feature::Acl50Sessions => Some(50),
            _ => None,
        }
    }
    /// Whether its access lists begin sessions.
    pub fn has_sessions(self) -> bool {
        matches!(self, Feature::Acl1Sessions | Feature::Acl10Sessions | Feature::Acl50Sessions)
    }
}

words! {
    /// How destinations and the routes to them lie.
    Shape, "shape":
    /// One address after the other, each with its route, and each is sent to.
    Dense = "dense",
    /// Prefixes of all lengths, spread and nested as in the Internet's table; any address is sent to.
    Bgp = "bgp",
    /// One route to all of them: a power of two of addresses, one after the other.
    Net = "net",
}

words! {
    /// The search.
    Search, "search":
    /// The rates without loss, and with little.
    NdrPdr = "ndrpdr",
    /// The rate that arrives at the highest load.
    Mrr = "mrr",
    /// The critical rate of a long run.
    Soak = "soak",
    /// Latency at shares of the rate with little loss.
    Latency = "latency",
    /// The longest burst without loss (RFC 9004).
    BackToBack = "backtoback",
    /// Packets lost while the configuration grows.
    Reconf = "reconf",
    /// The rate at which a window of packets circles through the device.
    ClosedLoop = "closedloop",
    /// Energy or CPU time at a fixed load.
    Power = "power",
    /// Leaks and drift under a fixed load for a long time.
    Endurance = "endurance",
    /// The rate without loss, with more and more cores.
    SpeedUp = "speedup",
}

words! {
    /// How a device waits for packets.
    Pace, "pace":
    /// The device's default.
    Own = "own",
    /// It polls.
    Polling = "polling",
    /// It polls, naps or sleeps, as the load asks for.
    Adaptive = "adaptive",
}

/// How much a function has in its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    /// As few entries as the function needs.
    Base,
    /// A number of entries: MAC addresses of a bridge domain, or routes.
    Entries(u32),
}

impl Scale {
    /// More entries than any table that is measured has: sixteen times the Internet's routes. Generator and device hold each
    /// of them, and both directions' addresses are of one network.
    pub const ENTRIES_MAX: u32 = 1 << 24;

    /// `base`, or a number up to [`Scale::ENTRIES_MAX`], of which `k` and `m` at its end are thousands and millions.
    pub fn parse(word: &str) -> Option<Scale> {
        if word == "base" {
            return Some(Scale::Base);
        }
        let (digits, factor) = match word.as_bytes().last()? {
            b'k' => (&word[..word.len() - 1], 1_000),
            b'm' => (&word[..word.len() - 1], 1_000_000),
            _ => (word, 1),
        };
        let is_number = digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.starts_with('0');
        let entries = is_number.then(|| digits.parse::<u32>().ok()?.checked_mul(factor)).flatten()?;
        (entries <= Scale::ENTRIES_MAX).then_some(Scale::Entries(entries))
    }
}

/// `base`, `20k`, `2m`.
impl fmt::Display for Scale {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Scale::Base => out.write_str("base"),
            Scale::Entries(entries) if entries.is_multiple_of(1_000_000) => write!(out, "{}m", entries / 1_000_000),
            Scale::Entries(entries) if entries.is_multiple_of(1_000) => write!(out, "{}k", entries / 1_000),
            Scale::Entries(entries) => write!(out, "{entries}"),
        }
    }
}

/// The size of frames, in bytes with the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frame {
    /// All the same.
    Bytes(u16),
    /// 28 of 64, 16 of 570 and 4 of 1518 bytes, again and again.
    Imix,
}

impl Frame {
    /// The smallest of Ethernet.
    pub const BYTES_MIN: u16 = 64;
    /// The smallest of IPv6 that suites have: with all that the generator writes into it, and a tag or two.
    pub const BYTES_MIN_IP6: u16 = 78;
    /// The largest that suites have.
    pub const BYTES_MAX: u16 = 9000;

    /// `imix`, or a number of bytes.
    pub fn parse(word: &str) -> Option<Frame> {
        if word == "imix" {
            return Some(Frame::Imix);
        }
        let bytes = word.parse().ok().filter(|bytes| (Self::BYTES_MIN..=Self::BYTES_MAX).contains(bytes));
        bytes.map(Frame::Bytes)
    }

    /// The mean, with the checksum.
    pub fn mean_bytes(self) -> f64 {
        match self {
            Frame::Bytes(bytes) => bytes.into(),
            Frame::Imix => f64::from(28 * 64 + 16 * 570 + 4 * 1518) / 48.0,
        }
    }
}

/// The word in names: `64b`, `imix`.
impl fmt::Display for Frame {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Bytes(bytes) => write!(out, "{bytes}b"),
            Frame::Imix => out.write_str("imix"),
        }
    }
}

/// How many packets of each direction are on their way at most in a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window(pub u16);

impl Window {
    /// Rings between generator and device have twice as many places.
    pub const PACKETS_MAX: u16 = 1024;

    /// A number of packets.
    pub fn parse(word: &str) -> Option<Window> {
        word.parse().ok().filter(|packets| (1..=Self::PACKETS_MAX).contains(packets)).map(Window)
    }
}

/// The word in names: `w8`.
impl fmt::Display for Window {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "w{}", self.0)
    }
}

/// How much is sent in each direction, in Mbit/s on the line: with the 20 bytes around a frame of Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Load(pub u32);

impl Load {
    /// More than any NIC has.
    pub const MBIT_MAX: u32 = 1_000_000;

    /// A number of Mbit/s.
    pub fn parse(word: &str) -> Option<Load> {
        word.parse().ok().filter(|mbit| (1..=Self::MBIT_MAX).contains(mbit)).map(Load)
    }

    /// Packets a second in each direction.
    pub fn pps(self, frame: Frame) -> f64 {
        f64::from(self.0) * 1e6 / ((frame.mean_bytes() + 20.0) * 8.0)
    }
}

/// The word in names: `500m`.
impl fmt::Display for Load {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}m", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_and_frames_are_read_as_they_are_written() {
        for word in ["base", "7", "20k", "2m", "1500", "16m", "16777216"] {
            let scale = Scale::parse(word).unwrap();
            assert_eq!(Scale::parse(&scale.to_string()), Some(scale), "{word}");
        }
        for word in ["", "k", "0", "0k", "-1", "+5", "5000m", "1.5m", "2 m", "2M", "16777217", "17m", "4294967296"] {
            assert_eq!(Scale::parse(word), None, "{word}");
        }
        assert_eq!(Frame::parse("9000").map(|frame| frame.to_string()).as_deref(), Some("9000b"));
        assert_eq!(Frame::parse("imix"), Some(Frame::Imix));
        for word in ["", "63", "9001", "64b", "IMIX"] {
            assert_eq!(Frame::parse(word), None, "{word}");
        }
        // A line of 1 Gbit/s is full with 1,488,095 frames a second.
        assert_eq!(Load(1000).pps(Frame::Bytes(64)) as u64, 1_488_095);
        assert_eq!(Load::parse("500").map(|load| load.to_string()).as_deref(), Some("500m"));
        assert_eq!(["0", "-1", "1000001", "1.5"].map(Load::parse), [None; 4]);
        assert_eq!(Window::parse("1024").map(|window| window.to_string()).as_deref(), Some("w1024"));
        assert_eq!(["0", "1025", "w8"].map(Window::parse), [None; 3]);
    }
}
