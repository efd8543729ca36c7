//! Flows that an inspector has decided about once and for all: their packets pass it by.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use quiver_session::key::flow;
use quiver_wire::{V4, V6};

/// Flows of a generation at most. There are two, so a worker remembers at most twice as many for a queue pair.
const FLOWS_MAX: usize = 1 << 15;

/// Both ends of a flow in an order that does not depend on the direction, its protocol, and the interface at which it is inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    ends: [(u128, u16); 2],
    protocol: u8,
    is_ip6: bool,
    interface: u32,
}

impl Flow {
    /// The flow of a packet, which begins with its IP header. None for fragments without ports, protocols without ports, and ICMP
    /// errors: these are always inspected.
    pub fn of(packet: &[u8], interface: u32) -> Option<Flow> {
        let is_ip6 = packet.first()? >> 4 == 6;
        let found = if is_ip6 { flow::<V6>(packet, None) } else { flow::<V4>(packet, None) };
        let found = found.ok().filter(|found| !found.is_error)?;
        let mut ends = [found.ends.0, found.ends.1].map(|end| (end.address, end.port));
        ends.sort_unstable();
        Some(Flow { ends, protocol: found.protocol.0, is_ip6, interface })
    }
}

/// The decisions, in two generations: a flow that is met again moves to the young one, and when that is old enough or full, the old
/// one is forgotten.
pub(crate) struct Flows<S = RandomState> {
    young: HashMap<Flow, bool, S>,
    old: HashMap<Flow, bool, S>,
    /// Time at which the young generation began, in nanoseconds.
    since: u64,
}

impl Default for Flows {
    fn default() -> Flows {
        Flows { young: HashMap::new(), old: HashMap::new(), since: 0 }
    }
}

impl<S: BuildHasher> Flows<S> {
    /// Whether nothing is remembered.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }
    /// Forgets what was not met for `patience` nanoseconds, up to twice as long.
    pub fn age(&mut self, now: u64, patience: u64) {
        if now.saturating_sub(self.since) >= patience || self.young.len() >= FLOWS_MAX {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.since = now;
        }
    }
    /// Remembers whether packets of a flow pass.
    pub fn decide(&mut self, flow: Flow, passes: bool) {
        if self.young.len() < FLOWS_MAX || self.young.contains_key(&flow) {
            self.young.insert(flow, passes);
        }
    }
    /// Whether packets of a flow pass, if that is decided.
    pub fn decided(&mut self, flow: &Flow) -> Option<bool> {
        if let Some(passes) = self.young.get(flow) {
            return Some(*passes);
        }
        let passes = self.old.remove(flow)?;
        self.decide(*flow, passes);
        Some(passes)
    }
    /// Forgets all.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &str) -> Vec<u8> {
        let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:01 / {text}");
        text.parse::<quiver_testkit::packet::Packet>().expect("a packet").to_bytes()[14..].to_vec()
    }

    fn numbered(port: u16) -> Flow {
        Flow { ends: [(1, port), (2, 3)], protocol: 6, is_ip6: false, interface: 0 }
    }

    #[test]
    fn both_directions_are_one_flow_and_interfaces_differ() {
        for (there, back, other) in [
            (
                "ip4 10.0.0.1 > 10.0.0.2 / udp 1 > 2",
                "ip4 10.0.0.2 > 10.0.0.1 / udp 2 > 1",
                "ip4 10.0.0.1 > 10.0.0.2 / udp 1 > 3",
            ),
            (
                "ip6 2001:db8::1 > 2001:db8::2 / udp 1 > 2",
                "ip6 2001:db8::2 > 2001:db8::1 / udp 2 > 1",
                "ip6 2001:db8::1 > 2001:db8::3 / udp 1 > 2",
            ),
        ] {
            let flow = Flow::of(&packet(there), 1);
            assert!(flow.is_some() && flow == Flow::of(&packet(back), 1));
            assert_ne!(flow, Flow::of(&packet(there), 2));
            assert_ne!(flow, Flow::of(&packet(other), 1));
        }
        assert_eq!(Flow::of(&[], 1), None);
        assert_eq!(Flow::of(&[0x45; 7], 1), None);
    }

    #[test]
    fn flows_are_forgotten_when_they_are_not_met() {
        let mut flows = Flows::default();
        flows.decide(numbered(1), true);
        flows.decide(numbered(2), false);
        flows.age(100, 100);
        assert_eq!((flows.decided(&numbered(1)), flows.is_empty()), (Some(true), false));
        flows.age(150, 100);
        assert_eq!(flows.decided(&numbered(2)), Some(false), "it is not old enough");
        flows.age(200, 100);
        flows.age(300, 100);
        assert_eq!((flows.decided(&numbered(1)), flows.decided(&numbered(2))), (None, None));
        assert!(flows.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut flows = Flows::default();
        for number in 0..4 * FLOWS_MAX as u32 {
            flows.age(0, 100);
            flows.decide(Flow { interface: number, ..numbered(1) }, true);
        }
        assert!(flows.young.len() + flows.old.len() <= 2 * FLOWS_MAX && flows.old.len() == FLOWS_MAX);
        flows.clear();
        assert!(flows.is_empty());
    }
}
