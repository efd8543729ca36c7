//! Quiver: a quiverd of its own, spoken to at its command socket.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quiver_control::protocol::Response;
use quiver_daemon::ask;
use quiver_suite::field::{Buffers, Feature, Function, Keyword as _, Pace, Scale, Shape};
use quiver_suite::{Side, Traffic};
use serde_json::Value;

use crate::growth::Growth;
use crate::process::{Process, Progress, RESIDENT, program};
use crate::{Busy, Device, Error, Job, MTU, Measure, Port, Usage, cores, features, ring_size, routes};

/// Name of the device in errors.
const QUIVER: &str = "quiver";
/// Packet buffers for each worker where they are shared: both rings of two interfaces, and some on their way.
const BUFFERS: usize = 16_384;
/// How long it may take to answer its first command.
const FIRST_ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// How long any other command may take: two million routes are some seconds' work.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);
/// Receive queues at most of an interface of the kernel.
const QUEUES_MAX: usize = 16;
/// Number of routes from which on a table is made large.
const MANY: u32 = 1000;

/// A running quiverd.
pub struct Quiver {
    process: Process,
    socket: PathBuf,
    version: String,
    configuration: String,
    growth: Growth,
    /// Which table routes go to that are added, and by which interface.
    table: Option<u32>,
    uplink: String,
}

impl Quiver {
    /// Starts one, and gives it its commands.
    pub fn start(job: &Job<'_>) -> Result<Quiver, Error> {
        let (socket, api) = (job.socket("cli"), job.socket("api.sock"));
        let program = match &job.program {
            None => quiver_daemon::built("quiverd").map_err(|_| Error::Missing {
                program: "quiverd".to_owned(),
                remedy: "run `cargo build -p quiverd`".to_owned(),
            }),
            Some(_) => program(job, "quiverd", "build it with `cargo build --release -p quiverd`"),
        };
        let program = match job.site {
            Some(site) => site.brought("quiverd", program)?,
            None => program?,
        };
        let mut command = Process::command(job, &program, &cores::others(job));
        command.arg("--socket").arg(&socket.there).arg("--api-socket").arg(&api.there).args(["--log-level", "warn"]);
        command.arg("--workers").arg(job.cpus.len().to_string()).arg("--cores").arg(cores::list(&job.cpus));
        if job.case.buffers == Buffers::ZeroCopy {
            // All that there may ever be are made at once, since pages that are shared cannot be added.
            let buffers = BUFFERS * job.cpus.len().max(1);
            command.arg("--share-buffers").arg("--buffers-limit").arg(buffers.to_string());
        }
        let process = Process::start(QUIVER, job, &mut command, &[&socket, &api])?;
        let traffic = job.traffic();
        let wires = wires(job, &traffic);
        let commands = commands(job, &traffic, &wires);
        let mut quiver = Quiver {
            process,
            socket: socket.here,
            version: String::new(),
            configuration: commands.join("\n"),
            growth: Growth::new(QUIVER, &traffic),
            table: table(job).map(|_| routes::TABLE),
            uplink: wires[1].ends().to_owned(),
        };
        let socket = quiver.socket.clone();
        quiver.process.wait_until("an answer", FIRST_ANSWER_WITHIN, |process| {
            Ok(match ask(&socket, "show version", process.wait(FIRST_ANSWER_WITHIN)) {
                Ok(_) => Progress::Done,
                Err(error) => Progress::NotYet(error.to_string()),
            })
        })?;
        let answer = quiver.ask("show version")?;
        quiver.version = quiver_daemon::version_of(&answer);
        commands.iter().try_for_each(|line| quiver.ask(line).map(drop))?;
        let table = quiver.table.unwrap_or(0);
        for (wire, side) in wires.iter().zip(&traffic.sides).filter(|(_, side)| routes::are_messages(&side.routes)) {
            quiver.routes(&api.here, side, wire.ends(), table)?;
        }
        Ok(quiver)
    }

    /// Adds routes by messages.
    fn routes(&mut self, api: &Path, side: &Side, interface: &str, table: u32) -> Result<(), Error> {
        let line = routes::told(&side.routes, table, interface);
        let names = self.statistics("/if/names")?;
        let names = names["/if/names"]["value"].as_array().cloned().unwrap_or_default();
        let index = names.iter().position(|name| name == interface);
        let index =
            index.ok_or_else(|| foreign("show statistics segment /if/names", interface, format!("{names:?}")))?;
        let added =
            self.process.client(api).and_then(|mut client| routes::add(&mut client, &side.routes, table, index as u32));
        added.map_err(|error| self.process.refused(&line, error))?;
        self.configuration = format!("{}\n{line}", self.configuration);
        Ok(())
    }

    /// Gives a command, as users type it, and returns its answer as JSON.
    fn ask(&mut self, line: &str) -> Result<Value, Error> {
        match ask(&self.socket, line, self.process.wait(ANSWER_WITHIN)) {
            Ok(Response::Done(answer)) => Ok(answer.json),
            Ok(Response::Error(refusal)) => {
                Err(Error::Refused { device: QUIVER, command: line.to_owned(), answer: refusal.what })
            }
            Ok(other) => Err(foreign(line, "an end", format!("{other:?}"))),
            Err(error) => Err(self.process.silent(line, error)),
        }
    }

    /// The entries of its statistics below a name.
    fn statistics(&mut self, name: &str) -> Result<Value, Error> {
        let line = format!("show statistics segment {name}");
        let mut answer = self.ask(&line)?;
        match answer.get_mut("entries") {
            Some(entries) => Ok(entries.take()),
            None => Err(foreign(&line, "entries", answer.to_string())),
        }
    }
}

impl Device for Quiver {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn configuration(&self) -> &str {
        &self.configuration
    }

    fn wait_until_ready(&mut self, within: Duration) -> Result<(), Error> {
        let socket = self.socket.clone();
        self.process.wait_until("the connection of its ports", within, |process| {
            let line = "show memif";
            let answer =
                ask(&socket, line, process.wait(ANSWER_WITHIN)).map_err(|error| process.silent(line, error))?;
            let Response::Done(answer) = answer else { return Err(foreign(line, "a table", format!("{answer:?}"))) };
            let all = answer.json.as_array().is_some_and(|rows| rows.iter().all(|row| row["state"] == "connected"));
            Ok(if all { Progress::Done } else { Progress::NotYet(answer.json.to_string()) })
        })
    }

    fn usage(&mut self) -> Result<Usage, Error> {
        let cpu = self.process.cpu()?;
        let workers = self.statistics("/quiver/workers/")?;
        let sum = |name: &str| match workers.get(format!("/quiver/workers/{name}")) {
            Some(entry) => Ok(sum(&entry["value"], None)),
            None => Err(foreign("show statistics segment /quiver/workers/", name, workers.to_string())),
        };
        let spent = sum("busy-ticks")?.saturating_sub(sum("preempted-ticks")?) as f64;
        // What one worker hands to another both of them received.
        let packets = sum("packets")?.saturating_sub(sum("handed-over")?);
        Ok(Usage { cpu, busy: Some(Busy { measure: Measure::ThreadTicks, spent, off_core: None, packets }) })
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        let mut counters = BTreeMap::new();
        let interfaces = self.statistics("/if/")?;
        let names: Vec<_> = interfaces["/if/names"]["value"].as_array().cloned().unwrap_or_default();
        for (index, name) in names.iter().enumerate() {
            let Some(name) = name.as_str() else { continue };
            for (what, counter) in [("rx", "/if/rx"), ("tx", "/if/tx"), ("drops", "/if/drops")] {
                counters.insert(format!("{name} {what}"), sum(&interfaces[counter]["value"], Some(index)));
            }
        }
        let line = "show errors";
        let answer = self.ask(line)?;
        for row in answer.as_array().into_iter().flatten() {
            let (node, reason, count) = (row["node"].as_str(), row["reason"].as_str(), row["count"].as_u64());
            let Some(((node, reason), count)) = node.zip(reason).zip(count) else {
                return Err(foreign(line, "node, reason and count", answer.to_string()));
            };
            *counters.entry(format!("{node} {reason}")).or_default() += count;
        }
        Ok(counters)
    }

    fn holdings(&mut self) -> Result<BTreeMap<&'static str, f64>, Error> {
        let used = self.statistics("/buffer-pools/")?["/buffer-pools/default-numa-0/used"]["value"].as_f64();
        let heap = self.ask("show memory")?["used"].as_f64();
        let said = [("buffers", used), ("heap", heap), (RESIDENT, Some(self.process.memory()?))];
        Ok(said.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }

    fn grow(&mut self, entries: u32) -> Result<(), Error> {
        let routes = self.growth.next(entries)?;
        let line = routes::command(&routes, [], self.table, &self.uplink);
        self.ask(&line).map(drop)
    }

    fn stop(self: Box<Self>) -> Result<(), Error> {
        self.process.stop()
    }
}

fn foreign(command: &str, lacking: &str, answer: String) -> Error {
    Error::Foreign { device: QUIVER, command: command.to_owned(), lacking: lacking.to_owned(), answer }
}

/// The sum of a counter of all threads: of one interface, or of everything.
fn sum(threads: &Value, index: Option<usize>) -> u64 {
    let number = |cell: &Value| cell.as_u64().or_else(|| cell["packets"].as_u64()).unwrap_or(0);
    let row = |row: &Value| match index {
        Some(index) => row.get(index).map_or(0, number),
        None => row.as_array().into_iter().flatten().map(number).sum(),
    };
    // A quiverd before 2026-12 has a list of threads in place of a mapping.
    let list = threads.as_array().into_iter().flatten();
    list.chain(threads.as_object().into_iter().flat_map(|rows| rows.values())).map(row).sum()
}

/// One of its two interfaces, and the part of it that the frames of the case belong to.
struct Wire {
    interface: String,
    part: Option<String>,
}

impl Wire {
    /// The interface that frames are received by once their tags are known.
    fn ends(&self) -> &str {
        self.part.as_deref().unwrap_or(&self.interface)
    }
}

fn wires(job: &Job<'_>, traffic: &Traffic) -> [Wire; 2] {
    [0, 1].map(|at| {
        let interface = match &job.ports[at] {
            Port::Memif { id, .. } => format!("memif{}/{id}", job.socket_number(at)),
            Port::Host { name, .. } => format!("host-{name}"),
            Port::Tap { .. } => format!("tap{at}"),
        };
        let part = traffic.sides[at].tags.first().map(|tag| format!("{interface}.{tag}"));
        Wire { interface, part }
    })
}

/// The words with which the table of the case's routes is made; none if the table that is there always does.
fn table(job: &Job<'_>) -> Option<String> {
    let is_one_route = job.case.shape == Shape::Net;
    let is_large = matches!(job.case.scale, Scale::Entries(entries) if entries >= MANY) && !is_one_route;
    let words = match job.case.feature {
        _ if !job.case.function.is_routing() => return None,
        Feature::RouteCounters if is_large => " counters large",
        Feature::RouteCounters => " counters",
        _ if is_large => " large",
        Feature::OwnTable => "",
        _ => return None,
    };
    Some(format!("{} table add {}{words}", routes::family(job.case.function), routes::TABLE))
}

/// All of its commands, in order.
fn commands(job: &Job<'_>, traffic: &Traffic, wires: &[Wire; 2]) -> Vec<String> {
    let mut commands = vec![];
    for (at, (wire, side)) in wires.iter().zip(&traffic.sides).enumerate() {
        interface(&mut commands, job, at, wire, side);
    }
    let [first, second] = [wires[0].ends(), wires[1].ends()];
    match job.case.function {
        Function::CrossConnect => {
            commands.push(format!("set interface l2 xconnect {first} {second}"));
            commands.push(format!("set interface l2 xconnect {second} {first}"));
        }
        Function::Bridge => {
            let limit = match job.case.scale {
                Scale::Entries(entries) => format!(" learn-limit {}", entries.saturating_mul(2)),
                Scale::Base => String::new(),
            };
            commands.push(format!("create bridge-domain 1{limit}"));
            commands.extend([first, second].map(|name| format!("set interface l2 bridge {name} 1")));
        }
        Function::Ip4 | Function::Ip6 => {
            let (words, function) = (table(job), job.case.function);
            let table = words.as_ref().map(|_| routes::TABLE);
            commands.extend(words);
            for (wire, side) in wires.iter().zip(&traffic.sides) {
                router(&mut commands, function, wire.ends(), side, table);
            }
            commands.extend(features::commands(job.case, traffic, [first, second]));
        }
    }
    if !job.case.function.is_routing() {
        for (wire, side) in wires.iter().zip(&traffic.sides).filter(|(_, side)| !side.tags.is_empty()) {
            commands.push(format!("set interface l2 tag-rewrite {} pop {}", wire.ends(), side.tags.len()));
        }
    }
    commands
}

/// Makes an interface and the part of it that frames belong to.
fn interface(commands: &mut Vec<String>, job: &Job<'_>, at: usize, wire: &Wire, side: &Side) {
    let Wire { interface, part } = wire;
    match &job.ports[at] {
        Port::Memif { socket, id } => {
            let (number, rings, queues) = (job.socket_number(at), ring_size(job.case.frame), job.cpus.len().max(1));
            if number == at + 1 {
                commands.push(format!("create memif socket id {number} filename {}", socket.display()));
            }
            commands.push(format!(
                "create interface memif id {id} socket-id {number} slave ring-size {rings} rx-queues {queues} tx-queues \
                 {queues} hw-addr {}",
                side.gateway
            ));
        }
        Port::Host { name, .. } => {
            let queues = job.cpus.len().clamp(1, QUEUES_MAX);
            commands.push(format!("create host-interface name {name} num-rx-queues {queues}"));
            commands.push(format!("set interface mac address {interface} {}", side.gateway));
        }
        Port::Tap { name, .. } => {
            let queues = job.cpus.len().clamp(1, QUEUES_MAX);
            commands.push(format!(
                "create tap id {at} host-if-name {name} host-mtu-size {MTU} num-rx-queues {queues} hw-addr {}",
                side.gateway
            ));
        }
    }
    if job.case.pace != Pace::Own {
        commands.push(format!("set interface rx-mode {interface} {}", job.case.pace.word()));
    }
    commands.push(format!("set interface state {interface} up"));
    if let Some(part) = part {
        let tags = match &side.tags[..] {
            [outer, inner, ..] => format!("dot1ad {outer} inner-dot1q {inner}"),
            [only] => format!("dot1q {only}"),
            [] => String::new(),
        };
        commands.push(format!("create sub-interfaces {interface} {} {tags} exact-match", side.tags[0]));
        commands.push(format!("set interface state {part} up"));
    }
}

/// Gives an interface its address, its neighbours and the routes that lead to them.
fn router(commands: &mut Vec<String>, function: Function, interface: &str, side: &Side, table: Option<u32>) {
    if let Some(table) = table {
        commands.push(format!("set interface {} table {interface} {table}", routes::family(function)));
    }
    commands.push(format!("set interface ip address {interface} {}/{}", side.address, side.link_length()));
    for (next_hop, station) in side.hops() {
        commands.push(format!("ip neighbor {interface} {next_hop} {station} static"));
    }
    if !routes::are_messages(&side.routes) {
        let command = |of| routes::command(of, side.other_hops.keys().copied(), table, interface);
        commands.extend(side.routes.iter().map(command));
    }
}
