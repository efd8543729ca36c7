//! `macip-input-ip4`, `macip-input-ip6`, `macip-input-arp`, `macip-input-l2`: pass the packets that the MAC-IP list of the receiving
//! interface permits, in layer 3 and layer 2.
//!
//! Drops: `denied`, by the first matching rule, or because no rule matches, as of frames with neither IP nor ARP.

use quiver_engine::{Context, Frame, Node, Paged, Snapshot, arcs};
use quiver_wire::EthernetHeader;

use super::lists::MacipLists;
use super::rule::Source;

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        Denied => drop "denied",
    }
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before IPv4's lookup.
    Ip4,
    /// Before IPv6's lookup.
    Ip6,
    /// Before ARP.
    Arp,
    /// In layer 2.
    Layer2,
}

/// Bytes of the Ethernet header, which stands in front of packets in layer 3.
const HEADER: isize = size_of::<EthernetHeader>() as isize;

impl Place {
    /// All of them.
    pub const ALL: [Place; 4] = [Place::Ip4, Place::Ip6, Place::Arp, Place::Layer2];

    /// The node there.
    pub const fn node(self) -> &'static str {
        match self {
            Place::Ip4 => "macip-input-ip4",
            Place::Ip6 => "macip-input-ip6",
            Place::Arp => "macip-input-arp",
            Place::Layer2 => "macip-input-l2",
        }
    }
    /// The feature arc.
    pub const fn arc(self) -> &'static str {
        match self {
            Place::Ip4 => "ip4-unicast",
            Place::Ip6 => "ip6-unicast",
            Place::Arp => "arp",
            Place::Layer2 => "l2-input",
        }
    }
}

/// A node.
#[derive(Clone)]
pub struct CheckStation {
    /// Where it stands.
    pub place: Place,
    /// The lists' numbers and one, by interface.
    pub attached: Snapshot<Paged<u32>>,
    /// The lists.
    pub lists: Snapshot<MacipLists>,
}

impl Node for CheckStation {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (attached, lists) = (self.attached.read(cx.guard), self.lists.read(cx.guard));
        for i in 0..frame.len() {
            // An interface has none where it is not checked any more, or not yet.
            let Some(number) = attached.get(frame.rx[i] as usize).and_then(|number| number.checked_sub(1)) else {
                frame.next[i] = Next::Pass.into();
                continue;
            };
            let moved = self.place == Place::Layer2 || frame.advance(cx.pool, i, -HEADER);
            let source = if moved { Source::of(frame.bytes(cx.pool, i)) } else { None };
            if moved && self.place != Place::Layer2 {
                frame.advance(cx.pool, i, HEADER);
            }
            let list = lists.get(number as usize).and_then(Option::as_ref);
            let permits = list.zip(source).is_some_and(|(list, source)| list.permits(&source));
            frame.next[i] = if permits { Next::Pass } else { Next::Denied }.into();
        }
    }
}
