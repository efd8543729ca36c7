//! Routes by the thousand come from BIRD over BGP, through the feeder of `clients/rust`, into a real quiverd by its binary API;
//! they change, half of them are withdrawn, and BIRD goes. Meanwhile packets for networks that have nothing to do with that circle
//! in a closed loop, and none is missing. In the end everything is as it was: the tables, the drops, the memory.
//!
//! 5,000 routes of IPv4 and 1,000 of IPv6 are enough to see that. As many as the internet has, in some minutes:
//!
//! ```sh
//! QUIVER_FEED=1000000,200000 cargo test -p quiver-scenarios --test namespaces feed -- --nocapture
//! ```

mod bird;
#[path = "../../../../clients/rust/examples/feeder/main.rs"]
mod feeder;

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_netns::{Namespace, World};
use quiver_site::Daemon;
use quiver_testkit::trials::Trial;

use bird::Bird;

pub const TRIALS: &[Trial<World>] = &[("routes_of_bird_come_change_and_go_and_no_other_packet_is_lost", feed)];

const API: &str = "/run/quiver/api.sock";
const COUNTS: &str = "QUIVER_FEED";
/// Longest time for so many more routes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_PER_ROUTE: Duration = Duration::from_micros(200);
/// Rounds at most until memory ends where it began: the first one fills stores, which may grow once more. What leaks, leaks in
/// each of them.
const ROUNDS: usize = 4;
/// Bytes that a round may leave behind: a hundredth of a route's for each, and what threads keep for themselves.
const BYTES_MORE: u64 = 256 * 1024;

/// Bytes that all rounds may leave behind, however many routes there were: a full table's seven for each.
const BYTES_KEPT: u64 = 8 << 20;

/// A router whose neighbours are named by routes of others, and two streams of packets that circle through it.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1
    set interface state pg0 up
    set interface state pg1 up
    set interface ip address pg0 10.0.0.1/16
    set interface ip address pg1 10.1.0.1/16
    set interface ip address pg0 fd00:0::1/64
    set interface ip address pg1 fd00:1::1/64
    ip neighbor pg1 10.1.0.2 02:00:00:00:00:b2 static
    ip neighbor pg1 10.1.0.3 02:00:00:00:00:b3 static
    ip neighbor pg1 fd00:1::2 02:00:00:00:00:b2 static
    ip neighbor pg1 fd00:1::3 02:00:00:00:00:b3 static
    ip route add 48.0.0.0/8 via 10.1.0.2 pg1
    ip route add fd48::/16 via fd00:1::2 pg1
    packet-generator new { name ip4 interface pg0 window 100 rate 20000 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:a0 UDP: 10.0.0.2 -> 48.0.0.1 UDP: 1 -> 2 } }
    packet-generator new { name ip6 interface pg0 window 100 rate 20000 size 100 ip6-source fd00:0::2 ip6-destination fd48::1 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:a0 } }
    packet-generator enable
";
const STREAMS: [&str; 2] = ["ip4", "ip6"];

/// State that must be as before.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    routes: [u64; 2],
    drops: String,
}

fn number(text: &str) -> Option<u64> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Routes of both tables, as they are told with a route.
fn routes(daemon: &Daemon) -> Result<[u64; 2], Failed> {
    let mut counts = [0; 2];
    for (command, count) in ["show ip fib 48.0.0.1", "show ip6 fib fd48::1"].iter().zip(&mut counts) {
        let shown = daemon.command(command)?;
        *count = shown.split("routes ").nth(1).and_then(number).ok_or_else(|| format!("{command}: {shown}"))?;
    }
    Ok(counts)
}

fn state(daemon: &Daemon) -> Result<State, Failed> {
    Ok(State { routes: routes(daemon)?, drops: daemon.command("show errors")? })
}

fn used(daemon: &Daemon) -> Result<u64, Failed> {
    let heap: serde_json::Value = serde_json::from_str(&daemon.command("show memory main-heap --json")?)?;
    heap["used"].as_u64().ok_or_else(|| format!("{heap}").into())
}

/// Sent, received, lost, duplicated and reordered of both streams.
fn streams(daemon: &Daemon) -> Result<[[u64; 5]; 2], Failed> {
    let mut all = [[0; 5]; 2];
    for (stream, counts) in STREAMS.iter().zip(&mut all) {
        let shown = daemon.command(&format!("show packet-generator {stream} --json"))?;
        let shown: serde_json::Value = serde_json::from_str(&shown)?;
        let column = |name: &str| shown[0][name].as_u64().ok_or_else(|| format!("{name}: {shown}"));
        for (name, count) in ["sent", "received", "lost", "duplicated", "reordered"].iter().zip(counts) {
            *count = column(name)?;
        }
    }
    Ok(all)
}

/// Waits for something, for as long as so many routes may take.
fn until(what: &str, routes: usize, mut is_so: impl FnMut() -> Result<bool, Failed>) -> Result<Duration, Failed> {
    let start = Instant::now();
    while !is_so()? {
        if start.elapsed() > PATIENCE + PATIENCE_PER_ROUTE * routes as u32 {
            return Err(format!("{what}: not within {:?}", start.elapsed()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(start.elapsed())
}

fn feed(world: &World) -> Result<(), Failed> {
    let counts = std::env::var(COUNTS).unwrap_or_else(|_| "5000,1000".into());
    let counts: Vec<usize> = counts.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let [ip4, ip6] = counts[..] else { return Err(format!("{COUNTS}: say two numbers: 5000,1000").into()) };
    let quiver = Namespace::add(world, "quiver")?;
    let daemon = Daemon::start_at(&quiver, Daemon::SOCKET, &["--api-socket", API])?;
    for line in CONFIGURATION.lines().map(str::trim).filter(|line| !line.is_empty()) {
        daemon.command(line)?;
    }
    let listener = Arc::new(quiver.within(|| TcpListener::bind("127.0.0.2:1790"))??);
    let mut bird = Bird::new(&quiver, ip4, ip6)?;
    let is_moving = || Ok(streams(&daemon)?.iter().all(|[_, received, ..]| *received > 0));
    until("packets that circle", 0, is_moving)?;
    let before = state(&daemon)?;
    let mut memory = vec![used(&daemon)?];
    let has_settled = |memory: &[u64]| matches!(memory, [_, .., before, now] if *now <= before + BYTES_MORE);
    while memory.len() <= ROUNDS && !has_settled(&memory) {
        round(&daemon, &quiver, &listener, &mut bird, &before)?;
        memory.push(used(&daemon)?);
    }
    daemon.command("packet-generator disable")?;
    until("the last packets", 0, || Ok(streams(&daemon)?.iter().all(|[sent, received, ..]| received == sent)))
        .map_err(|_| format!("packets are missing: {:?}; {:?}", streams(&daemon), daemon.command("show errors")))?;
    println!("bytes in use before and after each round: {memory:?}");
    for (stream, [sent, received, lost, duplicated, reordered]) in STREAMS.iter().zip(streams(&daemon)?) {
        println!("{stream}: {sent} packets sent, {received} received");
        assert!(sent > 1000, "only {sent} packets circled");
        assert_eq!([received, lost, duplicated, reordered], [sent, 0, 0, 0], "{stream}");
    }
    assert!(has_settled(&memory), "memory grows: {memory:?}");
    let [first, .., last] = memory[..] else { return Err("no round".into()) };
    assert!(last <= first + BYTES_KEPT, "memory does not come back: {memory:?}");
    Ok(())
}

/// Everything comes, changes, goes in part, and then the rest.
fn round(
    daemon: &Daemon,
    quiver: &Namespace,
    listener: &Arc<TcpListener>,
    bird: &mut Bird,
    before: &State,
) -> Result<(), Failed> {
    let (ip4, ip6) = (bird.count(false), bird.count(true));
    let all = ip4 + ip6;
    let with = |ip4: usize, ip6: usize| [before.routes[0] + ip4 as u64, before.routes[1] + ip6 as u64];
    let learned = Arc::new(AtomicU64::new(0));
    let feeder = {
        let (listener, learned) = (listener.clone(), learned.clone());
        std::thread::spawn(move || feeder::run(&listener, Path::new(API), &learned))
    };
    let has_learned = |bird: &Bird, count: usize| {
        bird.wake();
        Ok(learned.load(Ordering::Acquire) >= count as u64)
    };
    bird.start(quiver, 2)?;
    let came = until("routes", all, || has_learned(bird, all))?;
    assert_eq!(routes(daemon)?, with(ip4, ip6));
    bird.is_by(daemon, 2)?;
    bird.change(quiver, 3, 1)?;
    let changed = until("other next hops", all, || has_learned(bird, 2 * all))?;
    assert_eq!(routes(daemon)?, with(ip4, ip6), "as many as before");
    bird.is_by(daemon, 3)?;
    bird.change(quiver, 3, 2)?;
    let halved = until("half of the routes", all, || Ok(routes(daemon)? == with(ip4 / 2, ip6 / 2)))?;
    let start = Instant::now();
    bird.stop();
    until("the end of all routes", all, || Ok(feeder.is_finished()))?;
    feeder.join().map_err(|_| "the feeder panicked")??;
    println!(
        "{all} routes came in {came:?}, changed in {changed:?}; half of them went in {halved:?}, the others in {:?}",
        start.elapsed()
    );
    assert_eq!(state(daemon)?, *before);
    Ok(())
}
