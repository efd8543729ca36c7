//! The lab's generator: how many packets one core puts into memif, how many it sends and takes again, and how exact its pace
//! and its latencies are. All are processes, as `quiver lab run` starts them.

use std::path::Path;
use std::time::Duration;

use quiver_generator::daemon::{Daemon, Start, built};
use quiver_generator::{Generator, Link, Makes, Outcome, Sending, Setup, Streams, Watch, cores};
use quiver_stop::Stop;
use serde_json::Value;
use tempfile::TempDir;

use crate::figures::{Row, report};

/// Windows, of which the median counts.
const WINDOWS: usize = 9;
const WINDOW: Duration = Duration::from_millis(500);
const SETTLE: Duration = Duration::from_millis(100);
/// How long packets are paced, and at which rate: half of it in each direction.
const PACED_SECONDS: u64 = 10;
const RATE: u64 = 1_000_000;
/// Packets of 64 bytes that one core should put into memif in a second.
const INTO_GOAL: f64 = 20e6;
/// The part by which a mean rate may be off.
const RATE_GOAL: f64 = 0.001;

/// Measures, prints, and writes the rows to a file.
pub fn run(csv: Option<&Path>) -> Result<(), String> {
    let told = |error: quiver_generator::Error| error.to_string();
    let [core, other, ..] = cores::allowed()[..] else { return Err("two cores are needed".into()) };
    let mut rows = Vec::new();
    for frame in ["64", "imix", "1518"] {
        let rate = into_memif(frame, core, other).map_err(told)?;
        let goal = (frame == "64").then_some(INTO_GOAL);
        rows.push(Row { what: format!("into memif, {frame}"), value: rate, unit: "pps", goal });
        let rate = looped(frame, core).map_err(told)?;
        rows.push(Row { what: format!("sent and taken again, {frame}"), value: rate, unit: "pps", goal: None });
    }
    rows.extend(paced(core).map_err(told)?);
    report("Rates are of both directions together, by one worker.", &rows, csv)
}

fn setup(folder: &TempDir, core: usize, links: [Link; 2]) -> Result<Generator, quiver_generator::Error> {
    let (program, place) = (built("quiverd")?, folder.path().to_owned());
    let control = cores::allowed();
    Generator::start(&Setup {
        program,
        folder: place,
        core,
        control,
        namespace: None,
        makes: Makes::Packets,
        links,
        mtu: 9000,
        stop: Stop::default(),
    })
}

fn folder() -> Result<TempDir, quiver_generator::Error> {
    let path = std::env::temp_dir();
    TempDir::with_prefix_in("quiver-bench-", &path).map_err(|error| quiver_generator::Error::File { path, error })
}

/// The packets of CSIT's base case.
fn streams(frame: &str) -> Streams {
    let suite = format!("suites: [{{function: l2xc, driver: memif, frame: {frame}, search: mrr}}]");
    let cases = quiver_suite::read([("bench", suite.as_str())]).expect("the suite is valid");
    Streams::of(&cases[0])
}

/// The median over windows of what `rate` says of an outcome.
fn median(
    generator: &mut Generator,
    frame: &str,
    rate: impl Fn(&Outcome) -> f64,
) -> Result<f64, quiver_generator::Error> {
    let (streams, flat) = (streams(frame), Sending::Flat { time: WINDOW });
    let mut rates = Vec::new();
    for _ in 0..WINDOWS {
        rates.push(rate(&generator.trial(&streams, flat, Watch::default(), SETTLE)?));
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates[WINDOWS / 2])
}

/// Packets per second that find room in the rings of another quiverd, which takes them out and drops them.
fn into_memif(frame: &str, core: usize, other: usize) -> Result<f64, quiver_generator::Error> {
    let (own, its) = (folder()?, folder()?);
    let socket = own.path().join("memif");
    let links = [0, 1].map(|id| Link::Memif { socket: socket.clone(), id });
    let mut generator = setup(&own, core, links)?;
    let program = built("quiverd")?;
    let (workers, control) = ([other], cores::allowed());
    let start = Start {
        name: "the sink",
        program: &program,
        folder: its.path(),
        workers: &workers,
        control: &control,
        namespace: None,
        stop: &Stop::default(),
    };
    let mut sink = Daemon::start(&start)?;
    let mut lines = vec![format!("create memif socket id 1 filename {}", socket.display())];
    for id in [0, 1] {
        lines.push(format!("create interface memif id {id} socket-id 1 slave ring-size 2048"));
        lines.push(format!("set interface state memif1/{id} up"));
        lines.push(format!("set interface rx-mode memif1/{id} polling"));
    }
    sink.run(&lines)?;
    generator.wait_for_links()?;
    median(&mut generator, frame, |outcome| {
        let full = outcome.drops.values().sum::<u64>();
        // Some more may have been sent before the streams were stopped: they are in `sent`, not in the time.
        outcome.counts().sent.saturating_sub(full) as f64 / outcome.sending.as_secs_f64()
    })
}

/// Packets per second that go round when both links are one.
fn looped(frame: &str, core: usize) -> Result<f64, quiver_generator::Error> {
    let (_folder, mut generator) = in_a_loop(core)?;
    median(&mut generator, frame, Outcome::receive_rate)
}

fn in_a_loop(core: usize) -> Result<(TempDir, Generator), quiver_generator::Error> {
    let folder = folder()?;
    let socket = folder.path().join("memif");
    let links = [Link::Memif { socket: socket.clone(), id: 0 }, Link::MemifSlave { socket, id: 0 }];
    let mut generator = setup(&folder, core, links)?;
    generator.wait_for_links()?;
    Ok((folder, generator))
}

/// The pace over ten seconds, the times between packets, and what latency there is where there should be next to none: what
/// the generator adds itself.
fn paced(core: usize) -> Result<Vec<Row>, quiver_generator::Error> {
    let (_folder, mut generator) = in_a_loop(core)?;
    let rate = RATE / 2;
    let sending = Sending::Paced { rate, packets: rate * PACED_SECONDS };
    let outcome = generator.trial(&streams("64"), sending, Watch { latency: true, gaps: true }, SETTLE)?;
    // From the first packet to the last, by the worker's clock.
    let mean = |of: &Option<Value>| of.as_ref().map_or(f64::NAN, |of| of["mean"].as_f64().unwrap_or(f64::NAN));
    let gaps = outcome.directions.each_ref().map(|direction| mean(&direction.gaps));
    let off = gaps.map(|gap| (1e9 / gap / rate as f64 - 1.0).abs());
    let off = off[0].max(off[1]);
    let mut rows = vec![
        Row { what: "mean rate at 1 Mpps, off by".into(), value: off, unit: "part", goal: Some(RATE_GOAL) },
        Row { what: "lost at 1 Mpps".into(), value: outcome.lost() as f64, unit: "packets", goal: None },
    ];
    let direction = &outcome.directions[0];
    for (name, of) in [("gap", &direction.gaps), ("latency with nothing between", &direction.latency)] {
        for part in ["min", "mean", "p50", "p99", "p99.9", "max"] {
            let value = of.as_ref().map_or(0.0, |of: &Value| of[part].as_f64().unwrap_or(0.0));
            rows.push(Row { what: format!("{name}, {part}"), value, unit: "ns", goal: None });
        }
    }
    Ok(rows)
}
