//! memif's protocol code with a simulated peer: a master and a slave shake hands over a real channel, move packets through
//! real shared memory, sleep and wake each other. They are slow, lose interrupts, let rings run full, and die at any step;
//! then two others try anew.
//!
//! Within a connection no packet is lost, doubled, damaged or overtaken; nobody sleeps for ever while packets wait; an
//! honest peer is never called broken; a stranger is refused; whoever lives on notices that the other one is gone.

mod pair;
mod report;
mod traffic;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use fastrand::Rng;
use quiver_memif_protocol::{Channel, End, Handshake, Storage};

use crate::coroutine::{Coroutine, Pause};
use pair::{Ended, MASTER, Pair, SLAVE, World};
use traffic::Traffic;

pub use report::Report;

/// Connections of a seed that end by a death.
const DEATHS: u32 = 5;
/// Steps that such a connection lives.
const LIFE: Range<u32> = 10..2500;
/// Rounds in which two undisturbed ends must have reached the wanted state.
const ROUNDS_MAX: u32 = 20_000;
/// Bytes of a slave's buffers: longer packets are chains.
const BUFFER: u32 = 256;

/// Runs a seed. The error says what was found.
pub fn run(seed: u64) -> Result<Report, String> {
    let told = |what: String| format!("memif: {what}");
    let world = World { random: Rc::new(RefCell::new(Rng::with_seed(seed))), report: Rc::default() };
    for _ in 0..DEATHS {
        let pair = Pair::new(&world, world.draw(0..8) == 0);
        let mut ends = pair.coroutines().map_err(told)?;
        for _ in 0..world.draw(LIFE) {
            ends[world.draw(0..2) as usize].resume().map_err(told)?;
        }
        pair.dying[world.draw(0..2) as usize].set(true);
        pair.bring(&mut ends, Coroutine::has_ended).map_err(told)?;
    }
    let pair = Pair::new(&world, false);
    let mut ends = pair.coroutines().map_err(told)?;
    for _ in 0..world.draw(LIFE) {
        ends[world.draw(0..2) as usize].resume().map_err(told)?;
    }
    pair.resting.set(true);
    pair.bring(&mut ends, |end| end.at == Pause::Asleep).map_err(told)?;
    pair.all_passed().map_err(told)?;
    pair.dying.iter().for_each(|dying| dying.set(true));
    pair.bring(&mut ends, Coroutine::has_ended).map_err(told)?;
    Ok(world.report.get())
}

impl Pair {
    fn coroutines(&self) -> Result<[Coroutine; 2], String> {
        let (master, slave) = Channel::pair().map_err(|error| error.to_string())?;
        Ok([(MASTER, master), (SLAVE, slave)].map(|(end, channel)| {
            let pair = self.clone();
            Coroutine::new(move || {
                let ended = pair.live(end, channel);
                pair.ended[end].set(true);
                if let Err(Ended::Wrong(what)) = ended {
                    *pair.wrong.borrow_mut() = Some(what);
                }
            })
        }))
    }
    /// Lets both run until both have been where they are wanted for some rounds, or something is found.
    fn bring(&self, ends: &mut [Coroutine; 2], wanted: impl Fn(&Coroutine) -> bool) -> Result<(), String> {
        let mut there = 0;
        for _ in 0..ROUNDS_MAX {
            for end in ends.iter_mut().filter(|end| !end.has_ended()) {
                end.resume()?;
            }
            if let Some(wrong) = self.wrong.take() {
                return Err(wrong);
            }
            there = if ends.iter().all(&wanted) { there + 1 } else { 0 };
            if there == 4 {
                return Ok(());
            }
        }
        Err(format!("after {ROUNDS_MAX} rounds master and slave are at {:?}", ends.each_ref().map(|end| end.at)))
    }
    fn all_passed(&self) -> Result<(), String> {
        let [sent, received] = [&self.sent, &self.received].map(|counts| counts.each_ref().map(|count| count.get()));
        if sent[MASTER] == received[SLAVE] && sent[SLAVE] == received[MASTER] {
            return Ok(());
        }
        Err(format!("both sleep, but master and slave have sent {sent:?} and received {received:?}"))
    }

    /// One end, from the greeting to its death.
    fn live(&self, end: usize, channel: Channel) -> Result<(), Ended> {
        let mut handshake = match end {
            MASTER => Handshake::master(channel, "master").map_err(|error| self.over(end, &End::Channel(error)))?,
            _ => Handshake::slave(channel, self.request()?, Storage { buffer: BUFFER, shared: None }),
        };
        let established = loop {
            self.seam(end, Pause::Seam("about to hear the peer"))?;
            match Pair::hear(&mut handshake) {
                Ok(Some(established)) => break established,
                Ok(None) => {}
                Err(error) => {
                    handshake.refuse(&error);
                    return Err(self.over(end, &error));
                }
            }
        };
        self.world.count(|report| report.connections += u64::from(end == SLAVE));
        self.seam(end, Pause::Seam("connected, nothing posted"))?;
        let done = Traffic::new(self, end, handshake, &established).and_then(Traffic::run);
        // What is left of the rings goes with the memory.
        drop(established);
        done
    }
}
