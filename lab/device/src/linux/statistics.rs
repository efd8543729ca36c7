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

/// Conntrack's counts of packets: those that it found in no connection that may begin so, and those without room for their connection;
/// and its entries. A line has the names, and each core one with its numbers in hexadecimal; all have the same entries.
pub fn tracked(stat: &str) -> BTreeMap<String, u64> {
    const PACKETS: [&str; 4] = ["invalid", "insert_failed", "drop", "early_drop"];
    let mut lines = stat.lines().map(str::split_whitespace);
    let names: Vec<&str> = lines.next().into_iter().flatten().collect();
    let mut counts = BTreeMap::new();
    for line in lines {
        for (name, number) in names.iter().zip(line) {
            let Ok(number) = u64::from_str_radix(number, 16) else { continue };
            let count: &mut u64 = counts.entry(format!("conntrack {name}")).or_default();
            match *name {
                "entries" => *count = number,
                _ => *count += number,
            }
        }
    }
    counts
        .retain(|name, _| name == "conntrack entries" || PACKETS.iter().any(|end| name.ends_with(&format!(" {end}"))));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conntracks_counts_are_of_all_cores_and_its_entries_are_not() {
        let stat = "entries  found invalid insert_failed drop early_drop icmp_error\n\
                    0000000a 00000001 00000010 00000000 00000001 00000000 00000000\n\
                    0000000a 00000001 00000001 00000002 00000000 00000000 00000000\n";
        let counts = [("drop", 1), ("early_drop", 0), ("entries", 10), ("insert_failed", 2), ("invalid", 17)];
        assert_eq!(tracked(stat), counts.map(|(name, count)| (format!("conntrack {name}"), count)).into());
        assert_eq!(tracked(""), BTreeMap::new());
    }

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
