//! Parses VPP's `show runtime` and `show packet-generator`.

/// Counters of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Packets that it worked on.
    pub packets: u64,
    /// Ticks for each.
    pub clocks: f64,
}

/// The nodes that packets passed. A row has a name, a state of one or two words, calls, packets, suspends, clocks for a packet,
/// packets for a call; one of a process has no packets.
pub fn nodes(said: &str) -> Vec<Node> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, .., _calls, packets, _suspends, clocks, _rate] = words[..] else { return None };
        let node = Node { name: name.to_owned(), packets: packets.parse().ok()?, clocks: clocks.parse().ok()? };
        (node.packets > 0).then_some(node)
    };
    said.lines().filter_map(row).collect()
}

/// Whether a stream is not at its end yet.
pub fn is_running(said: &str, name: &str) -> bool {
    said.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(name) && words.next() == Some("Yes")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
Time 3.0, 10.0 sec internal node vector rate 255.98 loops/sec 1497432.70
  vector rates in 6.6187e5, out 6.6187e5, drop 0.0000e0, punt 0.0000e0
             Name                 State         Calls          Vectors        Suspends      Packet-Clocks   Vectors/Call
ethernet-input                   active               7813         2000000               0          2.69e1          255.98
fib-walk                       \"any wait\"                0               0               2          1.71e4            0.00
pg-input                        disabled              7814         2000000               0          1.00e2          255.95
unix-cli-process-0              \"running\"                4               0               9          2.09e5            0.00
";

    #[test]
    fn nodes_with_packets_are_read() {
        let node = |name: &str, clocks| Node { name: name.into(), packets: 2_000_000, clocks };
        assert_eq!(nodes(SAID), [node("ethernet-input", 26.9), node("pg-input", 100.0)]);
        assert_eq!(nodes(""), []);
    }

    #[test]
    fn a_stream_runs_until_it_is_disabled() {
        let said = |enabled| format!("Name   Enabled  Count  Parameters\n256   {enabled}   196608   limit 196608\n");
        assert_eq!([is_running(&said("Yes"), "256"), is_running(&said("No"), "256")], [true, false]);
        assert!(!is_running(&said("Yes"), "8"));
    }
}
