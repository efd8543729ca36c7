//! `packet-generator new ...`: VPP's words for a stream, in braces or without, and our own where VPP has none.
//!
//! ```text
//! pcap /tmp/in.pcap source pg0 name x
//! { name x limit 1000 rate 1e6 size 64-64 interface pg0 node ethernet-input
//!   data { IP4: 1.2.3 -> 4.5.6  UDP: 10.0.0.1 - 10.0.0.9 -> 10.0.1.1  UDP: 1024 -> 53  incrementing 30 } }
//! ```
//!
//! Beside VPP's words: `burst N`, `window N`, `seed N`, `latency`, `gaps`, `unnumbered`, `vlan VALUES`, `vlan-tag dot1ad`,
//! `inner-vlan VALUES`, `ttl N`, `ip6-source VALUES` and `ip6-destination VALUES`, `vxlan VALUES` with `tunnel-source`,
//! `tunnel-destination`, `tunnel-port`, `inner-source-mac` and `inner-destination-mac`, `repeat N`, and `profile NAME [reverse]`, which sets the fields that a [profile](profiles) names; words behind it change them again.
//! Wherever VPP has a value or a range, all forms of [`Values`] fit.

use quiver_control::object::Scalar;
use quiver_interface::InterfaceName;
use quiver_wire::MacAddress;

use crate::layout::Layout;
use crate::profiles;
use crate::stream::PgStream;
use crate::values::{FrameSize, Value, Values};

/// A parsed stream.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedStream {
    /// The stream.
    pub stream: PgStream,
    /// Where its packets enter.
    pub entry: Entry,
    /// The named interface, which need not be one of the generator if packets are sent.
    pub interface: Option<InterfaceName>,
    /// Whether an interface of the generator is said to be their source.
    pub has_source: bool,
}

/// Where packets enter, and so what they begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entry {
    /// At `ethernet-input`, with its header.
    #[default]
    Ethernet,
    /// At `ip4-input`, with the header of IPv4.
    Ip4,
    /// At `ip6-input`, with that of IPv6.
    Ip6,
}

/// VPP's words for buffer flags that matter here. The nodes find out the kind of a packet themselves.
const FLAGS: [&str; 6] = ["ip4", "ip6", "offload", "offload-ip-cksum", "offload-tcp-cksum", CHECKSUM];
const CHECKSUM: &str = "offload-udp-cksum";

/// The stream that these words describe; the error says what is wrong with them.
pub fn stream(words: &[String]) -> Result<ParsedStream, String> {
    // Braces may touch what they hold.
    let spaced = words.join(" ").replace('{', " { ").replace('}', " } ");
    let mut words = Words(spaced.split_whitespace().peekable());
    let in_braces = words.0.next_if_eq(&"{").is_some();
    let (mut name, mut interface, mut source, mut sender) = (None, None, None, None);
    let (mut stream, mut entry, mut is_vpps) = (PgStream::unnamed(), Entry::default(), false);
    loop {
        if !in_braces && words.0.peek().is_none() {
            break;
        }
        match words.next("a word such as name, interface, limit, rate, size, data, or `}`")? {
            "}" if in_braces => break,
            "name" => name = Some(words.next("a name")?.to_owned()),
            "interface" => interface = Some(words.interface()?),
            "source" => source = Some(words.interface()?),
            "tx-interface" => sender = Some(words.interface()?),
            "limit" => stream.limit = words.number("limit")?,
            "rate" => stream.rate = words.number("rate")?,
            "burst" => stream.burst = words.small("burst")?,
            "maxframe" => stream.maxframe = words.small("maxframe")?,
            "worker" => stream.worker = Some(words.small("worker")?),
            "window" => stream.window = words.small("window")?,
            "latency" => stream.latency = true,
            "unnumbered" => stream.unnumbered = true,
            "gaps" => stream.gaps = true,
            "seed" => stream.seed = words.number("seed")?,
            "ttl" => stream.ttl = words.small("ttl")?,
            "size" => stream.size = words.sizes()?,
            "vlan" => stream.vlan = Some(words.values()?),
            "vlan-tag" => stream.vlan_tag = words.choice()?,
            "inner-vlan" => stream.inner_vlan = Some(words.values()?),
            "ip6-source" => stream.ip6_source = Some(words.values()?),
            "ip6-destination" => stream.ip6_destination = Some(words.values()?),
            "vxlan" => stream.vxlan = Some(words.values()?),
            "tunnel-source" => stream.tunnel_source = words.values()?,
            "tunnel-destination" => stream.tunnel_destination = words.values()?,
            "tunnel-port" => stream.tunnel_port = words.values()?,
            "inner-source-mac" => stream.inner_source_mac = words.macs()?,
            "inner-destination-mac" => stream.inner_destination_mac = words.macs()?,
            "repeat" => stream.repeat = words.small("repeat")?,
            "profile" => {
                let name = words.next("the name of a profile")?;
                let is_reverse = words.0.next_if_eq(&"reverse").is_some();
                profiles::apply(&mut stream, name, is_reverse)?;
            }
            "pcap" => stream.pcap = Some(words.next("a file")?.to_owned()),
            "node" => {
                entry = match words.next("a node")? {
                    "ethernet-input" | "device-input" => Entry::Ethernet,
                    "ip4-input" => Entry::Ip4,
                    "ip6-input" => Entry::Ip6,
                    node => {
                        let Some(output) = node.strip_suffix("-output").filter(|name| !name.is_empty()) else {
                            return Err(format!(
                                "node {node}: streams enter at ethernet-input, without its header at ip4-input or ip6-input, \
                                 or at an interface's output, such as pg1-output"
                            ));
                        };
                        stream.output = Some(InterfaceName(output.to_owned()));
                        Entry::Ethernet
                    }
                };
            }
            "buffer-flags" | "buffer-offload-flags" => {
                while let Some(flag) = words.0.next_if(|word| FLAGS.contains(word)) {
                    stream.checksum_offload |= flag == CHECKSUM;
                }
            }
            "data" => {
                data(&mut words, &mut stream, entry)?;
                is_vpps = true;
            }
            other => {
                return Err(format!(
                    "`{other}` is no word of a stream; expected one of name, source, interface, tx-interface, limit, rate, size, \
                     burst, maxframe, worker, window, seed, latency, gaps, unnumbered, ttl, vlan, vlan-tag, inner-vlan, ip6-source, ip6-destination, \
                     vxlan, tunnel-source, tunnel-destination, tunnel-port, inner-source-mac, inner-destination-mac, \
                     repeat, profile, pcap, node, buffer-flags, buffer-offload-flags, data"
                ));
            }
        }
    }
    if let Some(more) = words.0.next() {
        return Err(format!("`{more}` stands behind the closing brace"));
    }
    stream.name = name.ok_or("the stream has no name: add `name NAME`")?;
    if sender.is_some() && sender != stream.output {
        return Err("tx-interface: packets are sent by an interface if they enter at its output: add `node NAME-output`, of the same one".into());
    }
    let has_source = source.is_some();
    stream.interface = source.or_else(|| interface.clone()).ok_or("the stream has no interface: add `source pg0`")?;
    // VPP's packets have no numbers, so whoever describes packets as VPP does asks for none where there is no room for them.
    stream.unnumbered |=
        is_vpps && !stream.latency && stream.window == 0 && stream.size.smallest() < Layout::least(&stream);
    Ok(ParsedStream { stream, entry, interface, has_source })
}

/// `{ IP4: mac -> mac UDP: address -> address UDP: port -> port length N checksum N incrementing N }`, or the same with IP6:;
/// or from the addresses of IP on.
fn data(words: &mut Words<'_>, stream: &mut PgStream, entry: Entry) -> Result<(), String> {
    words.expect("{")?;
    let (mut layers, mut is_ip6) = (usize::from(entry != Entry::Ethernet), entry == Entry::Ip6);
    loop {
        match (words.next("IP4:, IP6:, UDP:, incrementing or `}`")?, layers) {
            ("}", _) => return Ok(()),
            (family @ ("IP4:" | "IP6:"), 0) => {
                is_ip6 = family == "IP6:";
                stream.source_mac = words.macs()?;
                words.expect("->")?;
                stream.destination_mac = words.macs()?;
                layers = 1;
            }
            ("UDP:", 1) if is_ip6 => {
                stream.ip6_source = Some(words.values()?);
                words.expect("->")?;
                stream.ip6_destination = Some(words.values()?);
                layers = 2;
            }
            ("UDP:", 1) => {
                stream.source = words.values()?;
                words.expect("->")?;
                stream.destination = words.values()?;
                layers = 2;
            }
            ("UDP:", 2) => {
                stream.source_port = words.values()?;
                words.expect("->")?;
                stream.destination_port = words.values()?;
                stream.ip6_udp = is_ip6;
                layers = 3;
            }
            // Lengths and checksums follow from the rest, and the payload ends with a number of ours.
            ("length" | "checksum" | "incrementing", _) => {
                words.number("a number")?;
            }
            ("ttl", _) => stream.ttl = words.small("ttl")?,
            (other, _) => {
                return Err(format!(
                    "`{other}` cannot stand here; expected IP4: mac -> mac or IP6: mac -> mac, UDP: address -> address, \
                     UDP: port -> port"
                ));
            }
        }
    }
}

struct Words<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    fn next(&mut self, expected: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("the stream ends too early; expected {expected}"))
    }
    fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.next(word)? {
            found if found == word => Ok(()),
            found => Err(format!("`{found}` stands where `{word}` is expected")),
        }
    }
    fn interface(&mut self) -> Result<InterfaceName, String> {
        self.next("an interface").map(|name| InterfaceName(name.to_owned()))
    }
    /// A number, also in VPP's form `1e6`.
    fn number(&mut self, what: &str) -> Result<u64, String> {
        let word = self.next(what)?;
        if let Ok(number) = word.parse() {
            return Ok(number);
        }
        match word.parse::<f64>() {
            Ok(number) if (0.0..1e15).contains(&number) => Ok(number.round() as u64),
            _ => Err(format!("{what} {word}: expected a number")),
        }
    }
    fn small<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, String> {
        let number = self.number(what)?;
        T::try_from(number).map_err(|_| format!("{what} {number} is out of range"))
    }
    /// One of a few words.
    fn choice<T: Scalar>(&mut self) -> Result<T, String> {
        let word = self.next(T::EXPECTED)?;
        T::parse(word).map_err(|_| format!("{word}: expected {}", T::EXPECTED))
    }
    /// Sizes: VPP's `a-b` is walked through, and its `a+b` is drawn by lot.
    fn sizes(&mut self) -> Result<Values<FrameSize>, String> {
        let drawn = self.0.next_if(|word| word.contains('+'));
        match drawn.and_then(|word| word.split_once('+')) {
            Some((least, most)) => {
                let sizes = Values::parse(&format!("random:{least}-{most}"));
                sizes.map_err(|why| format!("size {least}+{most}: {why}"))
            }
            None => self.values(),
        }
    }
    /// Values; VPP's range `a - b` is three words.
    fn values<T: Value>(&mut self) -> Result<Values<T>, String> {
        let mut text = self.next(T::EXPECTED_VALUES)?.to_owned();
        if self.0.next_if_eq(&"-").is_some() {
            text = format!("{text}-{}", self.next(T::EXPECTED_VALUES)?);
        }
        Values::parse(&text).map_err(|why| {
            let why = if why.is_empty() { format!("expected {}", T::EXPECTED_VALUES) } else { why };
            format!("{text}: {why}")
        })
    }
    /// MAC addresses; VPP's form `1.2.3` is three groups of hexadecimal digits.
    fn macs(&mut self) -> Result<Values<MacAddress>, String> {
        match self.0.peek().and_then(|word| dotted(word)) {
            Some(mac) => {
                self.0.next();
                Ok(Values::One(mac))
            }
            None => self.values(),
        }
    }
}

fn dotted(word: &str) -> Option<MacAddress> {
    let groups: Vec<_> = word.split('.').map(|group| u16::from_str_radix(group, 16)).collect::<Result<_, _>>().ok()?;
    let [a, b, c] = groups[..] else { return None };
    Some(MacAddress::from_u64(u64::from(a) << 32 | u64::from(b) << 16 | u64::from(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<PgStream, String> {
        told(text).map(|told| told.stream)
    }
    fn told(text: &str) -> Result<ParsedStream, String> {
        stream(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn packets_may_be_of_ip6_without_a_header_before_and_with_a_checksum_to_be_made() {
        let data = "data { IP6: 1.2.3 -> 4.5.6 UDP: 2001:db8::1 -> 2001:db8::2 UDP: 1 -> 2 incrementing 9 }";
        let flags = "buffer-flags ip6 offload buffer-offload-flags offload-udp-cksum";
        let found = told(&format!("{{ name x source pg0 node ethernet-input {flags} {data} }}")).expect("a stream");
        assert_eq!((found.entry, found.stream.ip6_udp, found.stream.checksum_offload), (Entry::Ethernet, true, true));
        let found = told("{ name x source pg0 node ip4-input data { UDP: 10.0.0.1 -> 10.0.1.1 UDP: 1 -> 2 } }");
        let found = found.expect("a stream");
        assert_eq!((found.entry, found.stream.ip6_udp, found.stream.checksum_offload), (Entry::Ip4, false, false));
        let found = told("{ name x source pg0 node ip6-input data { UDP: 2001:db8::1 -> 2001:db8::2 } }").expect("one");
        assert_eq!((found.entry, found.stream.ip6_udp), (Entry::Ip6, false));
    }

    #[test]
    fn vpps_words_are_understood() {
        let found = read(
            "{ name x limit 100 rate 1e6 size 64-64 interface pg0 node ethernet-input data { IP4: 1.2.3 -> 4.5.6 \
             UDP: 10.0.0.1 - 10.0.0.9 -> 10.0.1.1 UDP: 1234 -> 2345 length 64 checksum 0 incrementing 30 } }",
        )
        .expect("a stream");
        assert_eq!((found.limit, found.rate, found.name.as_str()), (100, 1_000_000, "x"));
        assert_eq!(found.source_mac.to_string(), "00:01:00:02:00:03");
        assert_eq!(
            (found.source.to_string(), found.destination_port.to_string()),
            ("10.0.0.1-10.0.0.9".into(), "2345".into())
        );
    }

    #[test]
    fn files_need_no_braces_and_sizes_are_drawn() {
        let found =
            read("pcap /tmp/in.pcap source pg7 name pcap7-sw_if_index-8 maxframe 7 worker 1").expect("a stream");
        let PgStream { name, interface, pcap, maxframe, worker, limit, .. } = found;
        assert_eq!(
            (name.as_str(), interface.0.as_str(), pcap.as_deref()),
            ("pcap7-sw_if_index-8", "pg7", Some("/tmp/in.pcap"))
        );
        assert_eq!((maxframe, worker, limit), (7, Some(1), 0));
        let size =
            |text: &str| read(&format!("{{ name x source pg0 size {text} }}")).map(|stream| stream.size.to_string());
        assert_eq!(size("64+128"), Ok("random:64-128".into()));
        assert_eq!(size("64-128"), Ok("64-128".into()));
        assert_eq!(size("imix"), Ok("28x64,16x570,4x1518".into()));
        assert_eq!(size("3x64,9000"), Ok("3x64,1x9000".into()));
        assert!(size("128+64").is_err());
    }

    #[test]
    fn mistakes_are_told() {
        for (text, error) in [
            ("", "the stream has no name"),
            ("name x", "the stream has no interface"),
            ("name x source pg0 }", "`}` is no word of a stream"),
            ("{name x interface pg0", "the stream ends too early"),
            ("{interface pg0}", "the stream has no name"),
            ("{name x}", "the stream has no interface"),
            ("{name x interface pg0 speed 3}", "`speed` is no word of a stream"),
            ("{name x interface pg0 data { UDP: 1 -> 2 }}", "`UDP:` cannot stand here"),
            ("{name x interface pg0 ttl 300}", "ttl 300 is out of range"),
            ("{name x interface pg0 vlan-tag qinq}", "qinq: expected dot1q or dot1ad"),
            ("{name x interface pg0 profile ip4dst}", "there is no profile 'ip4dst'; there are ethip4-ip4dst"),
            ("{name x interface pg0 size 0x64}", "0x64: '0' is no weight"),
            ("{name x interface pg0 size 9-3}", "9-3: 9 comes after 3"),
            ("{name x interface pg0} more", "`more` stands behind"),
            ("{name x interface pg0 node ip4-lookup}", "node ip4-lookup: streams enter at ethernet-input"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }
}
