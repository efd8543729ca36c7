//! The paths that are measured: how a daemon is configured, and the packets that take the path.

use std::net::Ipv4Addr;

/// Routes of the large table.
const MILLIONS: u32 = 2_000_000;
/// Next hops that the routes are spread over.
const HOPS: u32 = 8;

/// A path through the graph.
pub struct Path {
    /// Its name.
    pub name: &'static str,
    /// Ticks per packet at vectors of 256 that we want to stay below, with nodes and, where it is set, fused.
    pub goal: (Option<u32>, Option<u32>),
    /// Ticks per packet that VPP 26.10 spends on it, its generator left out; measured on the machine of the issue.
    pub vpp: Option<u32>,
    /// The commands that configure it: from pg0 to pg1.
    pub commands: fn() -> Vec<String>,
    /// Where packet `n` goes: the last word of its MAC address, and its destination.
    pub destination: fn(u32) -> Ipv4Addr,
    /// Whether the packets are routed, so that they are for the address of pg0.
    pub routed: bool,
}

/// All of them.
pub fn all() -> Vec<Path> {
    let few = |n: u32| Ipv4Addr::from(0x3000_0000 | (n % 8) << 16 | 1);
    // A walk over all routes in an order that no prefetcher follows: the factor has no divisor in common with the count.
    let many = |n: u32| Ipv4Addr::from(0x3000_0000 + (u64::from(n) * 1_234_567 % u64::from(MILLIONS)) as u32);
    let layer2 = |name, goal: (u32, Option<u32>), vpp, commands| Path {
        name,
        goal: (Some(goal.0), goal.1),
        vpp,
        commands,
        destination: |n| Ipv4Addr::from(0x3000_0000 + n % 256),
        routed: false,
    };
    let layer3 = |name, goal, vpp, commands, destination| Path {
        name,
        goal: (goal, None),
        vpp,
        commands,
        destination,
        routed: true,
    };
    vec![
        layer2("cross-connect", (30, Some(15)), Some(153), || {
            lines(["set interface l2 xconnect pg0 pg1", "set interface l2 xconnect pg1 pg0"])
        }),
        layer2("bridge", (80, None), Some(200), || {
            lines(["create bridge-domain 1", "set interface l2 bridge pg0 1", "set interface l2 bridge pg1 1"])
        }),
        layer3("ip4, 8 routes", Some(70), Some(197), || router("", 8, 16), few),
        layer3("ip4, 2 million routes", Some(110), Some(514), || router("", MILLIONS, 32), many),
        layer3("ip4, 8 routes, counted", None, None, || router("counters", 8, 16), few),
        layer3("ip4, 2 million routes, counted", None, None, || router("counters", MILLIONS, 32), many),
    ]
}

fn lines<const N: usize>(lines: [&str; N]) -> Vec<String> {
    lines.map(str::to_owned).to_vec()
}

/// A router with so many routes of this length from 48.0.0.0 on, over eight neighbours.
fn router(counters: &str, routes: u32, length: u32) -> Vec<String> {
    let mut commands = lines([
        "set interface ip table pg0 1",
        "set interface ip table pg1 1",
        "set interface ip address pg0 10.1.0.1/16",
        "set interface ip address pg1 10.2.0.1/16",
    ]);
    let large = if routes > 1000 { "large" } else { "" };
    commands.insert(0, format!("ip table add 1 {counters} {large}"));
    commands.extend((0..HOPS).map(|hop| format!("ip neighbor pg1 10.2.0.{} 02:00:00:00:01:{hop:02x}", hop + 2)));
    let each = routes / HOPS;
    for hop in 0..HOPS {
        let first = Ipv4Addr::from(0x3000_0000 + ((hop * each) << (32 - length)));
        let via = format!("10.2.0.{} pg1", hop + 2);
        commands.push(format!("ip route add count {each} {first}/{length} table 1 via {via}"));
    }
    commands
}
