//! Where packets went that did not come back.

use std::collections::BTreeMap;

use quiver_suite::field::Device;

/// Losses since the same names had other counts.
pub fn since(before: &BTreeMap<String, u64>, after: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let more = after.into_iter().map(|(name, count)| {
        let more = count.saturating_sub(before.get(&name).copied().unwrap_or(0));
        (name, more)
    });
    more.filter(|(_, more)| *more > 0).collect()
}

/// Losses that no counter names.
const UNNAMED: &str = "unnamed";
/// Packets that counters count beyond the lost ones.
const COUNTED_TWICE: &str = "counted-twice";
/// Packets that the kernel's queues refuse. Their sender gets an error, and counts them among its own losses.
const REFUSED: [&str; 2] = ["kernel backlog-full", "kernel tap-full"];

/// Adjusts the named losses to the number of lost packets: their sum, less [`COUNTED_TWICE`], is that number.
///
/// A packet that a queue refused and its sender counts, too, is its sender's loss only.
pub fn account(named: &mut BTreeMap<String, u64>, lost: u64) {
    let all: u64 = named.values().sum();
    let mut surplus = all.saturating_sub(lost);
    for (_, count) in named.iter_mut().filter(|(name, _)| REFUSED.iter().any(|refused| name.ends_with(refused))) {
        let both = surplus.min(*count);
        *count -= both;
        surplus -= both;
    }
    named.retain(|_, count| *count > 0);
    let rest = [(UNNAMED, lost.saturating_sub(all)), (COUNTED_TWICE, surplus)];
    named.extend(rest.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)));
}

/// Whether a device's counter is of packets that were dropped, and not contained in another one.
pub fn is_loss(device: Device, name: &str) -> bool {
    match device {
        // Interfaces' drops are the sum of what nodes give the reasons of.
        Device::Quiver => ![" rx", " tx", " drops"].iter().any(|end| name.ends_with(end)),
        Device::Testpmd => name.ends_with("-dropped") || name.ends_with("ring-full"),
        // What ports drop is what the links lose: no room in a core's queue, or in a TAP's.
        Device::Linux => {
            let is_tracked = name.starts_with("conntrack ") && name != "conntrack entries";
            name.ends_with("errors") || name.starts_with("ip ") || is_tracked
        }
        // A station that is not known yet is a miss of a table, and no loss.
        Device::Vpp => {
            ["drop", "Drop", "error", "no free", "rx-miss", "ring-full"].iter().any(|part| name.contains(part))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lost_packet_is_counted_once_and_what_is_counted_more_is_told() {
        let account = |named: &[(&str, u64)], lost| {
            let mut named = named.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
            super::account(&mut named, lost);
            named.into_iter().collect::<Vec<_>>()
        };
        let told =
            |named: &[(&str, u64)]| named.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>();
        let (sender, queue) = ("generator interface-output tx-full", "kernel backlog-full");
        // Refused to a sender that does not count: the kernel, where it forwards.
        assert_eq!(account(&[(queue, 5)], 5), told(&[(queue, 5)]));
        // Of 9 that a sender dropped, 4 were refused.
        assert_eq!(account(&[(sender, 9), (queue, 4)], 9), told(&[(sender, 9)]));
        assert_eq!(account(&[(sender, 9), (queue, 4)], 11), told(&[(sender, 9), (queue, 2)]));
        assert_eq!(account(&[(sender, 9), ("dut1 kernel backlog-full", 4)], 9), told(&[(sender, 9)]));
        assert_eq!(account(&[("kernel tap-full", 3), (sender, 3)], 3), told(&[(sender, 3)]));
        // Nobody knows who counts the others twice.
        assert_eq!(
            account(&[(sender, 9), ("device", 2), (queue, 1)], 8),
            told(&[("counted-twice", 3), ("device", 2), (sender, 9)])
        );
        assert_eq!(account(&[(sender, 1)], 3), told(&[(sender, 1), ("unnamed", 2)]));
        assert_eq!(account(&[], 0), []);
    }

    #[test]
    fn drops_are_told_from_what_passed_and_from_sums() {
        let names = |device, names: &[&str]| names.iter().filter(|name| is_loss(device, name)).count();
        let quiver =
            ["memif1/0 rx", "memif1/0 tx", "memif1/0 drops", "interface-output tx-full", "memif-input no-buffer"];
        assert_eq!(names(Device::Quiver, &quiver), 2);
        assert_eq!(names(Device::Testpmd, &["port 0 RX-packets", "port 0 RX-dropped", "port 0 RX-total"]), 1);
        assert_eq!(
            (names(Device::Testpmd, &["af-packet ring-full"]), names(Device::Vpp, &["af-packet ring-full"])),
            (1, 1)
        );
        let vpp = [
            "memif1/0 rx packets",
            "l2-learn L2 learn misses",
            "memif1/1-tx no free tx slots",
            "memif1/0 rx-miss",
            "abf-input-ip4 matched",
            "ip4-rx-urpf-strict uRPF Drop",
        ];
        assert_eq!(names(Device::Vpp, &vpp), 3);
        let linux = ["in rx packets", "in rx dropped", "in tx dropped", "in rx errors", "ip InDiscards"];
        assert_eq!(names(Device::Linux, &linux), 2);
    }
}
