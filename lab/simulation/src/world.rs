//! One run: the seed decides the order of all actors until all steps are made; then everything comes to rest and is
//! counted.

mod client;
mod clients;
mod peer;
mod peers;
mod rest;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use quiver_control::Time;
use quiver_engine::Packet;
use quiver_testkit::daemon::Setup;

use crate::coroutine::{Pause, wait_at_seams};
use crate::daemon::Simulated;
use crate::fates::Dispositions;
use crate::log::{Event, Log};
use crate::network::Network;
use crate::operator::{self, Habit};
use crate::run::{Bug, Report, Settings};
use crate::traffic::{self, PORTS};
use crate::wire::{PortEvent, lock};
use client::{Client, Row};
use peer::Peer;

/// Lives through a seed. The error says what was found.
pub(crate) fn begin(seed: u64, settings: Settings, log: &mut Log) -> Result<Report, String> {
    let mut random = Rng::with_seed(seed);
    let buffers = random.u32(1..5) * 500;
    let setup = Setup { workers: random.usize(1..4), buffers, seed, ..Setup::default() };
    log.note(Event::Fault(format!("{} workers, {} buffers", setup.workers, setup.buffers)));
    let simulated = Simulated::new(setup, &operator::beginning(&mut random, setup.workers))?;
    match settings.bug {
        Some(Bug::SkippedGracePeriod) => simulated.domain.plant_skipped_grace_period(),
        Some(Bug::DoubleFree) => simulated.buffers.plant_double_free(),
        Some(Bug::LostHandoff) => simulated.buffers.plant_lost_handoff(),
        None => {}
    }
    let mut fates = Dispositions::default();
    fates.changed(Network::read(&simulated.control.save().json), 0);
    let saved = vec![simulated.control.save().text];
    let row = Row::draw(&mut random, 0);
    let mut world = World {
        chances: Chances::draw(&mut random),
        changes: simulated.control.changes(),
        random,
        simulated,
        log,
        fates,
        peers: std::array::from_fn(|_| Peer::well()),
        clients: vec![],
        saved,
        asked: 0,
        row,
        rested: 0,
        hoard: Arc::default(),
        report: Report::default(),
    };
    wait_at_seams(true);
    let ended = world.live(settings.steps).and_then(|()| world.rest());
    wait_at_seams(false);
    world.end(ended)
}

/// How likely each move is: drawn for each seed, so that seeds differ in kind.
struct Chances {
    moves: Vec<(Move, u32)>,
    /// Percentage of seams at which another coroutine goes on.
    preempt: u32,
    faults: u32,
    /// Nanoseconds at most that pass at once, but for jumps.
    tick: u64,
    habit: Habit,
    /// Whether operators look on now and then.
    looks_on: bool,
}

#[derive(Clone, Copy)]
enum Move {
    Worker,
    Control,
    Time,
    Give,
    Take,
    Ask,
    Fault,
}

impl Chances {
    fn draw(random: &mut Rng) -> Chances {
        let mut weight = |most: u32| 1 + random.u32(0..most);
        let moves = vec![
            (Move::Worker, 20 + weight(40)),
            (Move::Control, 5 + weight(30)),
            (Move::Time, weight(20)),
            (Move::Give, weight(20)),
            (Move::Take, weight(20)),
            (Move::Ask, weight(6)),
            (Move::Fault, weight(3)),
        ];
        let (preempt, faults) = (weight(60), weight(100));
        let tick = random.choice([20_000, 200_000, 1_000_000]).unwrap_or(20_000);
        Chances { moves, preempt, faults, tick, habit: Habit::draw(random), looks_on: random.bool() }
    }
    fn next(&self, random: &mut Rng) -> Move {
        let mut drawn = random.u32(0..self.moves.iter().map(|(_, weight)| weight).sum());
        for (way, weight) in &self.moves {
            match drawn.checked_sub(*weight) {
                Some(rest) => drawn = rest,
                None => return *way,
            }
        }
        Move::Worker
    }
}

struct World<'l> {
    random: Rng,
    simulated: Simulated,
    log: &'l mut Log,
    fates: Dispositions,
    chances: Chances,
    peers: [Peer; PORTS],
    clients: Vec<Client>,
    /// Configurations that ran before.
    saved: Vec<String>,
    asked: u64,
    row: Row,
    /// How often objects had changed when the configuration was looked at last.
    changes: u64,
    /// The last step in which control was between two of its own.
    rested: u64,
    /// Packets that a client keeps.
    hoard: Arc<Mutex<Vec<Packet>>>,
    report: Report,
}

impl World<'_> {
    /// Makes moves by lot.
    fn live(&mut self, steps: u64) -> Result<(), String> {
        while self.log.now() < steps {
            self.log.step();
            match self.chances.next(&mut self.random) {
                Move::Worker => {
                    let member = self.random.usize(0..self.simulated.members.len());
                    self.run_worker(member)?;
                }
                Move::Control => self.run_control()?,
                Move::Time => self.pass_time(),
                Move::Give => self.give(),
                Move::Take => {
                    let port = self.random.usize(0..PORTS);
                    self.take(port);
                }
                Move::Ask => self.ask(),
                Move::Fault => self.fault(),
            }
            self.look()?;
        }
        Ok(())
    }

    /// Lets a worker run until it is preempted, or has ended its turn, or sleeps.
    fn run_worker(&mut self, member: usize) -> Result<(), String> {
        loop {
            let at = self.simulated.members[member].coroutine.resume()?;
            let stop = self.stops(at);
            if stop {
                self.log.note(Event::Worker(member, at));
                let changing = self.is_changing();
                let member = &mut self.simulated.members[member];
                if member.mailbox.is_empty() && !changing {
                    let ended = u8::from(!is_seam(at));
                    member.stale = if at == Pause::Asleep { 0 } else { member.stale.saturating_sub(ended) };
                }
                return Ok(());
            }
        }
    }

    fn run_control(&mut self) -> Result<(), String> {
        loop {
            let at = self.simulated.thread.resume()?;
            if self.stops(at) {
                self.log.note(Event::Control(at));
                return Ok(());
            }
        }
    }

    /// Whether another coroutine goes on now.
    fn stops(&mut self, at: Pause) -> bool {
        let stops = !is_seam(at) || self.random.u32(0..100) < self.chances.preempt;
        self.report.preempted += u64::from(stops && is_seam(at));
        stops
    }

    fn pass_time(&mut self) {
        let now = self.simulated.executor.time();
        let moment = match self.random.u8(0..20) {
            0 => now + Duration::from_millis(self.random.u64(1..1500)),
            1..6 => self.next_event().unwrap_or(now).max(now),
            _ => now + Duration::from_nanos(self.random.u64(1..self.chances.tick)),
        };
        self.simulated.executor.advance_to(moment);
        self.log.note(Event::Time(moment));
    }

    /// The next moment at which a timer ends.
    fn next_event(&self) -> Option<Time> {
        let naps = self.simulated.members.iter().filter_map(|member| member.until.get());
        naps.chain(self.simulated.executor.next_timer()).min()
    }

    /// Looks at what came of the step.
    fn look(&mut self) -> Result<(), String> {
        let step = self.log.now();
        let seen = std::mem::take(&mut *lock(&self.simulated.journal));
        for (port, seen) in seen {
            self.log.note(Event::seen(&port, &seen));
            match seen {
                PortEvent::Taken(bytes) => self.fates.taken(&bytes, true),
                PortEvent::NoBuffer(bytes) => self.fates.taken(&bytes, false),
                PortEvent::Sent(bytes) => self.fates.left(&port, &bytes, step)?,
            }
        }
        for (bytes, node, reason) in self.simulated.drops() {
            self.log.note(Event::Dropped(traffic::number_of(&bytes), node, reason));
            self.fates.dropped(&bytes, node, reason);
        }
        self.hear_answers();
        self.see_configuration();
        if !self.is_changing() && self.simulated.members.iter().all(|member| member.stale == 0) {
            if self.fates.is_changing() {
                self.row = Row::draw(&mut self.random, step);
            }
            self.fates.settled(step)?;
        }
        let mut findings = self.simulated.domain.findings();
        findings.extend(self.simulated.buffers.findings());
        findings.into_iter().next().map_or(Ok(()), Err)
    }

    /// Takes everything apart, whatever came before.
    fn end(self, ended: Result<(), String>) -> Result<Report, String> {
        let World { simulated, log, fates, report, hoard, .. } = self;
        drop(std::mem::take(&mut *lock(&hoard)));
        let time = simulated.executor.time().0;
        if let Err(found) = ended {
            // Control may be amidst something: what else is found does not count.
            let _ = simulated.finish();
            return Err(found);
        }
        let naps = simulated.sum(|counters| counters.naps.get());
        let handed_over = simulated.sum(|counters| counters.handed_over.get());
        simulated.finish()?;
        let taken = fates.taken.iter().sum();
        Ok(Report {
            steps: log.now(),
            time,
            naps,
            handed_over,
            taken,
            left: fates.left,
            left6: fates.left6,
            cut: fates.cut,
            tunneled: fates.tunneled,
            judged: fates.judged,
            met: fates.met,
            drops: fates.drops,
            digest: log.digest(),
            ..report
        })
    }
}

fn is_seam(at: Pause) -> bool {
    matches!(at, Pause::Seam(_))
}
