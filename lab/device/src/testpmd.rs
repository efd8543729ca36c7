//! DPDK's testpmd: Debian's program, without huge pages and PCI, spoken to at its standard input.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use quiver_suite::field::{Buffers, Feature};

use crate::ground::Ground;
use crate::keeper::Keeper;
use crate::packet_sockets::{LOST_UNKNOWN, PacketSockets, RING_FULL};
use crate::process::{Process, Progress, RESIDENT, program};
use crate::waiting::OffCore;
use crate::{Busy, Device, Error, Job, Measure, Port, Usage, cores, ring_size};

/// Name of the device in errors.
const TESTPMD: &str = "testpmd";
/// The prompt at which testpmd waits for a command.
const PROMPT: &str = "testpmd> ";
/// How long it may take to start, and to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Megabytes of its memory.
const MEMORY: &str = "1024";
/// Number of buffers of 2,048 bytes: enough for bursts of the longest frames, full rings, and cores' caches.
const BUFFERS: u32 = 1 << 15;

/// A running testpmd.
pub struct Testpmd {
    process: Process,
    /// On a testbed's host, restores the ports' former state: testpmd leaves them promiscuous.
    keeper: Option<Keeper>,
    workers: usize,
    version: String,
    configuration: String,
    /// Off-core part of the cycles of bursts with packets, and these cycles at the last look.
    off_core: OffCore,
    spent: u64,
    /// Losses of those ports that are packet sockets.
    sockets: PacketSockets,
}

impl Testpmd {
    /// Starts one that passes frames on, as they are or with both addresses swapped, and begins when both of its ports are
    /// connected.
    pub fn start(job: &Job<'_>) -> Result<Testpmd, Error> {
        let (name, remedy) = ("dpdk-testpmd", "let root run `apt-get install dpdk-dev`");
        let program = match job.site {
            Some(site) => site.found(name, remedy)?,
            None => program(job, name, remedy)?,
        };
        let ground = Ground::of(job);
        let ring = ring_size(job.case.frame).trailing_zeros();
        let zero_copy = if job.case.buffers == Buffers::ZeroCopy { "yes" } else { "no" };
        let devices = [0, 1].map(|at| match &job.ports[at] {
            Port::Memif { socket, id } => {
                let socket = socket.display();
                format!("--vdev=net_memif{at},role=client,id={id},socket={socket},socket-abstract=no,rsize={ring},bsize=2048,zero-copy={zero_copy}")
            }
            Port::Host { name, .. } => format!("--vdev=net_af_packet{at},iface={name},qpairs={}", job.cpus.len()),
            Port::Tap { name, .. } => format!("--vdev=net_tap{at},iface={name}"),
        });
        // Number 0 takes commands, the others forward.
        let others = cores::list(&cores::others(job));
        let places = job.cpus.iter().enumerate().map(|(number, core)| format!(",{}@{core}", number + 1));
        let places = format!("0@({others}){}", places.collect::<String>());
        let of_device = [
            "--no-huge",
            "-m",
            MEMORY,
            "--no-pci",
            "--no-shconf",
            "--no-telemetry",
            "--single-file-segments",
            "--lcores",
            &places,
        ];
        let queues = job.cpus.len();
        let mode = if job.case.feature == Feature::MacSwap { "macswap" } else { "io" };
        // Frames of several buffers are chains for memif, whatever its MTU says.
        let of_program = [
            "-i".to_owned(),
            format!("--forward-mode={mode}"),
            "--record-core-cycles".to_owned(),
            "--disable-link-check".to_owned(),
            format!("--total-num-mbufs={BUFFERS}"),
            format!("--nb-cores={queues}"),
            format!("--rxq={queues}"),
            format!("--txq={queues}"),
        ];
        let mut command = Process::command(job, "env".as_ref(), &cores::all(job));
        command.arg(format!("RUNTIME_DIRECTORY={}", ground.folder().display()));
        // Its output is a file, to which it would write only now and then.
        command.args(["stdbuf", "--output=L"]).arg(&program);
        command.args(of_device).args(&devices).arg("--").args(&of_program);
        let configuration = [of_device.join(" "), devices.join(" "), "--".into(), of_program.join(" ")].join(" ");
        let names =
            job.ports.iter().filter_map(|port| if let Port::Host { name, .. } = port { Some(name) } else { None });
        let plan = names.map(|name| format!("promiscuous {name}\n")).collect::<String>();
        let keeper = job.site.map(|_| Keeper::start("testpmd-ports", job, &["sh"], &plan)).transpose()?;
        let process = Process::start_listening(TESTPMD, job, &mut command)?;
        let mut testpmd = Testpmd {
            process,
            keeper,
            workers: queues,
            version: String::new(),
            configuration,
            off_core: OffCore::default(),
            spent: 0,
            sockets: PacketSockets::default(),
        };
        testpmd.prompt(0)?;
        // Its package is all that it tells of its version.
        testpmd.version = version(&ground, &program);
        if let Err(why) = testpmd.waited() {
            testpmd.configuration = format!("{}\n# time off the core is not taken out: {why}", testpmd.configuration);
        }
        Ok(testpmd)
    }

    /// How long its workers have been off their cores.
    fn waited(&self) -> Result<Duration, String> {
        self.process.waited(|name| name.contains("worker"))
    }

    /// Gives a command, and returns its answer.
    fn ask(&mut self, line: &str) -> Result<String, Error> {
        let before = self.process.written();
        self.process.tell(line)?;
        let answer = self.prompt(before)?;
        let refusals = ["Command not found", "Bad arguments", "Ambiguous command"];
        if refusals.iter().any(|refusal| answer.contains(refusal)) {
            let answer = answer.trim().to_owned();
            return Err(Error::Refused { device: TESTPMD, command: line.to_owned(), answer });
        }
        Ok(answer)
    }

    /// Waits for the prompt, and returns the output from a position on.
    fn prompt(&mut self, from: usize) -> Result<String, Error> {
        let mut said = String::new();
        self.process.wait_until("its prompt", ANSWER_WITHIN, |process| {
            said = process.output_since(from);
            Ok(if said.ends_with(PROMPT) { Progress::Done } else { Progress::NotYet(process.said()) })
        })?;
        said.truncate(said.len() - PROMPT.len());
        Ok(said)
    }
}

impl Device for Testpmd {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn configuration(&self) -> &str {
        &self.configuration
    }

    fn wait_until_ready(&mut self, within: Duration) -> Result<(), Error> {
        let mut wait = self.process.wait(within);
        loop {
            let line = "show port summary all";
            let answer = self.ask(line)?;
            let drivers = ["net_memif", "net_af_packet", "net_tap"];
            let ports = answer.lines().filter(|line| drivers.iter().any(|driver| line.contains(driver)));
            if ports.filter(|line| line.split_whitespace().any(|word| word == "up")).count() == 2 {
                break;
            }
            if wait.is_over() {
                return Err(self.process.not_ready("the link of both ports", &wait, answer));
            }
            wait.sleep(Duration::from_millis(20));
        }
        match self.process.packet_sockets() {
            Ok(sockets) => self.sockets = sockets,
            Err(why) => self.configuration = format!("{}\n# {LOST_UNKNOWN}: {why}", self.configuration),
        }
        // What comes before it forwards, it throws away.
        self.ask("start").map(drop)
    }

    fn usage(&mut self) -> Result<Usage, Error> {
        let cpu = self.process.cpu()?;
        let answer = self.ask("show fwd stats all")?;
        // Before the first packet it says nothing of cycles.
        let (spent, packets) = cycles(&answer).unwrap_or_default();
        let counted = spent.saturating_sub(std::mem::replace(&mut self.spent, spent)) as f64;
        let (clock, workers) = (clock(&answer).unwrap_or(0.0), self.workers);
        let off_core =
            self.waited().ok().map(|waited| self.off_core.look(Instant::now(), waited, counted, clock, workers));
        let busy = Busy { measure: Measure::CoreCycles, spent: spent as f64, off_core, packets };
        Ok(Usage { cpu, busy: Some(busy) })
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        let answer = self.ask("show fwd stats all")?;
        let mut counters = counters(&answer);
        counters.extend(self.sockets.lost().map(|lost| (RING_FULL.to_owned(), lost)));
        Ok(counters)
    }

    fn holdings(&mut self) -> Result<BTreeMap<&'static str, f64>, Error> {
        Ok(BTreeMap::from([(RESIDENT, self.process.memory()?)]))
    }

    fn grow(&mut self, _: u32) -> Result<(), Error> {
        let (command, answer) = ("add routes".to_owned(), "it routes nothing".to_owned());
        Err(Error::Refused { device: TESTPMD, command, answer })
    }

    fn stop(mut self: Box<Self>) -> Result<(), Error> {
        self.ask("stop")?;
        self.process.stop()?;
        self.keeper.map_or(Ok(()), Keeper::stop)
    }
}

/// Cycles of bursts that were not empty, and their packets.
fn cycles(answer: &str) -> Option<(u64, u64)> {
    let number = |behind: &str| {
        let rest = &answer[answer.find(behind)? + behind.len()..];
        rest[..rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
    };
    Some((number("total cycles=").or_else(|| number("busy cycles="))?, number(" packets=")?))
}

/// Ticks in a second.
fn clock(answer: &str) -> Option<f64> {
    let megahertz = answer.split(" at ").find_map(|part| part.split_once(" MHz"))?.0;
    Some(megahertz.parse::<f64>().ok()? * 1e6)
}

/// `RX-packets: 5` below `statistics for port 0` is `port 0 RX-packets`.
fn counters(answer: &str) -> BTreeMap<String, u64> {
    let (mut counters, mut port) = (BTreeMap::new(), None);
    for line in answer.lines() {
        if line.contains("statistics for") {
            let number = line.split("statistics for port ").nth(1).and_then(|rest| rest.split(' ').next());
            port = number.map(str::to_owned);
        }
        let Some(port) = &port else { continue };
        let words: Vec<_> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            if let (Some(name), Ok(count)) = (pair[0].strip_suffix(':'), pair[1].parse()) {
                counters.insert(format!("port {port} {name}"), count);
            }
        }
    }
    counters
}

/// The version of testpmd's package, or its path if there is none.
fn version(ground: &Ground, program: &Path) -> String {
    match ground.ask("dpkg-query --show --showformat='${Version}' dpdk-dev 2>/dev/null") {
        Ok(version) if !version.trim().is_empty() => format!("DPDK {}", version.trim()),
        _ => program.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATISTICS: &str = "
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 40             RX-dropped: 2             RX-total: 42
  TX-packets: 39             TX-dropped: 1             TX-total: 40
  ----------------------------------------------------------------------------

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 80             RX-dropped: 2             RX-total: 82

  CPU cycles/packet=91.50 (total cycles=7320 / total RX packets=80) at 2596 MHz Clock
";

    #[test]
    fn statistics_are_read_by_port() {
        assert_eq!(cycles(STATISTICS), Some((7320, 80)));
        assert_eq!(cycles("nothing yet"), None);
        assert_eq!((clock(STATISTICS), clock("nothing yet")), (Some(2.596e9), None));
        let counters = counters(STATISTICS);
        assert_eq!(counters["port 0 RX-packets"], 40);
        assert_eq!(counters["port 0 TX-dropped"], 1);
        assert_eq!(counters.len(), 6);
    }
}
