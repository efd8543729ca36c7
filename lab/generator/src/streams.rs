//! The streams of a case, in the generator's words.

use quiver_suite::field::{Frame, Function};
use quiver_suite::{Case, Traffic};

/// Bytes of the checksum behind a frame, which a suite's sizes have and the generator's have not.
const CHECKSUM: u32 = 4;
/// Bytes of a VLAN tag.
const TAG: u32 = 4;
/// Bytes on the line around each frame: preamble, start and the gap behind it (IEEE 802.3).
const AROUND: u32 = 20;
/// Bytes of a packet that a ring has one place for.
const BUFFER: u32 = 2048;
/// How many of each size a round of `imix` has, with the sizes.
const IMIX: [(u32, u32); 3] = [(28, 64), (16, 570), (4, 1518)];

/// The packets of a case, in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Streams {
    /// Arguments of `packet-generator new` for the packets that enter the device by its first port, and by its second.
    pub directions: [String; 2],
    /// The sum of the bytes of a round of frames, checksums and tags included, and how many these are.
    frames: (u32, u32),
    /// The case's window, if it has one.
    window: Option<u32>,
}

impl Streams {
    /// The packets of a case.
    pub fn of(case: &Case) -> Streams {
        let Traffic { profile, sides } = Traffic::of(case);
        // As many at both sides.
        let tags = sides[0].tags.len() as u32;
        let on_line = |bytes: u32| bytes + TAG * tags;
        let size = |bytes: u32| on_line(bytes) - CHECKSUM;
        let (sizes, frames) = match case.frame {
            Frame::Bytes(bytes) => (size(bytes.into()).to_string(), (on_line(bytes.into()), 1)),
            Frame::Imix => {
                let sizes = IMIX.map(|(count, bytes)| format!("{count}x{}", size(bytes))).join(",");
                let sum = |of: fn(u32, u32) -> u32| IMIX.iter().map(|(count, bytes)| of(*count, on_line(*bytes))).sum();
                (sizes, (sum(|count, bytes| count * bytes), sum(|count, _| count)))
            }
        };
        let has_stations = profile.contains("macsrc");
        let directions = [0, 1].map(|from| {
            let (own, other) = (&sides[from], &sides[1 - from]);
            let mut words = format!("profile {profile}{} size {sizes}", if from == 1 { " reverse" } else { "" });
            match own.tags[..] {
                [] => {}
                [only] => words += &format!(" vlan {only}"),
                [outer, inner, ..] => words += &format!(" vlan {outer} vlan-tag dot1ad inner-vlan {inner}"),
            }
            if !has_stations {
                let to = if case.function.is_routing() { own.gateway } else { other.station };
                let (mut of_ip4, mut of_ip6) = (String::new(), String::new());
                match &other.destinations {
                    None => {}
                    Some(to) if case.function == Function::Ip6 => {
                        of_ip6 = format!(" ip6-source {} ip6-destination {to}", own.address);
                    }
                    Some(to) => of_ip4 = format!(" UDP: {} -> {to}", own.address),
                }
                words += &format!("{of_ip6} data {{ IP4: {} -> {to}{of_ip4} }}", own.station);
            }
            words
        });
        Streams { directions, frames, window: case.window.map(|window| window.0.into()) }
    }

    /// Packets of each direction that circle in a closed loop.
    pub fn window(&self) -> u32 {
        self.window.unwrap_or_else(|| self.usual_window())
    }

    /// Largest window that any device forwards without loss: its packets fit into rings of 1,024 buffers of 2,048
    /// bytes.
    pub fn usual_window(&self) -> u32 {
        let (bytes, frames) = self.frames;
        if bytes > frames * BUFFER { 128 } else { 256 }
    }

    /// Bits per second on an Ethernet line, with preambles and gaps, for a number of packets per second.
    pub fn bits_per_second(&self, packets: f64) -> f64 {
        let (bytes, frames) = self.frames;
        packets * (f64::from(bytes) / f64::from(frames) + f64::from(AROUND)) * 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(suite: &str) -> Streams {
        let text = format!("suites:\n  - {{{suite}, driver: memif, search: mrr}}");
        Streams::of(&quiver_suite::read([("test.yaml", text.as_str())]).expect("a suite")[0])
    }

    #[test]
    fn sizes_are_without_the_checksum_and_with_tags() {
        let plain = streams("function: ip4, frame: 64");
        let own = "profile ethip4-ip4src253 reverse size 60 data { IP4: 02:00:00:00:00:02 -> 02:00:00:00:02:00 }";
        assert_eq!(plain.directions[1], own);
        assert_eq!(plain.bits_per_second(1e6), 672e6);
        let shaped = streams("function: ip4, frame: 64, scale: 1k, shape: bgp");
        let own = "size 60 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:01:00 UDP: 198.18.1.1 -> random:128.0.0.0-191.255.255.255 }";
        assert!(shaped.directions[0].ends_with(own), "{shaped:?}");
        let six = streams("function: ip6, frame: 78, scale: 1k, shape: bgp");
        let own = "profile ethip6-ip6dst1 size 74 ip6-source 2001:2:0:1::1 ip6-destination drawn:";
        assert!(six.directions[0].starts_with(own), "{six:?}");
        let own = ":2a00::1-2a07:ffff:ffff:ffff::1 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:01:00 }";
        assert!(six.directions[0].ends_with(own), "{six:?}");
        let mixed = streams("function: l2xc, encap: dot1q, frame: imix");
        let own = "size 28x64,16x570,4x1518 vlan 200 data { IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:01 }";
        assert!(mixed.directions[1].ends_with(own), "{mixed:?}");
        // The mean of the mix, the tag, and what is around a frame.
        assert!((mixed.bits_per_second(1.0) / 8.0 - 16_984.0 / 48.0 - 4.0 - 20.0).abs() < 0.01, "{mixed:?}");
    }

    #[test]
    fn profiles_may_have_stations() {
        let bridged = streams("function: l2bd, frame: 64, scale: 10k");
        assert_eq!(bridged.directions[1], "profile ethip4-macsrc5000dst5000 reverse size 60");
    }
}
