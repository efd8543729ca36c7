//! The generator: a quiverd with one worker, which polls once the links are up, and two links to the device.

use std::time::{Duration, Instant};

use crate::daemon::{Daemon, Start};
use crate::link::{Makes, configuration, polling};
use crate::{Counts, Direction, Drops, Error, Outcome, Sending, Setup, Streams, Watch};

/// Name of the generator in errors and counters.
pub const NAME: &str = "generator";
/// How long the links may take to come up.
const UP_WITHIN: Duration = Duration::from_secs(20);
/// How often is looked whether something has come about.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A running generator.
pub struct Generator {
    daemon: Daemon,
    version: String,
    configuration: Vec<String>,
    interfaces: [String; 2],
    makes: Makes,
}

impl Generator {
    /// Starts one, with its ends of the links. The links come up when the device is there.
    ///
    /// # Errors
    /// It cannot be started, or refuses what it is told.
    pub fn start(setup: &Setup<'_>) -> Result<Generator, Error> {
        let mut daemon = Daemon::start(&Start {
            name: NAME,
            program: &setup.program,
            folder: &setup.folder,
            workers: &[setup.core],
            control: &setup.control,
            namespace: setup.namespace,
            stop: &setup.stop,
        })?;
        let (configuration, interfaces) = configuration(setup);
        daemon.run(&configuration)?;
        let answer = daemon.ask("show version")?;
        let version = quiver_daemon::version_of(&answer);
        Ok(Generator { daemon, version, configuration, interfaces, makes: setup.makes })
    }

    /// Waits until both links are up, and lets the worker poll from then on.
    ///
    /// # Errors
    /// They are not in time, or the generator is gone.
    pub fn wait_for_links(&mut self) -> Result<(), Error> {
        self.wait_until_up()?;
        let lines = polling(self.makes, &self.interfaces);
        self.daemon.run(&lines)?;
        self.configuration.extend(lines);
        Ok(())
    }

    fn wait_until_up(&mut self) -> Result<(), Error> {
        let mut wait = self.daemon.wait(UP_WITHIN);
        loop {
            let shown = self.daemon.ask("show interface")?;
            let rows = shown.as_array().map(Vec::as_slice).unwrap_or_default();
            let is_up = |name: &String| rows.iter().any(|row| row["name"] == **name && row["link"] == "up");
            match self.interfaces.iter().find(|name| !is_up(name)) {
                None => return Ok(()),
                Some(name) if wait.is_over() => {
                    return Err(self.daemon.not_ready(format!("the link of {name}"), wait.limit()));
                }
                Some(_) => wait.sleep(LOOK_EVERY),
            }
        }
    }

    /// The daemon, and the name of the generator's own interface of a side, 0 or 1.
    pub(crate) fn side(&mut self, side: usize) -> (&mut Daemon, String) {
        (&mut self.daemon, self.makes.own(side))
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its configuration, a command a line.
    pub fn configuration(&self) -> String {
        self.configuration.join("\n") + "\n"
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.daemon.id()
    }

    /// Bytes of its memory that are resident (proc(5), `VmRSS`); none if the kernel does not say so.
    pub fn memory(&self) -> Option<f64> {
        quiver_daemon::resident(self.id()).ok()
    }

    /// Packets that it lost since its start, by node and reason.
    ///
    /// # Errors
    /// It does not answer.
    pub fn drops(&mut self) -> Result<Drops, Error> {
        const COMMAND: &str = "show errors";
        let shown = self.daemon.ask(COMMAND)?;
        let rows = shown.as_array().ok_or_else(|| self.daemon.foreign(COMMAND, "a list"))?;
        let mut drops = Drops::new();
        for row in rows {
            let text = |field: &str| row[field].as_str().unwrap_or("unknown").to_owned();
            // A packet that found no buffer is made a little later, not lost.
            if text("reason") == "no-buffer" && ["pg-input", "connections-input"].contains(&&*text("node")) {
                continue;
            }
            *drops.entry(format!("{} {}", text("node"), text("reason"))).or_default() +=
                row["count"].as_u64().unwrap_or(0);
        }
        Ok(drops)
    }

    /// Ticks of the time-stamp counter, since its start, in turns of its worker that had packets.
    ///
    /// # Errors
    /// It does not answer.
    pub fn busy_ticks(&mut self) -> Result<u64, Error> {
        const COMMAND: &str = "show statistics segment /quiver/workers/";
        let shown = self.daemon.ask(COMMAND)?;
        let ticks = |name: &'static str| {
            let rows = shown["entries"][format!("/quiver/workers/{name}")]["value"].as_object();
            let cells =
                rows.into_iter().flat_map(|rows| rows.values()).filter_map(serde_json::Value::as_array).flatten();
            let sum = cells.filter_map(serde_json::Value::as_u64).reduce(u64::saturating_add);
            sum.ok_or_else(|| self.daemon.foreign(COMMAND, name))
        };
        Ok(ticks("busy-ticks")?.saturating_sub(ticks("preempted-ticks")?))
    }

    /// Sends, waits until the packets are back, and returns the fate of each. `settle` is the silence after which
    /// missing packets are given up.
    ///
    /// # Errors
    /// The generator refuses the traffic, does not answer, or has ended.
    pub fn trial(
        &mut self,
        streams: &Streams,
        sending: Sending,
        watch: Watch,
        settle: Duration,
    ) -> Result<Outcome, Error> {
        let begun = Instant::now();
        let before = self.drops()?;
        let names = self.prepare(streams, sending, watch)?;
        let started = Instant::now();
        self.daemon.ask("packet-generator enable")?;
        let (time, limit) = match sending {
            Sending::Paced { rate, packets } => (Duration::from_secs_f64(packets as f64 / rate as f64), Some(packets)),
            Sending::Flat { time } | Sending::Window { time, .. } => (time, None),
        };
        std::thread::sleep(time.saturating_sub(started.elapsed()));
        let mut now = self.counts(&names)?;
        let mut sent_after = started.elapsed();
        if let Some(limit) = limit {
            let is_sent = |now: &[Counts; 2]| now.iter().all(|counts| counts.sent >= limit);
            while !is_sent(&now) && started.elapsed() < time + tolerance(time) {
                std::thread::sleep(LOOK_EVERY);
                (now, sent_after) = (self.counts(&names)?, started.elapsed());
            }
            if is_sent(&now) {
                // Paced exactly: the last packet was due then.
                sent_after = time;
            }
        }
        let within = now.iter().map(|counts| counts.received).sum();
        self.daemon.ask("packet-generator disable")?;
        let settled = self.settle(&names, settle)?;
        let after = self.drops()?;
        let mut drops = Drops::new();
        for (name, count) in after {
            let lost = count.saturating_sub(before.get(&name).copied().unwrap_or(0));
            if lost > 0 {
                drops.insert(name, lost);
            }
        }
        Ok(Outcome {
            directions: settled,
            intended: limit.map(|limit| 2 * limit),
            sending: sent_after,
            within,
            effective: begun.elapsed(),
            drops,
        })
    }

    /// The highest rate in one direction at which it sends packets and takes them all back, when nothing but its own links
    /// is between: for links that are looped.
    ///
    /// # Errors
    /// As of [`Generator::trial`].
    pub fn ceiling(&mut self, streams: &Streams, watch: Watch, time: Duration) -> Result<f64, Error> {
        let settle = Duration::from_millis(50);
        // In a closed loop: what is sent flat out overflows the rings, and where frames are long little comes back.
        let sending = Sending::Window { packets: streams.usual_window(), time };
        let outcome = self.trial(streams, sending, watch, settle)?;
        Ok(outcome.receive_rate() / 2.0)
    }

    /// Makes both streams anew, stopped.
    fn prepare(&mut self, streams: &Streams, sending: Sending, watch: Watch) -> Result<[String; 2], Error> {
        let names = ["there", "back"].map(str::to_owned);
        let known = self.daemon.ask("show packet-generator")?;
        let known = known.as_array().map(Vec::as_slice).unwrap_or_default();
        for (side, name) in names.iter().enumerate() {
            if known.iter().any(|row| row["name"] == **name) {
                self.daemon.ask(&format!("packet-generator delete {name}"))?;
            }
            let words = match sending {
                Sending::Paced { rate, packets } => format!("rate {rate} limit {packets}"),
                Sending::Flat { .. } => String::new(),
                Sending::Window { packets, .. } => format!("window {packets}"),
            };
            let latency = if watch.latency { "latency" } else { "" };
            let gaps = if watch.gaps { "gaps" } else { "" };
            let what = &streams.directions[side];
            self.daemon.ask(&format!(
                "packet-generator new {{ name {name} source pg{side} {words} {latency} {gaps} {what} }}"
            ))?;
        }
        Ok(names)
    }

    /// Packet counts so far.
    fn counts(&mut self, names: &[String; 2]) -> Result<[Counts; 2], Error> {
        Ok(self.shown(names)?.map(|direction| direction.counts))
    }

    fn shown(&mut self, names: &[String; 2]) -> Result<[Direction; 2], Error> {
        const COMMAND: &str = "show packet-generator";
        let shown = self.daemon.ask(COMMAND)?;
        let of = |name: &String| -> Result<Direction, Error> {
            let row = shown.as_array().and_then(|rows| rows.iter().find(|row| row["name"] == **name));
            let row = row.ok_or_else(|| self.daemon.foreign(COMMAND, "the stream"))?;
            let count = |field| row[field].as_u64().ok_or_else(|| self.daemon.foreign(COMMAND, field));
            let (all, duplicated) = (count("received")?, count("duplicated")?);
            let counts = Counts {
                sent: count("sent")?,
                received: all.saturating_sub(duplicated),
                duplicated,
                reordered: count("reordered")?,
            };
            let part = |field: &str| row.get(field).filter(|part| !part.is_null()).cloned();
            Ok(Direction { counts, latency: part("latency"), gaps: part("gaps") })
        };
        Ok([of(&names[0])?, of(&names[1])?])
    }

    /// Waits until all is back, or nothing has come for so long.
    fn settle(&mut self, names: &[String; 2], quiet: Duration) -> Result<[Direction; 2], Error> {
        let mut now = self.shown(names)?;
        let mut changed = Instant::now();
        loop {
            let is_back = now.iter().all(|direction| direction.counts.received >= direction.counts.sent);
            if is_back || changed.elapsed() >= quiet {
                return Ok(now);
            }
            std::thread::sleep(LOOK_EVERY);
            let next = self.shown(names)?;
            let counts = |of: &[Direction; 2]| [of[0].counts, of[1].counts];
            if counts(&next) != counts(&now) {
                changed = Instant::now();
            }
            now = next;
        }
    }
}

/// Extra time for the sending, for when another process had the core for a moment. Packets that are not sent by then
/// are not sent at all, and the generator was the limit.
fn tolerance(time: Duration) -> Duration {
    (time / 50).max(Duration::from_millis(20))
}
