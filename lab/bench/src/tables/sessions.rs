//! Sessions by the million in a whole daemon: those that find no room, the memory of one, and turns of the worker in which they end.

use std::time::Duration;

use quiver_control::Time;
use quiver_engine::Level;
use quiver_session::expiry::{Which, end_sessions};
use quiver_session::room::Room;

use super::Row;
use super::routes::resident;
use crate::command::command;
use crate::graph::{Bench, cpu};
use crate::path::{self, sessions};

/// Seconds that sessions have left when all of them fall due.
const LEFT: u64 = 10;
/// Between two turns of control.
const STEP: Duration = Duration::from_millis(1);

/// Sessions of both families come, and those of IPv4 end: by their time, and by command.
pub fn come_and_go() -> Result<Vec<Row>, String> {
    let mut rows = vec![];
    for (name, family) in [(sessions::IP6, "IPv6"), (sessions::IP4, "IPv4")] {
        let path = path::all().into_iter().find(|path| path.name == name).ok_or("there is no such path")?;
        let row = |what, value, unit| Row { what, to: format!("4,128,768 sessions of {family}"), value, unit };
        let mut bench = Bench::new(&path, Level::best())?;
        let before = resident()?;
        bench.begin(&path)?;
        let (took, live) = (resident()? - before, live(&mut bench));
        rows.push(row("sessions without room in a table for 2^22", (path.distinct - live) as f64, ""));
        rows.push(row("memory, with the directory", took / live as f64, "bytes each"));
        if !path.ip6 {
            let due = longest_turn(&mut bench, due)?;
            bench.begin(&path)?;
            rows.push(row("longest turn of the worker while all fall due", due / 1e3, "us"));
            rows.push(row("the same while all are cleared", longest_turn(&mut bench, clear)? / 1e3, "us"));
        }
    }
    Ok(rows)
}

/// Sessions there are.
fn live(bench: &mut Bench) -> usize {
    bench.daemon().control().room::<Room>().sessions().map_or(0, |sessions| sessions.len())
}

/// All sessions have the same time left, in which no packet comes.
fn due(bench: &mut Bench) -> Result<Duration, String> {
    for timeout in ["embryonic", "established", "tcp-established"] {
        command(bench.daemon(), &format!("set sfdp timeout tenant 1 {timeout} {LEFT}"))?;
    }
    Ok(Duration::from_secs(LEFT))
}

fn clear(bench: &mut Bench) -> Result<Duration, String> {
    let control = bench.daemon().control();
    control.spawn("clear", end_sessions(control.clone(), Which::All));
    Ok(Duration::ZERO)
}

/// Nanoseconds of CPU time of the worker's longest turn, from the moment on at which sessions begin to end until all have ended.
fn longest_turn(bench: &mut Bench, begin: fn(&mut Bench) -> Result<Duration, String>) -> Result<f64, String> {
    let (start, mut longest) = (begin(bench)?, 0);
    let daemon = bench.daemon();
    let mut now = daemon.time() + start;
    daemon.executor().advance_to(now);
    let end = now + Duration::from_secs(60);
    while live(bench) > 0 && now < end {
        let daemon = bench.daemon();
        daemon.executor().run_ready();
        longest = daemon.workers().iter_mut().map(|worker| turn(worker, now)).max().unwrap_or(0).max(longest);
        now = now + STEP;
        daemon.executor().advance_to(now);
    }
    match live(bench) {
        0 => Ok(longest as f64),
        live => Err(format!("{live} sessions are left")),
    }
}

/// Nanoseconds of a turn.
fn turn(worker: &mut quiver_engine::Worker, now: Time) -> u64 {
    let start = cpu();
    worker.turn(now.0);
    cpu() - start
}
