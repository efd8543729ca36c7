//! The end of a run: everything comes to rest, and is counted.

use std::collections::BTreeMap;
use std::time::Duration;

use super::World;
use crate::coroutine::Pause;
use crate::traffic::PORTS;

/// How long everything has to come to rest: a neighbour that does not answer is waited for for some seconds.
const REST: Duration = Duration::from_secs(8);
/// Rounds within which everything comes to rest.
const ROUNDS_MAX: u32 = 1_000_000;
/// Turns without work of every polling worker after which time jumps to the next timer.
const QUIET_TURNS: u32 = 4;

/// For how many turns each coroutine has found nothing to do, while no other did either. One that polls never sleeps.
#[derive(Default)]
struct Quiet(BTreeMap<usize, u32>);

impl Quiet {
    /// Notes where a coroutine waits now.
    fn saw(&mut self, coroutine: usize, at: Pause) {
        let turns = self.0.entry(coroutine).or_default();
        match at {
            Pause::Seam(_) => {}
            Pause::Done(0) => *turns += 1,
            Pause::Asleep | Pause::Ended => *turns = QUIET_TURNS,
            Pause::Done(_) => self.0.values_mut().for_each(|turns| *turns = 0),
        }
    }
    fn lasts(&self) -> bool {
        self.0.values().all(|turns| *turns >= QUIET_TURNS)
    }
}

impl World<'_> {
    /// Clients and peers stop; the daemon comes to rest.
    pub(super) fn rest(&mut self) -> Result<(), String> {
        self.heal();
        let end = self.simulated.executor.time() + REST;
        let mut quiet = Quiet::default();
        for _ in 0..ROUNDS_MAX {
            self.log.step();
            for member in 0..self.simulated.members.len() {
                self.run_worker(member)?;
                quiet.saw(member, self.simulated.members[member].coroutine.at);
            }
            self.run_control()?;
            quiet.saw(self.simulated.members.len(), self.simulated.thread.at);
            (0..PORTS).for_each(|port| self.take(port));
            self.look()?;
            let now = self.simulated.executor.time();
            if !quiet.lasts() {
                self.simulated.executor.advance_to(now + Duration::from_micros(1));
                continue;
            }
            quiet = Quiet::default();
            match self.next_event() {
                Some(moment) if moment <= end => self.simulated.executor.advance_to(moment.max(now)),
                _ => return self.at_rest(),
            }
        }
        Err(format!("it does not come to rest within {ROUNDS_MAX} rounds"))
    }

    /// Invariants of a daemon at rest.
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
        let mut pairs: Vec<(String, u64, u64)> = vec![
            ("simulated-input device-input".into(), count("simulated-input", "device-input"), with),
            ("simulated-input no-buffer".into(), count("simulated-input", "no-buffer"), without),
            ("interface-output sent".into(), count("interface-output", "sent"), self.fates.transmitted),
        ];
        // Those are counted, but there is no packet to be copied.
        let uncopied = [("simulated-input", "no-buffer"), ("interface-output", "tx-refused")];
        let drops = self.simulated.daemon().drops();
        let names = drops.keys().chain(self.fates.drops.keys()).filter(|name| !uncopied.contains(name));
        pairs.extend(names.map(|name| {
            (
                format!("{} {}", name.0, name.1),
                drops.get(name).copied().unwrap_or(0),
                self.fates.drops.get(name).copied().unwrap_or(0),
            )
        }));
        let wrong = pairs.iter().find(|(_, counted, seen)| counted != seen);
        wrong.map_or(Ok(()), |(what, counted, seen)| Err(format!("{what} counts {counted}, but it were {seen}")))
    }
}
