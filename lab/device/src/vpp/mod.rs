//! FD.io's VPP: a process with a `startup.conf` of its own, spoken to by its binary API.

mod commands;
mod runtime;
mod startup;
mod statistics;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use quiver_client::Client;
use quiver_compat::{Message, Retval};
use quiver_suite::Side;

use crate::ground::Ground;
use crate::growth::Growth;
use crate::keeper::Keeper;
use crate::packet_sockets::{LOST_UNKNOWN, PacketSockets, RING_FULL};
use crate::process::{Process, Progress, RESIDENT, program};
use crate::waiting::OffCore;
use crate::{Busy, Device, Error, Job, Measure, Port, Usage, cores, routes};
use runtime::{Idle, Work};

/// Name of the device in errors.
const VPP: &str = "vpp";
/// How long it may take to take its memory and to serve its API.
const FIRST_ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// How long it is watched without packets.
const IDLE: Duration = Duration::from_millis(300);

/// Run a command line.
#[derive(Message)]
#[message(request, reply = CliInbandReply)]
struct CliInband {
    cmd: String,
}

/// The answer of a CLI command, whether it succeeded or not.
#[derive(Message, Default)]
#[message(reply)]
struct CliInbandReply {
    reply: String,
}

/// A running VPP.
pub struct Vpp {
    client: Client,
    process: Process,
    // Ends behind it.
    keeper: Keeper,
    version: String,
    configuration: String,
    growth: Growth,
    /// Interface and table of the routes that are added under load.
    uplink: String,
    table: Option<u32>,
    memifs: usize,
    /// Cost of empty polls.
    idle: Idle,
    /// Work done up to the last look.
    work: Work,
    /// Ticks of its clocks in a second.
    clock: f64,
    /// How many threads forward.
    workers: usize,
    /// Off-core part of the clocks of nodes with packets.
    off_core: OffCore,
    /// Losses of those ports that are packet sockets.
    sockets: PacketSockets,
}

impl Vpp {
    /// Starts one, and gives it its commands.
    pub fn start(job: &Job<'_>) -> Result<Vpp, Error> {
        let program = match job.site {
            Some(site) => site.found("vpp", "install FD.io's package vpp")?,
            None => program(job, "vpp", "install FD.io's package vpp, or name the program")?,
        };
        let (ground, api) = (Ground::of(job), job.socket("api.sock"));
        let startup = startup::conf(job, &ground, &api.there)?;
        let conf = ground.write("startup.conf", &startup)?;
        let mut command = Process::command(job, &program, &cores::all(job));
        // Its files in shared memory it leaves there.
        let files = ["global_vm", "vpe-api"].map(|file| format!("/dev/shm/{}-{file}", startup::prefix(&ground)));
        let keeper = Keeper::start("vpp-files", job, &["sh"], &format!("step 'rm -f {}' :\n", files.join(" ")))?;
        let mut process = Process::start(VPP, job, command.arg("-c").arg(&conf), &[&api])?;
        let client = connect(&mut process, &api.here)?;
        let traffic = job.traffic();
        let interfaces = commands::interfaces(job, &traffic);
        let commands = commands::all(job, &traffic, &interfaces);
        let (parts, sides) = (interfaces.each_ref().map(|interface| interface.part.clone()), &traffic.sides);
        let mut vpp = Vpp {
            client,
            process,
            keeper,
            version: String::new(),
            configuration: format!("{startup}\n{}", commands.join("\n")),
            growth: Growth::new(VPP, &traffic),
            uplink: interfaces[1].part.clone(),
            table: commands::table(job.case),
            memifs: job.ports.iter().filter(|port| matches!(port, Port::Memif { .. })).count(),
            idle: Idle::default(),
            work: Work::default(),
            clock: 0.0,
            workers: job.cpus.len(),
            off_core: OffCore::default(),
            sockets: PacketSockets::default(),
        };
        vpp.version = vpp.ask("show version")?.trim().to_owned();
        vpp.check_plugins(job)?;
        commands.iter().try_for_each(|line| vpp.ask(line).map(drop))?;
        for (part, side) in parts.iter().zip(sides).filter(|(_, side)| routes::are_messages(&side.routes)) {
            vpp.routes(side, part)?;
        }
        let (command, lacking) = ("show clock verbose", "clocks/sec");
        let answer = vpp.ask(command)?;
        vpp.clock = clock(&answer).ok_or_else(|| Error::Foreign {
            device: VPP,
            command: command.to_owned(),
            lacking: lacking.to_owned(),
            answer,
        })?;
        if let Err(why) = vpp.waited() {
            vpp.configuration = format!("{}\n# time off the core is not taken out: {why}", vpp.configuration);
        }
        Ok(vpp)
    }

    /// Checks that VPP has loaded the plugins of the job: it starts without a missing one and says nothing.
    fn check_plugins(&mut self, job: &Job<'_>) -> Result<(), Error> {
        let answer = self.ask("show plugins")?;
        match startup::plugins(job).find(|plugin| !startup::is_loaded(&answer, plugin)) {
            None => Ok(()),
            Some(plugin) => Err(Error::NoPlugin {
                device: VPP,
                plugin,
                remedy: format!("install FD.io's package vpp-plugin-core, or build it with {plugin} among VPP_PLUGINS"),
            }),
        }
    }

    /// How long its workers have been off their cores; where it has none, its main thread.
    fn waited(&self) -> Result<Duration, String> {
        let workers = self.process.waited(|name| name.starts_with("vpp_wk_"));
        workers.or_else(|_| self.process.waited(|name| name == "vpp_main" || name == "vpp"))
    }

    /// Adds routes by messages.
    fn routes(&mut self, side: &Side, interface: &str) -> Result<(), Error> {
        let table = self.table.unwrap_or(0);
        let (line, command) = (routes::told(&side.routes, table, interface), "show interface");
        let answer = self.ask(command)?;
        let index = answer.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(interface)).then(|| words.next()?.parse().ok())?
        });
        let foreign = || Error::Foreign { device: VPP, command: command.into(), lacking: interface.into(), answer };
        let index = index.ok_or_else(foreign)?;
        let added = routes::add(&mut self.client, &side.routes, table, index);
        added.map_err(|error| self.process.refused(&line, error))?;
        self.configuration = format!("{}\n{line}", self.configuration);
        Ok(())
    }

    /// Gives a command, and returns its answer.
    fn ask(&mut self, line: &str) -> Result<String, Error> {
        match self.client.answer(&CliInband { cmd: line.to_owned() }) {
            Ok((Retval::DONE, answer)) => Ok(answer.reply),
            Ok((_, answer)) => {
                let answer = answer.reply.trim().to_owned();
                Err(Error::Refused { device: VPP, command: line.to_owned(), answer })
            }
            Err(error) => Err(self.process.refused(line, error)),
        }
    }

    /// Counters of VPP's nodes since the last look.
    fn nodes(&mut self) -> Result<Vec<runtime::Node>, Error> {
        let mut nodes = runtime::nodes(&self.ask("show runtime")?);
        for name in runtime::counted(&nodes) {
            match self.ask(&format!("show node verbose {name}")) {
                Ok(answer) => runtime::refine(&mut nodes, &name, &answer),
                // One that it does not know by this name keeps its three digits.
                Err(Error::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.ask("clear runtime")?;
        Ok(nodes)
    }
}

impl Device for Vpp {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn configuration(&self) -> &str {
        &self.configuration
    }

    /// Waits for the links, and then watches VPP without packets, to learn the cost of empty polls.
    fn wait_until_ready(&mut self, within: Duration) -> Result<(), Error> {
        let mut wait = self.process.wait(within);
        loop {
            let answer = if self.memifs > 0 { self.ask("show memif")? } else { String::new() };
            let flags = answer.lines().filter(|line| line.trim_start().starts_with("flags"));
            if flags.filter(|line| line.split(' ').any(|word| word == "connected")).count() == self.memifs {
                break;
            }
            self.process.check()?;
            if wait.is_over() {
                return Err(self.process.not_ready("the connection of its ports", &wait, answer));
            }
            wait.sleep(Duration::from_millis(5));
        }
        self.nodes()?;
        let before = self.waited();
        std::thread::sleep(IDLE);
        let nodes = self.nodes()?;
        let waited = self.waited().and_then(|now| Ok(now.saturating_sub(before?))).unwrap_or_default();
        self.idle = Idle::of(&nodes, waited.as_secs_f64() * self.clock);
        match self.process.packet_sockets() {
            Ok(sockets) => self.sockets = sockets,
            Err(why) => self.configuration = format!("{}\n# {LOST_UNKNOWN}: {why}", self.configuration),
        }
        Ok(())
    }

    fn usage(&mut self) -> Result<Usage, Error> {
        let cpu = self.process.cpu()?;
        let (waited, now, nodes) = (self.waited().ok(), Instant::now(), self.nodes()?);
        let (clock, workers, counted) = (self.clock, self.workers, runtime::counted_clocks(&nodes));
        let off_core = waited.map(|waited| self.off_core.look(now, waited, counted, clock, workers));
        self.work.add(&nodes, &self.idle);
        let Work { clocks, packets } = self.work;
        Ok(Usage { cpu, busy: Some(Busy { measure: Measure::NodeClocks, spent: clocks, off_core, packets }) })
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        let mut counters = statistics::of_interfaces(&self.ask("show interface")?);
        counters.extend(statistics::of_nodes(&self.ask("show node counters")?));
        counters.extend(self.sockets.lost().map(|lost| (RING_FULL.to_owned(), lost)));
        Ok(counters)
    }

    fn holdings(&mut self) -> Result<BTreeMap<&'static str, f64>, Error> {
        Ok(BTreeMap::from([(RESIDENT, self.process.memory()?)]))
    }

    fn grow(&mut self, entries: u32) -> Result<(), Error> {
        let routes = self.growth.next(entries)?;
        self.ask(&routes::command(&routes, [], self.table, &self.uplink)).map(drop)
    }

    fn stop(self: Box<Self>) -> Result<(), Error> {
        let Vpp { client, process, keeper, .. } = *self;
        // ssh ends when nobody speaks by it any more.
        drop(client);
        process.stop()?;
        keeper.stop()
    }
}

/// Ticks in a second, as `show clock verbose` tells them.
fn clock(answer: &str) -> Option<f64> {
    let number = answer.split("clocks/sec ").nth(1)?;
    number[..number.find([',', '\n']).unwrap_or(number.len())].trim().parse().ok()
}

/// Connects to its API, which is there some time after the process.
fn connect(process: &mut Process, api: &Path) -> Result<Client, Error> {
    let mut client = None;
    process.wait_until("its API", FIRST_ANSWER_WITHIN, |process| {
        Ok(match process.client(api) {
            Ok(connected) => {
                client = Some(connected);
                Progress::Done
            }
            Err(error) => Progress::NotYet(error.to_string()),
        })
    })?;
    client.ok_or_else(|| process.silent("its API", io::ErrorKind::NotConnected.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_clock_is_read() {
        let answer = "Time now 5.9\ncpu time 5.9 now 11434\nerror .000832, clocks/sec 2299678678.981402, Mon, 23 Nov 2026\n\
                      0: Time now 5.9\n   error .000832, clocks/sec 2299678679.0\n";
        assert_eq!(clock(answer), Some(2_299_678_678.981_402));
        assert_eq!(clock("Time now 5.9"), None);
    }
}
