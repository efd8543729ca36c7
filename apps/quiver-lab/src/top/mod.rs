//! `quiver lab top`: a page with the graph of a running quiverd, and its rates as they are.
//!
//! It reads the statistics segment, and `show graph` and `show threads` at the command socket; it changes nothing.

mod segment;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, io};

use nix::unistd::geteuid;
use quiver_control::protocol::{Response, socket_path, viewers_path};
use quiver_dashboard::Page;
use quiver_stop::Stop;
use quiver_terminal::print;
use serde_json::{Value, json};

use crate::LabError;
use crate::server::{self, Listen};
use segment::Segment;

/// Time limit for quiverd's answer to a command.
const PATIENCE: Duration = Duration::from_secs(5);

/// Show the graph of a running quiverd in a browser, with rates on its arcs
///
/// Drops by reason, load of workers, and interfaces with most traffic, twice a second. It only reads: the statistics segment, and the
/// viewers' socket where there is one.
#[derive(Debug, clap::Args)]
pub struct Top {
    /// The daemon's command socket; QUIVER_SOCKET names another default
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Its statistics socket; by default stats.sock beside the command socket
    #[arg(long, value_name = "PATH")]
    stats_socket: Option<PathBuf>,
    #[command(flatten)]
    listen: Listen,
}

/// Where a daemon is asked.
struct Daemon {
    command: PathBuf,
    statistics: PathBuf,
    begun: Instant,
}

pub fn run(asked: &Top) -> Result<(), LabError> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let told = asked.socket.clone().or_else(|| env::var_os("QUIVER_SOCKET").map(PathBuf::from));
    let command = socket_path(told, geteuid().is_root(), runtime);
    let beside = command.with_file_name("stats.sock");
    let statistics = asked.stats_socket.clone().unwrap_or(beside);
    let viewers = viewers_path(&command);
    let command = if viewers.exists() { viewers } else { command };
    let daemon = Daemon { command, statistics, begun: Instant::now() };
    daemon.state().map_err(LabError::Top)?;
    let server = asked.listen.bind()?;
    print(server.url());
    let files = Page::Live.files();
    server.serve(move |path| {
        let name = if path == "/" { "index.html" } else { path.strip_prefix('/')? };
        if name == "live.json" {
            let state = daemon.state().unwrap_or_else(|error| json!({ "error": error }));
            return Some(("application/json", state.to_string().into_bytes()));
        }
        if name == "graph.svg" {
            let svg = daemon.ask("show graph svg seconds 1").ok()?;
            return Some(("image/svg+xml", svg["svg"].as_str()?.as_bytes().to_vec()));
        }
        let file = files.iter().find(|file| file.name == name)?;
        Some((server::kind(Path::new(name))?, file.text.clone().into_bytes()))
    })?;
    Ok(())
}

impl Daemon {
    /// Counters now: arcs, interfaces, workers, each as it counts from the daemon's start; the page makes rates of two.
    fn state(&self) -> Result<Value, String> {
        let counts = self.counts().map_err(|error| {
            format!(
                "{}: {error}; start quiverd, or name its sockets by --socket and --stats-socket",
                self.statistics.display()
            )
        })?;
        let seconds = self.begun.elapsed().as_secs_f64();
        let ways = self.ask("show graph")?;
        let threads = self.ask("show threads")?;
        Ok(json!({ "seconds": seconds, "graph": ways, "threads": threads, "counts": counts }))
    }

    fn counts(&self) -> io::Result<Value> {
        // A daemon that was started again has another segment, which only a new connection shows.
        let segment = Segment::connect(&self.statistics)?;
        segment.read(|directory| {
            let packets = directory.rows::<1>("/quiver/workers/packets")?;
            let packets: Vec<u64> = packets.iter().map(|row| row.first().map_or(0, |own| own[0])).collect();
            let flat = |sums: Vec<[u64; 1]>| sums.into_iter().map(|[sum]| sum).collect::<Vec<u64>>();
            Ok(json!({
                "arcs": { "name": directory.names("/quiver/arcs/names")?, "packets": flat(directory.sums("/quiver/arcs")?) },
                "interfaces": {
                    "name": directory.names("/if/names")?,
                    "rx": directory.sums::<2>("/if/rx")?,
                    "tx": directory.sums::<2>("/if/tx")?,
                    "drops": flat(directory.sums("/if/drops")?),
                },
                "packets": packets,
            }))
        })
    }

    fn ask(&self, line: &str) -> Result<Value, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {line}: {error}", self.command.display());
        match quiver_daemon::ask(&self.command, line, Stop::default().wait(PATIENCE)) {
            Ok(Response::Done(answer)) => Ok(answer.json),
            Ok(Response::Error(refusal)) => Err(named(&refusal.what)),
            Ok(_) => Err(named(&"an answer of another kind")),
            Err(error) => Err(named(&error)),
        }
    }
}
