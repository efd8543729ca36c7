//! Packets that the kernel dropped because a core's backlog queue was full.

use std::collections::BTreeMap;
use std::fs;

use crate::Error;

/// Counters of each core's backlog queue, a line each.
pub(crate) const SOFTNET: &str = "/proc/net/softnet_stat";

/// Packets that found no room in the backlog queues of the kernel's cores.
pub(crate) fn backlog() -> Result<BTreeMap<String, u64>, Error> {
    let text = fs::read_to_string(SOFTNET)?;
    Ok(BTreeMap::from([("kernel backlog-full".to_owned(), backlog_drops(&text))]))
}

/// Packets for which a core's queue had no room, of all cores: the second of hexadecimal columns.
pub(crate) fn backlog_drops(softnet: &str) -> u64 {
    let dropped = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    softnet.lines().filter_map(dropped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_queues_are_hexadecimal() {
        assert_eq!(backlog_drops("0000abcd 00000010 00000000\n00000001 00000001 00000000\n"), 17);
    }
}
