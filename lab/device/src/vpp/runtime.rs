//! `show runtime`: what VPP's nodes did, and what of that was work.
//!
//! An input node is called in every turn of its worker's loop, whether there are packets or not, and all of it counts in its
//! clocks. What a call in vain costs is seen while no packets come ([`Idle`]); how many there were follows from the frames that
//! the next node was given. Where both ports had packets at once, a call made two frames, so at least half as many calls as
//! frames were not in vain; just so many are taken not to be, which is to VPP's advantage.

use std::collections::BTreeMap;

/// The node that input nodes of Ethernet interfaces hand their frames to.
const NEXT: &str = "ethernet-input";
/// Ports that an input node polls in one call.
const PORTS: f64 = 2.0;

/// What a node did on a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    thread: String,
    name: String,
    is_input: bool,
    calls: f64,
    packets: u64,
    /// Ticks in all.
    clocks: f64,
}

/// The nodes of workers; of the main thread where there are none.
pub fn nodes(answer: &str) -> Vec<Node> {
    let (mut nodes, mut thread) = (vec![], String::new());
    for line in answer.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let ["Thread", _, name, ..] = words[..] {
            thread = name.to_owned();
        }
        nodes.extend(node(&thread, &words));
    }
    if nodes.iter().any(|node: &Node| node.thread != "vpp_main") {
        nodes.retain(|node| node.thread != "vpp_main");
    }
    nodes
}

/// Name, a state of one or two words, calls, vectors, suspends, clocks, vectors in a call.
fn node(thread: &str, words: &[&str]) -> Option<Node> {
    let [name, state, .., calls, packets, _, clocks, _] = words else { return None };
    let (calls, packets, clocks): (u64, u64, f64) = (calls.parse().ok()?, packets.parse().ok()?, clocks.parse().ok()?);
    // Clocks are told per packet, or per call where there were none.
    let per = if packets > 0 { packets } else { calls };
    Some(Node {
        thread: thread.to_owned(),
        name: (*name).to_owned(),
        is_input: *state == "polling",
        calls: calls as f64,
        packets,
        clocks: clocks * per as f64,
    })
}

/// What a call in vain costs, by thread and input node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idle(BTreeMap<(String, String), f64>);

impl Idle {
    /// From a run without packets; where a node had some all the same, its calls in vain count as work later.
    pub fn of(nodes: &[Node]) -> Idle {
        let idle = nodes.iter().filter(|node| node.is_input && node.packets == 0 && node.calls > 0.0);
        Idle(idle.map(|node| (node.key(), node.clocks / node.calls)).collect())
    }
}

impl Node {
    fn key(&self) -> (String, String) {
        (self.thread.clone(), self.name.clone())
    }
}

/// What packets have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Ticks.
    pub clocks: f64,
    /// Packets that came in.
    pub packets: u64,
}

impl Work {
    /// Adds what nodes did since the last time.
    pub fn add(&mut self, nodes: &[Node], idle: &Idle) {
        for node in nodes.iter().filter(|node| node.packets > 0) {
            self.clocks += node.clocks;
            if node.name == NEXT {
                self.packets += node.packets;
            }
            if !node.is_input {
                continue;
            }
            let frames = nodes.iter().find(|next| next.thread == node.thread && next.name == NEXT);
            let useful = frames.map_or(node.calls, |next| next.calls / PORTS);
            let vain = (node.calls - useful).max(0.0) * idle.0.get(&node.key()).copied().unwrap_or(0.0);
            // The two are measured at different times.
            self.clocks -= vain.min(node.clocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE_RUN: &str = "
Thread 0 vpp_main (lcore 0)
Time 3.2, 10 sec internal node vector rate 0.00 loops/sec 1000000.00
  vector rates in 0.0000e0, out 0.0000e0, drop 0.0000e0, punt 0.0000e0
             Name                 State         Calls          Vectors        Suspends     Packet-Clocks   Vectors/Call  
api-rx-from-ring                any wait                 0               0               5          1.00e4            0.00
---------------
Thread 1 vpp_wk_0 (lcore 1)
             Name                 State         Calls          Vectors        Suspends     Packet-Clocks   Vectors/Call  
memif-input                      polling           1000000               0               0          5.00e1            0.00
unix-epoll-input                 polling              1000               0               0          9.00e2            0.00
";
    const RUN: &str = "
Thread 1 vpp_wk_0 (lcore 1)
             Name                 State         Calls          Vectors        Suspends     Packet-Clocks   Vectors/Call  
ethernet-input                   active              2000          256000               0          2.00e1          128.00
memif-input                      polling            11000          256000               0          4.00e1           23.27
memif1/0-output                  active              2000          256000               0          9.00e0          128.00
unix-epoll-input                 polling              1000               0               0          9.00e2            0.00
";

    #[test]
    fn calls_in_vain_are_taken_out() {
        let idle = Idle::of(&nodes(IDLE_RUN));
        assert_eq!(idle.0.len(), 2);
        let mut work = Work::default();
        work.add(&nodes(RUN), &idle);
        // 11,000 calls, of which 1,000 made two frames each.
        assert_eq!(work, Work { clocks: 256_000.0 * (20.0 + 40.0 + 9.0) - 10_000.0 * 50.0, packets: 256_000 });
        work.add(&nodes(IDLE_RUN), &idle);
        assert_eq!(work.packets, 256_000);
    }

    #[test]
    fn the_main_thread_counts_where_there_are_no_workers() {
        let alone = RUN.replace("Thread 1 vpp_wk_0 (lcore 1)", "Thread 0 vpp_main (lcore 0)");
        assert_eq!(nodes(&alone).len(), 4);
        assert!(nodes(IDLE_RUN).iter().all(|node| node.thread == "vpp_wk_0"));
    }
}
