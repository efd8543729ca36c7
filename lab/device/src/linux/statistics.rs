//! Parses the kernel's counters.

use std::collections::BTreeMap;
use std::time::Duration;

/// Unit of `/proc/stat`: USER_HZ, always 1/100 s on Linux.
const TICK: Duration = Duration::from_millis(10);
/// The column of softirq time there, behind the name.
const SOFTIRQ: usize = 6;

/// The softirq time of these cores.
pub fn softirq(stat: &str, cpus: &[usize]) -> Option<Duration> {
    let of = |core: &usize| {
        let name = format!("cpu{core}");
        let mut words = stat.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(&name)).then_some(words)
        })?;
        words.nth(SOFTIRQ)?.parse::<u32>().ok()
    };
    let ticks = cpus.iter().map(of).sum::<Option<u32>>()?;
    Some(TICK * ticks)
}

/// Drops of the kernel's router by the kernel's names. Of the two lines that begin with `Ip:`, the first has the names,
/// the second the counts.
pub fn ip_drops(snmp: &str) -> BTreeMap<String, u64> {
    const DROPS: [&str; 8] = [
        "InHdrErrors",
        "InAddrErrors",
        "InUnknownProtos",
        "InDiscards",
        "OutDiscards",
        "OutNoRoutes",
        "ReasmFails",
        "FragFails",
    ];
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Ip:")).map(str::split_whitespace);
    let (names, counts) = (lines.next(), lines.next());
    let pairs = names.into_iter().flatten().zip(counts.into_iter().flatten());
    let drops = pairs.filter(|(name, _)| DROPS.contains(name));
    drops.filter_map(|(name, count)| Some((format!("ip {name}"), count.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softirq_time_is_that_of_the_cores_set_aside() {
        let stat = "cpu  9 9 9 9 9 9 300 0 0 0\ncpu0 1 2 3 4 5 6 100 0 0 0\ncpu1 1 2 3 4 5 6 200 0 0 0\nintr 5\n";
        assert_eq!(softirq(stat, &[1]), Some(Duration::from_secs(2)));
        assert_eq!(softirq(stat, &[0, 1]), Some(Duration::from_secs(3)));
        assert_eq!(softirq(stat, &[2]), None);
    }

    #[test]
    fn drops_of_the_router_have_its_names() {
        let snmp = "Ip: Forwarding InReceives InAddrErrors OutNoRoutes\nIp: 1 90 7 0\nIcmp: InMsgs\nIcmp: 4\n";
        let drops = [("ip InAddrErrors".to_owned(), 7), ("ip OutNoRoutes".to_owned(), 0)];
        assert_eq!(ip_drops(snmp), BTreeMap::from(drops));
    }
}
