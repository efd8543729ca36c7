//! One run: who moves next is drawn from the seed, until all steps are made; then everything comes to rest and is
//! counted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use quiver_control::protocol::{self, Request, Response};
use quiver_control::{Task, Time};
use quiver_engine::Packet;
use quiver_testkit::daemon::Setup;

use crate::coroutine::{Pause, wait_at_seams};
use crate::daemon::Simulated;
use crate::fates::Fates;
use crate::log::{Event, Log};
use crate::network::Network;
use crate::operator;
use crate::traffic::{self, PORTS};
use crate::wire::{Seen, Wire, lock};

/// Requests that are answered at the same time at most.
const CLIENTS_MAX: usize = 3;
/// Configurations kept to be applied again.
const SAVED_MAX: usize = 8;
/// Rounds without anything to do after which time jumps to the next timer.
const QUIET_ROUNDS: u32 = 4;
/// How long everything has to come to rest: a neighbour that does not answer is waited for for some seconds.
const REST: Duration = Duration::from_secs(8);

/// A bug that is planted for the simulation to find: the test of the tester.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Reclamation frees at once.
    SkippedGracePeriod,
    /// What a full transmit queue leaves is freed twice.
    DoubleFree,
}

/// How a seed is run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Steps before everything comes to rest.
    pub steps: u64,
    /// The bug to plant.
    pub bug: Option<Bug>,
    /// Whether to print every event.
    pub print: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { steps: 4000, bug: None, print: false }
    }
}

/// What happened in a run.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Report {
    /// Steps made, those to rest included.
    pub steps: u64,
    /// Nanoseconds that passed.
    pub time: u64,
    /// Packets that workers took.
    pub taken: u64,
    /// Packets of peers that left.
    pub left: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests refused.
    pub refused: u64,
    /// Times that a coroutine was stopped at a seam while another ran.
    pub preempted: u64,
    /// Drops by node and reason.
    pub drops: BTreeMap<(&'static str, &'static str), u64>,
    /// A number that follows from all events.
    pub digest: u64,
}

/// A run that found something.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The step.
    pub step: u64,
    /// What was found.
    pub what: String,
    /// The last events.
    pub events: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, step, what, events } = self;
        events.iter().try_for_each(|event| writeln!(f, "{event}"))?;
        write!(f, "seed {seed}, step {step}: {what}\nall of it: cargo xtask simulate --seed {seed}")
    }
}

/// Runs a seed.
pub fn run(seed: u64, settings: Settings) -> Result<Report, Failure> {
    let mut log = Log::new(settings.print);
    let ended = begin(seed, settings, &mut log);
    wait_at_seams(false);
    ended.map_err(|what| Failure { seed, step: log.now(), what, events: log.end() })
}

fn begin(seed: u64, settings: Settings, log: &mut Log) -> Result<Report, String> {
    let mut random = Rng::with_seed(seed);
    let buffers = random.u32(1..5) * 500;
    let setup = Setup { fusion: random.bool(), workers: random.usize(1..4), buffers, seed, ..Setup::default() };
    log.note(Event::Fault(format!("{} workers, {} buffers, products {}", setup.workers, setup.buffers, setup.fusion)));
    let simulated = Simulated::new(setup, &operator::beginning(&mut random))?;
    match settings.bug {
        Some(Bug::SkippedGracePeriod) => simulated.domain.plant_skipped_grace_period(),
        Some(Bug::DoubleFree) => simulated.buffers.plant_double_free(),
        None => {}
    }
    let mut fates = Fates::default();
    fates.changed(Network::read(&simulated.control.save().json), 0, false);
    let chances = Chances::draw(&mut random);
    let peers = std::array::from_fn(|_| Peer { pace: 32, answers: true, interrupts: true });
    let (clients, saved) = (vec![], vec![simulated.control.save().text]);
    let report = Report::default();
    let mut world = World {
        random,
        simulated,
        log,
        fates,
        chances,
        peers,
        clients,
        saved,
        asked: 0,
        hoard: Arc::default(),
        report,
    };
    wait_at_seams(true);
    let ended = world.live(settings.steps).and_then(|()| world.rest());
    wait_at_seams(false);
    world.end(ended)
}

/// How likely each move is: drawn for each seed, so that seeds differ in kind.
struct Chances {
    moves: Vec<(Move, u32)>,
    /// Percent of seams at which somebody else goes on.
    preempt: u32,
    faults: u32,
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
        Chances { moves, preempt: weight(60), faults: weight(100) }
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

/// Whoever is behind a port.
struct Peer {
    /// Packets that it takes off its ring at once.
    pace: usize,
    /// Whether it answers ARP.
    answers: bool,
    /// Whether its interrupts arrive.
    interrupts: bool,
}

struct Client {
    number: u64,
    task: Task,
    answer: Rc<RefCell<Option<Answer>>>,
    /// Whether the daemon may have undone a part of what was asked.
    applies: bool,
}

struct Answer {
    response: Response,
    /// The configuration after it.
    saved: String,
    network: Network,
}

struct World<'l> {
    random: Rng,
    simulated: Simulated,
    log: &'l mut Log,
    fates: Fates,
    chances: Chances,
    peers: [Peer; PORTS],
    clients: Vec<Client>,
    saved: Vec<String>,
    asked: u64,
    /// Packets that somebody does not give back.
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
                let (member, in_flight) = (&mut self.simulated.members[member], self.clients.len());
                if member.mailbox.is_empty() && in_flight == 0 {
                    member.stale =
                        if at == Pause::Asleep { 0 } else { member.stale.saturating_sub(u8::from(!is_seam(at))) };
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

    /// Whether somebody else goes on now.
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
            _ => now + Duration::from_nanos(self.random.u64(1..20_000)),
        };
        self.simulated.executor.advance_to(moment);
        self.log.note(Event::Time(moment));
    }

    fn next_event(&self) -> Option<Time> {
        self.simulated.executor.next_timer()
    }

    fn wire(&self, port: usize) -> Option<Arc<Wire>> {
        self.simulated.wires.borrow().get(&format!("p{port}")).cloned()
    }

    /// A peer sends some packets.
    fn give(&mut self) {
        let port = self.random.usize(0..PORTS);
        let Some(wire) = self.wire(port) else { return };
        if self.random.u8(0..20) == 0 {
            self.offer(&wire, port, traffic::arp_request(port));
        }
        for _ in 0..self.random.usize(1..40) {
            let size =
                if self.random.u8(0..12) == 0 { self.random.usize(1900..7000) } else { self.random.usize(60..1500) };
            let number = self.fates.next();
            let (kind, bytes) = traffic::packet(&mut self.random, port, number, size);
            let queue = usize::from(bytes[35]) % wire.queues();
            if !wire.send(queue, bytes.clone()) {
                break;
            }
            self.fates.sent(kind, port, bytes, self.log.now());
            let told = self.peers[port].interrupts;
            if told {
                wire.interrupt(queue);
            }
            self.log.note(Event::Given { port, number, queue, told });
        }
    }

    fn offer(&mut self, wire: &Wire, port: usize, bytes: Vec<u8>) {
        if wire.send(0, bytes) && self.peers[port].interrupts {
            wire.interrupt(0);
        }
    }

    /// A peer takes packets off its ring, and answers who asks for it.
    fn take(&mut self, port: usize) {
        let Some(wire) = self.wire(port) else { return };
        for _ in 0..self.peers[port].pace {
            let Some(packet) = wire.receive() else { break };
            if let Some(reply) = traffic::arp_reply(port, &packet).filter(|_| self.peers[port].answers) {
                self.offer(&wire, port, reply);
            }
        }
    }

    /// An operator asks something, or goes away before the answer.
    fn ask(&mut self) {
        if self.clients.len() >= CLIENTS_MAX {
            if self.random.u8(0..4) == 0 {
                self.hang_up();
            }
            return;
        }
        let (request, _) = operator::request(&mut self.random, &self.saved);
        self.request(request);
    }

    fn request(&mut self, request: Request) {
        self.asked += 1;
        let number = self.asked;
        self.log.note(Event::Asked(number, described(&request)));
        self.fates.change_begins(self.log.now());
        let answer = Rc::new(RefCell::new(None));
        let applies = matches!(request, Request::Apply(_));
        let (control, told) = (self.simulated.control.clone(), answer.clone());
        let task = self.simulated.control.spawn("client", async move {
            let (answering, end) = protocol::answer(&control, request);
            let response = end.await;
            while answering.part().await.is_some() {}
            let saved = control.save();
            let network = Network::read(&saved.json);
            *told.borrow_mut() = Some(Answer { response, saved: saved.text, network });
        });
        self.clients.push(Client { number, task, answer, applies });
    }

    /// A client goes away before its answer. What is configured then is looked at instead.
    fn hang_up(&mut self) {
        let client = self.clients.swap_remove(self.random.usize(0..self.clients.len()));
        client.task.cancel();
        self.log.note(Event::Fault(format!("client {} hangs up", client.number)));
        self.request(Request::Save { json: false, comment: None });
    }

    /// Something goes wrong, or right again.
    fn fault(&mut self) {
        if self.random.u32(0..100) > self.chances.faults {
            return self.heal();
        }
        let port = self.random.usize(0..PORTS);
        let what = match self.random.u8(0..5) {
            0 => {
                let room = self.random.usize(0..40);
                self.wire(port).into_iter().for_each(|wire| wire.set_room(room));
                format!("the ring of p{port}'s peer has {room} places")
            }
            1 => {
                self.peers[port].pace = self.random.usize(0..8);
                format!("the peer of p{port} takes {} packets at once", self.peers[port].pace)
            }
            2 => {
                self.peers[port].answers = false;
                format!("the peer of p{port} is silent")
            }
            3 => {
                self.peers[port].interrupts = false;
                format!("the interrupts of p{port}'s peer are lost")
            }
            _ => {
                let (worker, buffers) = (self.random.usize(0..self.simulated.members.len()), self.random.usize(1..600));
                let hoard = self.hoard.clone();
                self.simulated.members[worker].mailbox.post(move |worker| {
                    let packets: Vec<_> = (0..buffers).map_while(|_| worker.pool().packet(&[0; 64])).collect();
                    lock(&hoard).extend(packets);
                });
                format!("somebody keeps {buffers} buffers of worker {worker}")
            }
        };
        self.log.note(Event::Fault(what));
    }

    /// Nothing goes wrong any more.
    fn heal(&mut self) {
        for port in 0..PORTS {
            self.peers[port] = Peer { pace: 64, answers: true, interrupts: true };
            if let Some(wire) = self.wire(port) {
                wire.set_room(256);
                // A peer whose interrupt was lost tries again.
                (0..wire.queues()).for_each(|queue| wire.interrupt(queue));
            }
        }
        let packets = std::mem::take(&mut *lock(&self.hoard));
        drop(packets);
        self.log.note(Event::Fault("all is well".into()));
    }

    /// Looks at what came of the step.
    fn look(&mut self) -> Result<(), String> {
        let step = self.log.now();
        let seen = std::mem::take(&mut *lock(&self.simulated.journal));
        for (port, seen) in seen {
            self.log.note(Event::seen(&port, &seen));
            match seen {
                Seen::Taken(bytes) => self.fates.taken(&bytes, true),
                Seen::NoBuffer(bytes) => self.fates.taken(&bytes, false),
                Seen::Sent(bytes) => self.fates.left(&port, &bytes, step)?,
            }
        }
        for (bytes, node, reason) in self.simulated.drops() {
            self.log.note(Event::Dropped(traffic::number_of(&bytes), node, reason));
            self.fates.dropped(&bytes, node, reason);
        }
        self.hear_answers();
        let quiet = self.clients.is_empty() && self.simulated.members.iter().all(|member| member.stale == 0);
        if quiet {
            self.fates.settled(step)?;
        }
        let mut findings = self.simulated.domain.findings();
        findings.extend(self.simulated.buffers.findings());
        findings.into_iter().next().map_or(Ok(()), Err)
    }

    fn hear_answers(&mut self) {
        let (answered, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.clients).into_iter().partition(|client| client.answer.borrow().is_some());
        self.clients = waiting;
        for client in answered {
            let Some(Answer { response, saved, network }) = client.answer.take() else { continue };
            let refusal = match response {
                Response::Error(refusal) => Err(refusal.what),
                _ => Ok(()),
            };
            self.report.answered += 1;
            self.report.refused += u64::from(refusal.is_err());
            self.fates.changed(network, self.log.now(), client.applies && refusal.is_err());
            self.log.note(Event::Answered(client.number, refusal));
            self.saved.push(saved);
            if self.saved.len() > SAVED_MAX {
                self.saved.remove(0);
            }
            // A worker in the middle of a turn may still refer to what was; so may the next turn, to what it read late.
            self.simulated.members.iter_mut().for_each(|member| member.stale = 2);
        }
    }

    /// Nobody asks or sends any more; everything comes to rest.
    fn rest(&mut self) -> Result<(), String> {
        self.heal();
        let end = self.simulated.executor.time() + REST;
        let mut quiet = 0;
        loop {
            if self.simulated.executor.time() > end + REST {
                return Err("it does not come to rest".into());
            }
            self.log.step();
            for member in 0..self.simulated.members.len() {
                self.run_worker(member)?;
            }
            self.run_control()?;
            (0..PORTS).for_each(|port| self.take(port));
            self.look()?;
            // A worker that polls has nothing to do, turn after turn; time passes meanwhile.
            let idle = |at: Pause| matches!(at, Pause::Asleep | Pause::Done(0));
            let all_idle = self.simulated.members.iter().all(|member| idle(member.coroutine.at));
            quiet = if all_idle && self.simulated.thread.at == Pause::Done(0) { quiet + 1 } else { 0 };
            let now = self.simulated.executor.time();
            if quiet < QUIET_ROUNDS {
                self.simulated.executor.advance_to(now + Duration::from_micros(1));
                continue;
            }
            quiet = 0;
            match self.next_event() {
                Some(moment) if moment <= end => self.simulated.executor.advance_to(moment.max(now)),
                _ => break,
            }
        }
        self.at_rest()
    }

    /// What must hold when nothing moves any more.
    fn at_rest(&mut self) -> Result<(), String> {
        if !self.clients.is_empty() {
            return Err(format!("{} requests are never answered", self.clients.len()));
        }
        let (wires, saved) = (self.simulated.wires.borrow(), self.simulated.control.save().json);
        for (name, wire) in wires.iter() {
            let up = saved["interfaces"].as_array().into_iter().flatten();
            let up = up.into_iter().any(|settings| settings["name"] == **name && settings["state"] == "up");
            if up && wire.waiting() > 0 {
                return Err(format!("{} packets wait at {name} for ever", wire.waiting()));
            }
        }
        drop(wires);
        self.fates.all_accounted_for()?;
        if self.simulated.domain.pending() > 0 {
            return Err(format!("{} retired values are never freed", self.simulated.domain.pending()));
        }
        self.counters_add_up()
    }

    /// Compares the daemon's counters with what was seen from outside, and with each other.
    fn counters_add_up(&self) -> Result<(), String> {
        if self.simulated.drops_lost() > 0 {
            return Err("copies of dropped packets were lost: take them more often".into());
        }
        let counts = self.simulated.daemon().counts();
        let count = |node, arc| counts.get(&(node, arc)).copied().unwrap_or(0);
        let [with, without] = self.fates.taken;
        let mut pairs = vec![
            ("simulated-input device-input", count("simulated-input", "device-input"), with),
            ("simulated-input no-buffer", count("simulated-input", "no-buffer"), without),
            ("interface-output sent", count("interface-output", "sent"), self.fates.transmitted),
        ];
        // Those are counted, but there is no packet to be copied.
        let uncopied = [("simulated-input", "no-buffer"), ("interface-output", "tx-refused")];
        let drops = self.simulated.daemon().drops();
        let names = drops.keys().chain(self.fates.drops.keys()).filter(|name| !uncopied.contains(name));
        pairs.extend(names.map(|name| {
            (name.1, drops.get(name).copied().unwrap_or(0), self.fates.drops.get(name).copied().unwrap_or(0))
        }));
        let wrong = pairs.iter().find(|(_, counted, seen)| counted != seen);
        wrong.map_or(Ok(()), |(what, counted, seen)| Err(format!("{what} counts {counted}, but it were {seen}")))
    }

    /// Takes everything apart, whatever came before.
    fn end(self, ended: Result<(), String>) -> Result<Report, String> {
        let World { simulated, log, fates, report, hoard, .. } = self;
        drop(std::mem::take(&mut *lock(&hoard)));
        let time = simulated.executor.time().0;
        let finished = simulated.finish();
        ended?;
        finished?;
        let taken = fates.taken.iter().sum();
        Ok(Report {
            steps: log.now(),
            time,
            taken,
            left: fates.left,
            drops: fates.drops,
            digest: log.digest(),
            ..report
        })
    }
}

fn is_seam(at: Pause) -> bool {
    matches!(at, Pause::Seam(_))
}

fn described(request: &Request) -> String {
    match request {
        Request::Command { line, .. } => line.clone(),
        Request::Apply(file) => format!("apply a file of {} lines", file.text.lines().count()),
        Request::Diff(file) => format!("diff a file of {} lines", file.text.lines().count()),
        other => format!("{other:?}"),
    }
}
