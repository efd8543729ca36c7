//! `bench stall`: how long a worker is kept from its queues while control works. A closed loop of packets circles through
//! a router and a bridge, on one worker's thread, while the control thread makes one kind of change after the other.

use std::path::Path;
use std::time::{Duration, Instant};

use quiver_compat::Caller;
use quiver_engine::{Backing, Dataplane, Level};
use quiver_scenarios::UNSEEN;
use quiver_testkit::daemon::{Daemon, Setup};

use crate::command::command;
use crate::machine::Machine;
use crate::report::append_lines;
use crate::tables::stations;

/// How long each kind of work goes on at least, and begins anew when it is done.
const LENGTH: Duration = Duration::from_secs(5);
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(150);
const STREAMS: [&str; 2] = ["routed", "bridged"];

const CONFIGURATION: [&str; 16] = [
    "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0",
    "create packet-generator interface pg1",
    "create packet-generator interface pg2",
    "create packet-generator interface pg3",
    "set interface state pg0 up",
    "set interface state pg1 up",
    "set interface state pg2 up",
    "set interface state pg3 up",
    "set interface ip address pg0 10.0.0.1/16",
    "set interface ip address pg1 10.1.0.1/16",
    "ip neighbor pg1 10.1.0.2 02:00:00:00:00:b2 static",
    "ip route add 48.0.0.0/8 via 10.1.0.2 pg1",
    "create bridge-domain 1",
    "set interface l2 bridge pg2 1",
    "set interface l2 bridge pg3 1",
    "l2fib add 02:00:00:00:00:c2 1 pg3 static",
];
const GENERATOR: [&str; 3] = [
    "packet-generator new { name routed interface pg0 window 512 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:a0 \
     UDP: 10.0.0.2 -> 48.0.0.1-48.0.255.255 UDP: 1-60000 -> 2 } }",
    "packet-generator new { name bridged interface pg2 window 512 data { IP4: 02:00:00:00:00:c1 -> 02:00:00:00:00:c2 \
     UDP: 10.2.0.1 -> 10.2.0.2 UDP: 1-60000 -> 2 } }",
    "packet-generator enable",
];

/// The request of an API client: all routes of IPv4 table 0.
const DUMP: &str = "dump ip_route_dump";

/// A kind of work.
struct Work {
    name: &'static str,
    /// Set-up before the measurement.
    first: fn(&mut Daemon) -> Result<(), String>,
    commands: fn() -> Vec<String>,
    /// Whether it is over, if it goes on longer than others.
    is_over: fn(&Daemon) -> bool,
}

impl Work {
    /// A work that is all commands.
    const fn of(name: &'static str, commands: fn() -> Vec<String>) -> Work {
        Work { name, first: |_| Ok(()), commands, is_over: |_| true }
    }
}

const WORKS: [Work; 8] = [
    Work::of("nothing", Vec::new),
    Work::of("100,000 routes come and go", || {
        vec![
            "ip route add count 100000 20.0.0.0/32 via 10.1.0.2 pg1".into(),
            "ip route del count 100000 20.0.0.0/32".into(),
        ]
    }),
    Work::of("the route of the packets changes", || {
        vec!["ip route add 48.0.0.0/16 via 10.1.0.2 pg1".into(), "ip route del 48.0.0.0/16".into()]
    }),
    Work::of("100 interfaces come and go", || {
        let make = (100..200).flat_map(|n| {
            [format!("create packet-generator interface pg{n}"), format!("set interface state pg{n} up")]
        });
        make.chain((100..200).map(|n| format!("delete packet-generator interface pg{n}"))).collect()
    }),
    Work::of("bridge domains, members and stations", || {
        let mut lines = vec![];
        for n in 2..52 {
            lines.push(format!("create bridge-domain {n}"));
            lines.push(format!("create packet-generator interface pg{}", 100 + n));
            lines.push(format!("set interface l2 bridge pg{} {n}", 100 + n));
            lines.push(format!("l2fib add 02:00:00:00:01:{n:02x} {n} pg{} static", 100 + n));
            lines.push(format!("l2fib add 02:00:00:00:02:{n:02x} 1 pg3 static"));
        }
        for n in 2..52 {
            lines.push(format!("l2fib del 02:00:00:00:02:{n:02x} 1"));
            lines.push(format!("delete packet-generator interface pg{}", 100 + n));
            lines.push(format!("create bridge-domain {n} del"));
        }
        lines
    }),
    Work::of("show commands", || {
        let shows =
            ["interface", "runtime", "errors", "packet-generator", "ip fib", "l2fib all", "threads", "adjacency"];
        shows.map(|what| format!("show {what}")).to_vec()
    }),
    Work::of("a client dumps 100,000 routes", || {
        let mut lines = vec!["ip route add count 100000 20.0.0.0/32 via 10.1.0.2 pg1".to_owned()];
        lines.extend((0..20).map(|_| DUMP.to_owned()));
        lines.push("ip route del count 100000 20.0.0.0/32".into());
        lines
    }),
    Work { name: "a million stations are aged", first: meet_a_million, commands: Vec::new, is_over: are_aged },
];

const STATIONS: usize = 1_000_000;

/// Makes the bridge learn a million stations that expire soon.
fn meet_a_million(daemon: &mut Daemon) -> Result<(), String> {
    command(daemon, "create bridge-domain 1 mac-age 1 learn-limit 2000000")?;
    command(
        daemon,
        "packet-generator new { name stations interface pg2 limit 1000000 data { \
         IP4: 02:01:00:00:00:00-02:01:00:0f:42:3f -> 02:00:00:00:00:c2 UDP: 10.2.0.1 -> 10.2.0.2 UDP: 1 -> 2 } }",
    )?;
    command(daemon, "packet-generator enable stations")?;
    daemon.advance(Duration::from_secs(58)).map_err(|error| error.to_string())?;
    command(daemon, "packet-generator delete stations")?;
    match stations::count(daemon) {
        STATIONS.. => Ok(()),
        fewer => Err(format!("{fewer} of {STATIONS} stations were learned")),
    }
}

/// All but the one that sends.
fn are_aged(daemon: &Daemon) -> bool {
    stations::count(daemon) <= 1
}

/// Measures all kinds of work, and prints a table; appends the rows to a file if one is given.
pub fn run(csv: Option<&Path>) -> Result<(), String> {
    let Machine { date, revision, cpu, .. } = Machine::here(Backing::Plain, Level::best());
    println!("{:<40}{:>10}{:>14}{:>8}{:>16}", "control does", "commands", "packets", "lost", "longest gap, us");
    let mut rows = vec![];
    for work in WORKS {
        let (name, (commands, sent, lost, gap)) = (work.name, measure(&work)?);
        println!("{name:<40}{commands:>10}{sent:>14}{lost:>8}{gap:>16.1}");
        rows.push(format!("{date},{revision},\"{name}\",{commands},{sent},{lost},{gap:.1},\"{cpu}\""));
    }
    println!(
        "the longest gap between two polls of the worker, in its own CPU time, over {LENGTH:?} of each or until it is over"
    );
    csv.map_or(Ok(()), |path| {
        append_lines(path, "date,revision,work,commands,packets,lost,longest_gap_us,cpu", rows.into_iter())
    })
}

/// Commands, packets sent and lost, and the longest gap in microseconds.
fn measure(work: &Work) -> Result<(u64, u64, u64, f64), String> {
    let setup = Setup { buffers: 8192, ..Setup::default() };
    let mut daemon = Daemon::new(UNSEEN, setup).map_err(|error| error.to_string())?;
    CONFIGURATION.iter().try_for_each(|line| command(&mut daemon, line))?;
    (work.first)(&mut daemon)?;
    daemon.start_threads().map_err(|error| error.to_string())?;
    GENERATOR.iter().try_for_each(|line| command(&mut daemon, line))?;
    let mut client = Caller::connect(daemon.control());
    let (start, lines, mut commands) = (Instant::now(), (work.commands)(), 0);
    while start.elapsed() < LENGTH || !(work.is_over)(&daemon) {
        if start.elapsed() > PATIENCE {
            return Err(format!("{}: that is not over within {PATIENCE:?}", work.name));
        }
        for line in &lines {
            work_by(&mut daemon, &mut client, line)?;
            commands += 1;
        }
        if lines.is_empty() {
            daemon.run_threads(Duration::from_millis(10));
        }
    }
    command(&mut daemon, "packet-generator disable")?;
    let gap = {
        let dataplane = daemon.control().room::<Dataplane>();
        dataplane.worker_counters(0).ok_or("there is no worker")?.gap_max.get() as f64 / 1000.0
    };
    // What is under way comes back first.
    let (patience, mut counts) = (Instant::now(), counted(&mut daemon)?);
    while counts.0 != counts.1 && patience.elapsed() < LENGTH {
        daemon.run_threads(Duration::from_millis(10));
        counts = counted(&mut daemon)?;
    }
    daemon.stop_threads();
    Ok((commands, counts.0, counts.0 - counts.1.min(counts.0), gap))
}

/// Does what a line says: a command, or a client's dump.
fn work_by(daemon: &mut Daemon, client: &mut Caller, line: &str) -> Result<(), String> {
    if line != DUMP {
        return command(daemon, line);
    }
    // The table's number, the family, and a name of 64 bytes.
    match client.count("ip_route_dump", &[0; 4 + 1 + 64]) {
        100_000.. => Ok(()),
        entries => Err(format!("`{line}`: {entries} routes")),
    }
}

/// Packets sent and received, of both streams.
fn counted(daemon: &mut Daemon) -> Result<(u64, u64), String> {
    let mut sums = (0, 0);
    for stream in STREAMS {
        let reply = daemon.run(&format!("show packet-generator {stream}")).map_err(|error| error.to_string())?;
        let of = |column: &str| reply.json[0][column].as_u64().ok_or(format!("{stream} has no {column}"));
        sums = (sums.0 + of("sent")?, sums.1 + of("received")?);
    }
    Ok(sums)
}
