//! Random packets, clock advances, kills and changes of tenants, against the naive model of `oracle`.
//!
//! `QUIVER_SESSION_SEEDS=1000` runs as many seeds, of 10,000 steps each; `QUIVER_SESSION_SEED=7` runs one again.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::time::{Duration, Instant};

use fastrand::Rng;
use quiver_session::key::Format;
use quiver_session::listing::Listed;
use quiver_session::record::{BLOCKED, State};

use crate::draw::{Action, Draw, Now};
use crate::oracle::{Key, Oracle, SECOND, Service, Session, Tenant};
use crate::packets::{End, Family, Packet, Protocol, Segment};
use crate::router::{CAPACITY, INTERFACES, Router, WORKERS};

/// Seeds and steps of `make test`.
const FEW: (u64, u64) = (6, 1500);
/// Steps of a seed if seeds are given.
const STEPS: u64 = 10_000;
/// Actions that a failure prints.
const LOG: usize = 30;

struct Simulation {
    seed: u64,
    step: u64,
    draw: Draw,
    router: Router,
    oracle: Oracle,
    /// Tenants of interfaces by family, and workers of interfaces.
    tenants: BTreeMap<(usize, Family), u32>,
    workers: [usize; INTERFACES],
    interval: u64,
    /// Ids that sessions had.
    ended: HashSet<u64>,
    log: VecDeque<(u64, Action)>,
}

/// Compares, and says where both differ.
macro_rules! same {
    ($simulation:ident, $real:expr, $model:expr, $($what:tt)+) => {
        let (real, model) = ($real, $model);
        if real != model {
            $simulation.fail(&format!("{}: {real:?} instead of {model:?}", format_args!($($what)+)));
        }
    };
}

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let mut random = Rng::with_seed(seed);
        let interval = [100, 500, 1000][random.usize(..3)];
        let router = Router::new(seed, Duration::from_millis(interval));
        Simulation {
            seed,
            step: 0,
            draw: Draw { random, number: 0 },
            router,
            oracle: Oracle::default(),
            tenants: BTreeMap::new(),
            workers: std::array::from_fn(|interface| interface % WORKERS),
            interval: interval * 1_000_000,
            ended: HashSet::new(),
            log: VecDeque::new(),
        }
    }

    fn fail(&self, what: &str) -> ! {
        for (now, action) in &self.log {
            println!("{:.1} s: {action:?}", *now as f64 / SECOND as f64);
        }
        panic!("seed {}, step {}, at {:.1} s: {what}", self.seed, self.step, self.router.now() as f64 / SECOND as f64);
    }

    fn act(&mut self, action: Action) {
        let now = self.router.now();
        self.log.push_back((now, action.clone()));
        if self.log.len() > LOG {
            self.log.pop_front();
        }
        match action {
            Action::Packets(interface, packets) => self.send(interface, &packets),
            Action::Advance(by) => self.router.advance(Duration::from_nanos(by)),
            Action::Tenant(id, tenant) => {
                let old = self.oracle.tenants.insert(id, tenant.clone());
                for (key, session) in &mut self.oracle.sessions {
                    if session.tenant == id && old.as_ref().is_some_and(|old| old.timeouts != tenant.timeouts) {
                        session.changed = now;
                    }
                    // Sessions of a tenant's former context are not the tenant's any more.
                    if session.tenant == id && key.context != tenant.context {
                        self.ended.extend(session.id);
                    }
                }
                self.oracle.sessions.retain(|key, session| session.tenant != id || key.context == tenant.context);
                self.router.put_tenant(id, &tenant);
                self.router.settle();
            }
            Action::Delete(id) => {
                self.delete(id);
                self.router.settle();
            }
            Action::Replace(id, tenant, interface, packets) => {
                self.delete(id);
                self.tenants.insert((interface, tenant.family), id);
                self.router.put_tenant(id, &tenant);
                self.router.assign(interface, tenant.family, Some(id));
                self.oracle.tenants.insert(id, tenant);
                self.send(interface, &packets);
            }
            Action::Assign(interface, family, tenant) => {
                match tenant {
                    Some(tenant) => self.tenants.insert((interface, family), tenant),
                    None => self.tenants.remove(&(interface, family)),
                };
                self.router.assign(interface, family, tenant);
                self.router.settle();
            }
            Action::Place(interface, worker) => {
                self.workers[interface] = worker;
                self.router.place(interface, worker);
            }
            Action::Blocks(blocks) => {
                self.oracle.blocks = blocks;
                self.router.set_blocks(blocks);
            }
            Action::Kill(key) => {
                let id = self.oracle.sessions[&key].id.unwrap_or_default();
                let (worker, index) = quiver_session::listing::place(id as u32);
                self.end_sessions(|other, _| *other == key);
                self.router.kill(worker, index);
            }
            Action::KillAll => {
                self.end_sessions(|_, _| true);
                self.router.kill_all();
            }
        }
        self.compare();
    }

    /// Deletes a tenant, whose packets have none from now on.
    fn delete(&mut self, id: u32) {
        let of: Vec<_> = self.tenants.iter().filter(|(_, of)| **of == id).map(|(at, _)| *at).collect();
        for (interface, family) in of {
            self.tenants.remove(&(interface, family));
            self.router.assign(interface, family, None);
        }
        self.oracle.tenants.remove(&id);
        self.end_sessions(|_, session| session.tenant == id);
        self.router.delete_tenant(id);
    }

    fn end_sessions(&mut self, which: impl Fn(&Key, &Session) -> bool) {
        let ended = &mut self.ended;
        self.oracle.sessions.retain(|key, session| {
            let ends = which(key, session);
            ended.extend(session.id.filter(|_| ends));
            !ends
        });
    }

    fn send(&mut self, interface: usize, packets: &[Packet]) {
        let now = self.router.now();
        let left = self.router.send(interface, packets);
        let mut expected = BTreeSet::new();
        for packet in packets {
            let leaves = match self.tenants.get(&(interface, packet.family)) {
                Some(tenant) => self.oracle.packet(packet, *tenant, self.workers[interface], now),
                None => true,
            };
            expected.extend(leaves.then_some(packet.number));
        }
        same!(self, left, expected, "packets that leave");
    }

    /// Compares all sessions with the model, and takes from the model those whose time has passed.
    fn compare(&mut self) {
        let now = self.router.now();
        let listed = self.router.listed();
        same!(self, self.router.len(), listed.len(), "sessions in the directory, and listed ones");
        let mut seen = BTreeSet::new();
        for real in &listed {
            let key = key(real);
            if !seen.insert(key) {
                self.fail(&format!("two sessions of {key:?}"));
            }
            let Some(model) = self.oracle.sessions.get(&key) else {
                self.fail(&format!("{real:?} is one too many"));
            };
            same!(self, real.tenant.id, model.tenant, "tenant of {key:?}");
            same!(self, real.worker, model.owner, "owner of {key:?}");
            same!(self, end(real.ends()[0]), model.initiator, "initiator of {key:?}");
            same!(self, real.status.state, model.state, "state of {key:?}");
            same!(self, real.status.flags & BLOCKED != 0, model.is_blocked, "whether {key:?} is blocked");
            same!(self, real.traffic, model.traffic, "packets and bytes of {key:?}");
            let deadline = self.oracle.deadline(model);
            let left = deadline.saturating_sub(now) / 10_000_000;
            same!(self, (real.remaining * 100.0).round() as u64, left, "remaining ticks of {key:?}");
            if now > deadline.max(model.changed) + self.interval + SECOND / 50 {
                self.fail(&format!("{key:?} should have ended at {deadline} ns: {model:?}"));
            }
            if self.ended.contains(&real.id()) {
                self.fail(&format!("{key:?} has the id {:#x} of a former session", real.id()));
            }
            match model.id {
                Some(id) => {
                    same!(self, real.id(), id, "id of {key:?}");
                }
                None => self.oracle.sessions.get_mut(&key).expect("it is there").id = Some(real.id()),
            }
        }
        for id in self.oracle.tenants.keys() {
            let live = self.router.live(*id);
            let states = [State::Embryonic, State::Established, State::TimeWait];
            let is = |state| listed.iter().filter(|real| real.tenant.id == *id && real.status.state == state).count();
            same!(self, live, states.map(is), "sessions of tenant {id} by state, as they are counted");
        }
        let gone: Vec<Key> = self.oracle.sessions.keys().filter(|key| !seen.contains(key)).copied().collect();
        for key in gone {
            let session = self.oracle.sessions.remove(&key).expect("it is there");
            let deadline = self.oracle.deadline(&session);
            if now < deadline {
                self.fail(&format!("{key:?} has ended before {deadline} ns: {session:?}"));
            }
            self.ended.extend(session.id);
        }
    }

    /// All sessions end, and as many as there may be fit in again: nothing has leaked.
    fn finish(mut self) {
        self.router.advance(Duration::from_secs(40));
        self.compare();
        same!(self, self.router.listed().len(), 0, "sessions after all timeouts");
        self.act(Action::KillAll);
        self.act(Action::Tenant(
            99,
            Tenant {
                family: Family::V4,
                context: 99,
                chains: [vec![Service::Lookup], vec![]],
                timeouts: [30; 5],
                ..Tenant::default()
            },
        ));
        for worker in 0..WORKERS {
            self.act(Action::Assign(worker, Family::V4, Some(99)));
            self.act(Action::Place(worker, worker));
        }
        for number in 0..CAPACITY {
            self.draw.number += 1;
            let packet = Packet {
                number: self.draw.number,
                family: Family::V4,
                protocol: Protocol::Udp,
                source: (1, 1000 + number as u16),
                destination: (2, 1),
                segment: Segment { flags: 0, sequence: 0, acknowledgment: 0 },
                is_reply: false,
                payload: 4,
            };
            self.send(number % WORKERS, &[packet]);
        }
        self.compare();
        for reason in ["session-gone", "session-table-full", "handoff-full", "no-tenant", "no-session", "malformed"] {
            same!(self, self.router.dropped(reason), 0, "packets dropped as {reason}");
        }
        self.router.daemon.finish().expect("nothing leaks");
    }
}

fn end(end: quiver_session::key::End) -> End {
    (end.address as u8, end.port)
}

/// The key of a listed session.
fn key(real: &Listed) -> Key {
    Key {
        context: real.key.context(),
        family: if real.key.format() == Format::IP4 { Family::V4 } else { Family::V6 },
        protocol: match real.key.protocol() {
            6 => Protocol::Tcp,
            17 => Protocol::Udp,
            _ => Protocol::Echo,
        },
        low: end(real.key.low()),
        high: end(real.key.high()),
    }
}

/// A number from the environment.
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

#[test]
fn sessions_do_what_a_naive_model_does() {
    let (seeds, steps) = given("QUIVER_SESSION_SEEDS").map_or(FEW, |seeds| (seeds, STEPS));
    let steps = given("QUIVER_SESSION_STEPS").unwrap_or(steps);
    let seeds = given("QUIVER_SESSION_SEED").map_or(1..seeds + 1, |seed| seed..seed + 1);
    let (start, mut all, mut sessions) = (Instant::now(), 0, 0);
    for seed in seeds {
        let mut simulation = Simulation::new(seed);
        for step in 0..steps {
            simulation.step = step;
            let action = simulation.draw.action(Now { oracle: &simulation.oracle, tenants: &simulation.tenants });
            simulation.act(action);
        }
        all += steps;
        sessions += simulation.ended.len();
        simulation.finish();
    }
    println!("{all} steps, {sessions} sessions, {:.0} steps per second", all as f64 / start.elapsed().as_secs_f64());
}
