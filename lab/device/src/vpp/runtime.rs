//! Counters of VPP's nodes, from `show runtime` and `show node verbose`, and the part of them that was work.
//!
//! `show runtime` tells clocks by three digits; asking for it stops the workers for a moment, so that all that they counted
//! is gathered. `show node verbose` then tells what was gathered of a node to the last clock. The statistics segment has the same
//! numbers, but its collector gathers while workers count, and what it meets half written counts twice.
//!
//! An input node is called in every turn of its worker's loop, whether there are packets or not, and all of it counts in its
//! clocks. What a call in vain costs is seen while no packets come ([`Idle`]); how many there were follows from the frames that
//! the next node was given. Where both ports had packets at once, a call made two frames, so at least half as many calls as
//! frames were not in vain; just so many are taken not to be, which is to VPP's advantage.

use std::collections::{BTreeMap, BTreeSet};

/// The node that input nodes of Ethernet interfaces hand their frames to.
const NEXT: &str = "ethernet-input";
/// Ports that an input node polls in one call.
const PORTS: f64 = 2.0;

/// Counters of a node on one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    thread: String,
    /// The thread's number.
    number: usize,
    name: String,
    is_input: bool,
    calls: f64,
    packets: u64,
    /// Ticks in all.
    clocks: f64,
}

/// Letters of a name that `show runtime` has room for.
const NAME_MAX: usize = 30;

/// The nodes of workers; of the main thread where there are none.
pub fn nodes(answer: &str) -> Vec<Node> {
    let (mut nodes, mut thread) = (vec![], (0, String::new()));
    for line in answer.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let ["Thread", number, name, ..] = words[..] {
            thread = (number.parse().unwrap_or(0), name.to_owned());
        }
        nodes.extend(node(&thread, &words));
    }
    if nodes.iter().any(|node: &Node| node.thread != "vpp_main") {
        nodes.retain(|node| node.thread != "vpp_main");
    }
    nodes
}

/// Name, a state of one or two words, calls, vectors, suspends, clocks, vectors in a call.
fn node((number, thread): &(usize, String), words: &[&str]) -> Option<Node> {
    let [name, state, .., calls, packets, _, clocks, _] = words else { return None };
    let (calls, packets, clocks): (u64, u64, f64) = (calls.parse().ok()?, packets.parse().ok()?, clocks.parse().ok()?);
    // Clocks are told per packet, or per call where there were none.
    let per = if packets > 0 { packets } else { calls };
    Some(Node {
        thread: thread.clone(),
        number: *number,
        name: (*name).to_owned(),
        is_input: *state == "polling",
        calls: calls as f64,
        packets,
        clocks: clocks * per as f64,
    })
}

/// Names of the nodes whose clocks matter, and that `show node` knows.
pub fn counted(nodes: &[Node]) -> Vec<String> {
    let counted = nodes.iter().filter(|node| node.packets > 0 || node.is_input && node.calls > 0.0);
    let names: BTreeSet<_> = counted.map(|node| &node.name).filter(|name| name.len() < NAME_MAX).collect();
    names.into_iter().cloned().collect()
}

/// All clocks of nodes that had packets, those of polls in vain among them.
pub fn counted_clocks(nodes: &[Node]) -> f64 {
    nodes.iter().filter(|node| node.packets > 0).map(|node| node.clocks).sum()
}

/// Takes over calls, clocks and vectors of the nodes of a name from `show node verbose`, thread by thread. Missing ones
/// stay as they are.
pub fn refine(nodes: &mut [Node], name: &str, answer: &str) {
    let table = answer.lines().skip_while(|line| !line.trim_start().starts_with("Thread")).skip(1);
    for line in table {
        let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [thread, calls, clocks, packets, ..] = numbers[..] else { continue };
        for node in nodes.iter_mut().filter(|node| node.name == name && node.number as u64 == thread) {
            (node.calls, node.clocks, node.packets) = (calls as f64, clocks as f64, packets);
        }
    }
}

/// Clocks of an empty poll, by thread and input node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idle(BTreeMap<(String, String), f64>);

impl Idle {
    /// Measures it in a run without packets, in which workers were off their cores for `off_core` ticks, spread over
    /// all input nodes. A node that had packets all the same is left out: its empty polls count as work later.
    pub fn of(nodes: &[Node], off_core: f64) -> Idle {
        let polling: f64 = nodes.iter().filter(|node| node.is_input).map(|node| node.clocks).sum();
        let share = if polling > 0.0 { (1.0 - off_core / polling).max(0.0) } else { 1.0 };
        let idle = nodes.iter().filter(|node| node.is_input && node.packets == 0 && node.calls > 0.0);
        Idle(idle.map(|node| (node.key(), node.clocks * share / node.calls)).collect())
    }
}

impl Node {
    fn key(&self) -> (String, String) {
        (self.thread.clone(), self.name.clone())
    }
}

/// Cost of packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Ticks.
    pub clocks: f64,
    /// Packets that came in.
    pub packets: u64,
}

impl Work {
    /// Adds the nodes' work since the last time.
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
        let idle = Idle::of(&nodes(IDLE_RUN), 0.0);
        assert_eq!(idle.0.len(), 2);
        let mut work = Work::default();
        work.add(&nodes(RUN), &idle);
        // 11,000 calls, of which 1,000 made two frames each.
        assert_eq!(work, Work { clocks: 256_000.0 * (20.0 + 40.0 + 9.0) - 10_000.0 * 50.0, packets: 256_000 });
        work.add(&nodes(IDLE_RUN), &idle);
        assert_eq!(work.packets, 256_000);
    }

    #[test]
    fn time_off_the_core_makes_no_poll_dearer() {
        let idle = nodes(IDLE_RUN);
        // A million calls of 50 ticks, and a thousand of 900.
        let of = |off_core| Idle::of(&idle, off_core).0.values().copied().collect::<Vec<_>>();
        assert_eq!((of(0.0), of(25.45e6), of(1e9)), (vec![50.0, 900.0], vec![25.0, 450.0], vec![0.0, 0.0]));
    }

    #[test]
    fn clocks_are_taken_over_to_the_last() {
        let mut nodes = nodes(RUN);
        assert_eq!(counted(&nodes), ["ethernet-input", "memif-input", "memif1/0-output", "unix-epoll-input"]);
        let answer = "node memif-input, type input, state polling, index 115\n\n  known previous nodes:\n\n\
                      \x20 Thread     Calls       Clocks       Vectors     Max Clock   Max Vectors\n\
                      \x20   0          0            0            0            0            0\n\
                      \x20   1        11001      10241234      256001       9000         256\n";
        refine(&mut nodes, "memif-input", answer);
        let node = nodes.iter().find(|node| node.name == "memif-input").expect("it is there");
        assert_eq!((node.calls, node.clocks, node.packets), (11_001.0, 10_241_234.0, 256_001));
        let before = nodes.clone();
        refine(&mut nodes, "memif-input", "show node: unknown node name: 'memif-input'");
        assert_eq!(nodes, before);
    }

    #[test]
    fn the_main_thread_counts_where_there_are_no_workers() {
        let alone = RUN.replace("Thread 1 vpp_wk_0 (lcore 1)", "Thread 0 vpp_main (lcore 0)");
        assert_eq!(nodes(&alone).len(), 4);
        assert!(nodes(IDLE_RUN).iter().all(|node| node.thread == "vpp_wk_0"));
    }
}
