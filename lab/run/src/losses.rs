//! Where packets went that did not come back.

use std::collections::BTreeMap;

use quiver_generator::Outcome;
use quiver_suite::field::Device;

/// The part of the packets that may be unsent before it is the generator that was the limit.
const UNSENT: f64 = 0.001;

/// What was lost, by name, since the same names had other counts.
pub fn since(before: &BTreeMap<String, u64>, after: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let more = after.into_iter().map(|(name, count)| {
        let more = count.saturating_sub(before.get(&name).copied().unwrap_or(0));
        (name, more)
    });
    more.filter(|(_, more)| *more > 0).collect()
}

/// Whether a device's counter is of packets that were dropped, and not contained in another one.
pub fn is_loss(device: Device, name: &str) -> bool {
    match device {
        // Interfaces' drops are the sum of what nodes give the reasons of.
        Device::Quiver => ![" rx", " tx", " drops"].iter().any(|end| name.ends_with(end)),
        Device::Testpmd => name.ends_with("-dropped") || name.ends_with("ring-full"),
        // What ports drop is what the links lose: no room in a core's queue, or in a TAP's.
        Device::Linux => name.ends_with("errors") || name.starts_with("ip "),
        // A station that is not known yet is a miss of a table, and no loss.
        Device::Vpp => ["drop", "error", "no free", "rx-miss", "ring-full"].iter().any(|part| name.contains(part)),
    }
}

/// Whether the generator, and not the device, was the limit: it did not send what it should, or did not take in time what the
/// device sent.
pub fn is_limited(outcome: &Outcome, losses: &BTreeMap<String, u64>, device: Device) -> bool {
    let unsent = outcome.unsent() as f64 > UNSENT * outcome.intended.unwrap_or(0) as f64;
    let full = match device {
        Device::Quiver => losses.contains_key("quiver interface-output tx-full"),
        Device::Testpmd => losses.keys().any(|name| name.ends_with("TX-dropped")),
        Device::Linux | Device::Vpp => false,
    };
    unsent || full || losses.contains_key("generator af-packet-input ring-full")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let vpp =
            ["memif1/0 rx packets", "l2-learn L2 learn misses", "memif1/1-tx no free tx slots", "memif1/0 rx-miss"];
        assert_eq!(names(Device::Vpp, &vpp), 2);
        let linux = ["in rx packets", "in rx dropped", "in tx dropped", "in rx errors", "ip InDiscards"];
        assert_eq!(names(Device::Linux, &linux), 2);
    }
}
