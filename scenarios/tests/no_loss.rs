//! No packet is lost by control operations: closed loops of packets circle through a router and a bridge, on threads,
//! while routes, neighbours, interfaces, bridge domains, their members and stations come and go and everything is shown and dumped.
//! The windows are smaller than any queue on the way, so a packet that is missing at the end was lost.

use std::alloc::System;
use std::time::{Duration, Instant};

use cap::Cap;
use quiver_compat::Caller;
use quiver_engine::Dataplane;
use quiver_scenarios::UNSEEN;
use quiver_testkit::daemon::{Daemon, Setup};

/// pg0 to pg1 is routed as fast as it goes, on one worker; pg2 to pg3 bridged at a rate that lets the other one sleep.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1
    create packet-generator interface pg2
    create packet-generator interface pg3
    set interface state pg0 up
    set interface state pg1 up
    set interface state pg2 up
    set interface state pg3 up
    set interface ip address pg0 10.0.0.1/16
    set interface ip address pg1 10.1.0.1/16
    ip neighbor pg1 10.1.0.2 02:00:00:00:00:b2 static
    ip route add 48.0.0.0/8 via 10.1.0.2 pg1
    create bridge-domain 1
    set interface l2 bridge pg2 1
    set interface l2 bridge pg3 1
    l2fib add 02:00:00:00:00:c2 1 pg3 static
    packet-generator new { name routed interface pg0 window 200 data { \
        IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:a0 UDP: 10.0.0.2 -> 48.0.0.1-48.0.255.255 UDP: 1-60000 -> 2 } }
    packet-generator new { name bridged interface pg2 window 200 rate 1e5 size 64-1500 data { \
        IP4: 02:00:00:00:00:c1 -> 02:00:00:00:00:c2 UDP: 10.2.0.1 -> 10.2.0.2 UDP: 1-60000 -> 2 } }
";

const STREAMS: [&str; 2] = ["routed", "bridged"];
const ROUTES: u32 = 100_000;
const NEIGHBOURS: u32 = 1_000;
const INTERFACES: u32 = 100;
/// Times that everything comes and goes at most, until memory ends where it began. The first one fills stores and queues,
/// which may grow once more when threads are held up; what leaks, leaks in each of them.
const ROUNDS: usize = 5;
/// Packets of each stream that have to circle in all, and together while a round lasts.
const PACKETS: u64 = 10_000;
const PACKETS_MEANWHILE: u64 = 1000;
/// Longest time on a busy machine for work that takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest gap of a worker between two polls, in its own CPU time: time that a machine gives to others does not count,
/// time that its host gives to others may, and a turn of an unoptimized build needs a hundredth of it.
const GAP_MAX: Duration = Duration::from_secs(1);
/// Bytes that a round may leave behind: less than one for each route, and a thousandth of what came and went.
const BYTES_MORE: usize = 64 * 1024;

/// Knows how much memory is in use, however much of it the system's allocator keeps for later.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Everything that comes and goes, and looks on the way.
fn churn() -> Vec<String> {
    let mut lines = vec![];
    let neighbour =
        |n: u32| format!("10.1.{}.{} 02:00:00:01:{:02x}:{:02x}", 1 + n / 250, 1 + n % 250, n / 256, n % 256);
    lines.push(format!("ip route add count {ROUTES} 20.0.0.0/32 via 10.1.0.2 pg1"));
    lines.extend((0..NEIGHBOURS).map(|n| format!("ip neighbor pg1 {}", neighbour(n))));
    lines.extend(DUMPS.map(|dump| format!("dump {dump}")));
    for n in 0..INTERFACES {
        lines.push(format!("create packet-generator interface pg{}", 100 + n));
        lines.push(format!("set interface state pg{} up", 100 + n));
        // Half of them join the bridge through which packets go, with a station each; the others have one of their own.
        let domain = if n % 2 == 0 { 1 } else { 100 + n };
        lines.extend((domain > 1).then(|| format!("create bridge-domain {domain}")));
        lines.push(format!("set interface l2 bridge pg{} {domain}", 100 + n));
        lines.push(format!("l2fib add 02:00:00:00:02:{n:02x} {domain} pg{} static", 100 + n));
        if n % 10 == 0 {
            lines.extend(["show interface", "show runtime", "show errors", "show packet-generator"].map(str::to_owned));
        }
    }
    // The route that packets take is replaced under them, and so is the neighbour.
    lines.push("ip route add 48.0.0.0/16 via 10.1.0.2 pg1".to_owned());
    lines.push("ip route del 48.0.0.0/16".to_owned());
    lines.extend(["create bridge-domain 1 learn 0", "create bridge-domain 1 learn 1"].map(str::to_owned));
    lines.extend(DUMPS.map(|dump| format!("dump {dump}")));
    for n in 0..INTERFACES {
        lines.push(format!("l2fib del 02:00:00:00:02:{n:02x} {}", if n % 2 == 0 { 1 } else { 100 + n }));
        lines.push(format!("delete packet-generator interface pg{}", 100 + n));
        lines.extend((n % 2 == 1).then(|| format!("create bridge-domain {} del", 100 + n)));
    }
    lines.extend((0..NEIGHBOURS).map(|n| format!("ip neighbor del pg1 {}", neighbour(n))));
    lines.push("show ip neighbors".to_owned());
    lines.push(format!("ip route del count {ROUTES} 20.0.0.0/32"));
    lines
}

/// Dumps of a client of VPP's API during the same churn.
const DUMPS: [&str; 4] = ["sw_interface_dump", "ip_route_dump", "ip_neighbor_dump", "l2_fib_table_dump"];

/// Does what a line says: a command, or a dump of a client.
fn work(daemon: &mut Daemon, client: &mut Caller, line: &str) {
    let Some(dump) = line.strip_prefix("dump ") else { return run(daemon, line) };
    let fields: &[u8] = match dump {
        // Of every interface, whatever its name.
        "sw_interface_dump" => &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0],
        // Of table 0: its number, the family, and a name of 64 bytes.
        "ip_route_dump" => &[0; 4 + 1 + 64],
        // Of every interface; of IPv4.
        "ip_neighbor_dump" => &[0xff, 0xff, 0xff, 0xff, 0],
        // Of domain 1.
        _ => &[0, 0, 0, 1],
    };
    let entries = client.count(dump, fields);
    assert!(entries > 1, "{dump}: {entries} entries");
}

fn run(daemon: &mut Daemon, line: &str) {
    if let Err(error) = daemon.run(line) {
        panic!("`{line}`: {error}");
    }
}

/// Sent, received, lost, duplicated, reordered of a stream.
fn counts(daemon: &mut Daemon, stream: &str) -> [u64; 5] {
    let reply = daemon.run(&format!("show packet-generator {stream}")).expect("streams can be shown");
    ["sent", "received", "lost", "duplicated", "reordered"].map(|column| reply.json[0][column].as_u64().expect(column))
}

fn sent(daemon: &mut Daemon) -> [u64; 2] {
    STREAMS.map(|stream| counts(daemon, stream)[0])
}

/// Lets the daemon run until something is true, or it has had all the time that it may take: then the test goes on to say
/// what is wrong.
fn until(daemon: &mut Daemon, mut is_true: impl FnMut(&mut Daemon) -> bool) {
    let start = Instant::now();
    while !is_true(daemon) && start.elapsed() < PATIENCE {
        daemon.run_threads(Duration::from_millis(5));
    }
}

#[test]
fn nothing_is_lost_while_control_works() {
    let mut daemon = Daemon::new(UNSEEN, Setup { workers: 2, buffers: 8192, ..Setup::default() }).expect("a daemon");
    daemon.configure(&CONFIGURATION.replace("\\\n", " "));
    daemon.start_threads().expect("threads");
    let mut client = Caller::connect(daemon.control());
    run(&mut daemon, "packet-generator enable");
    until(&mut daemon, |daemon| sent(daemon).iter().all(|sent| *sent > 0));
    let mut memory: Vec<usize> = vec![];
    let has_settled = |memory: &[usize]| matches!(memory, [.., before, now] if *now <= before + BYTES_MORE);
    while memory.len() < ROUNDS && !has_settled(&memory) {
        let (start, before) = (Instant::now(), sent(&mut daemon).iter().sum::<u64>());
        loop {
            churn().iter().for_each(|line| work(&mut daemon, &mut client, line));
            let circled = sent(&mut daemon).iter().sum::<u64>() - before;
            if circled >= PACKETS_MEANWHILE {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "only {circled} packets circled meanwhile");
        }
        // What was retired is freed when both workers have passed a turn.
        until(&mut daemon, |daemon| daemon.control().room::<Dataplane>().domain().pending() == 0);
        memory.push(MEMORY.allocated());
    }
    until(&mut daemon, |daemon| sent(daemon).iter().all(|sent| *sent >= PACKETS));
    run(&mut daemon, "packet-generator disable");
    until(&mut daemon, |daemon| {
        let [sent, received] = [0, 1].map(|column| STREAMS.iter().map(|s| counts(daemon, s)[column]).sum::<u64>());
        received + daemon.drops().values().sum::<u64>() >= sent
    });
    for stream in STREAMS {
        let [sent, received, lost, duplicated, reordered] = counts(&mut daemon, stream);
        println!("{stream}: {sent} sent, {received} received");
        assert!(sent >= PACKETS, "{stream}: only {sent} packets circled");
        assert_eq!([received, lost, duplicated, reordered], [sent, 0, 0, 0], "{stream}: {:?}", daemon.drops());
    }
    for worker in 0..2 {
        let dataplane = daemon.control().room::<Dataplane>();
        let gap = dataplane.worker_counters(worker).map_or(0, |counters| counters.gap_max.get());
        println!("worker {worker}: longest gap between two polls {} us of its CPU time", gap / 1000);
        assert!(gap > 0, "the gap is counted");
        assert!(gap < GAP_MAX.as_nanos() as u64, "worker {worker} was away from its queues");
    }
    println!("bytes in use after each round: {memory:?}");
    assert!(has_settled(&memory), "memory grows: {memory:?}");
    daemon.stop_threads();
    daemon.finish().expect("all buffers and all retired memory are back");
}
