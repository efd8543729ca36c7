//! memif's protocol code with a simulated peer: a master and a slave shake hands over a real channel, move packets through
//! real shared memory, sleep and wake each other. They are slow, lose interrupts, let rings run full, and die at any step;
//! then two others try anew.
//!
//! Within a connection no packet is lost, doubled, damaged or overtaken; nobody sleeps for ever while packets wait; an
//! honest peer is never called broken; a stranger is refused; whoever lives on notices that the other one is gone.

mod traffic;

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::ops::{AddAssign, Range};
use std::rc::Rc;

use fastrand::Rng;
use quiver_memif_protocol::{
    Channel, End, Established, Handshake, Mode, Progress, Refusal, Request, Secret, Storage, Terms,
};

use crate::coroutine::{Coroutine, Pause, pause};
use traffic::Traffic;

/// Connections of a seed that end by a death.
const DEATHS: u32 = 5;
/// Steps that such a connection lives.
const LIFE: Range<u32> = 10..2500;
/// Rounds in which two ends that nobody disturbs must have come to where they are wanted.
const ROUNDS_MAX: u32 = 20_000;
/// Bytes of a slave's buffers: longer packets are chains.
const BUFFER: u32 = 256;

/// What happened in a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Report {
    /// Connections that came to be.
    pub connections: u64,
    /// Strangers that were refused.
    pub refused: u64,
    /// Packets that passed, both ways.
    pub passed: u64,
    /// Packets that found a ring full, and were sent later.
    pub full: u64,
    /// Interrupts that were lost.
    pub lost: u64,
    /// Times that an end slept.
    pub slept: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.connections += other.connections;
        self.refused += other.refused;
        self.passed += other.passed;
        self.full += other.full;
        self.lost += other.lost;
        self.slept += other.slept;
    }
}

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

/// What all connections of a seed share.
#[derive(Clone)]
struct World {
    random: Rc<RefCell<Rng>>,
    report: Rc<Cell<Report>>,
}

impl World {
    fn draw(&self, range: Range<u32>) -> u32 {
        self.random.borrow_mut().u32(range)
    }
    fn count(&self, change: impl FnOnce(&mut Report)) {
        let mut report = self.report.get();
        change(&mut report);
        self.report.set(report);
    }
}

const MASTER: usize = 0;
const SLAVE: usize = 1;

/// Why an end's body returns.
enum Ended {
    /// It was killed, or the other one is gone.
    Gone,
    /// What must not be.
    Wrong(String),
}

fn wrong(what: impl Display) -> Ended {
    Ended::Wrong(what.to_string())
}

/// One connection: what is said of its two ends.
#[derive(Clone)]
struct Pair {
    world: World,
    /// Whether an end is to die at its next step, and whether it has ended.
    dying: [Rc<Cell<bool>>; 2],
    ended: [Rc<Cell<bool>>; 2],
    /// Whether the slave has a wrong secret.
    stranger: bool,
    /// Of a hundred looks at its ring, how many each end leaves out.
    sloth: [u32; 2],
    /// Of a hundred interrupts, how many are lost.
    loses: u32,
    /// Whether nothing goes wrong any more, and few packets are sent.
    resting: Rc<Cell<bool>>,
    /// Packets sent by each end, and received by it.
    sent: [Rc<Cell<u64>>; 2],
    received: [Rc<Cell<u64>>; 2],
    wrong: Rc<RefCell<Option<String>>>,
}

impl Pair {
    fn new(world: &World, stranger: bool) -> Pair {
        Pair {
            dying: Default::default(),
            ended: Default::default(),
            stranger,
            sloth: [(); 2].map(|()| [0, 50, 95][world.draw(0..3) as usize]),
            loses: [0, 0, 20][world.draw(0..3) as usize],
            resting: Rc::default(),
            sent: Default::default(),
            received: Default::default(),
            wrong: Rc::default(),
            world: world.clone(),
        }
    }
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
    /// The other one may come between here, and it may be the end.
    fn seam(&self, end: usize, place: Pause) -> Result<(), Ended> {
        pause(place);
        if self.dying[end].get() { Err(Ended::Gone) } else { Ok(()) }
    }
    fn chance(&self, percent: u32) -> bool {
        !self.resting.get() && self.world.draw(0..100) < percent
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
    fn request(&self) -> Result<Request, Ended> {
        let secret = Secret::new(if self.stranger { "stranger" } else { "friend" }).map_err(wrong)?;
        let (name, interface) = ("slave".to_owned(), "slave".to_owned());
        let log2_ring_size = self.world.draw(2..6) as u8;
        Ok(Request { id: 0, mode: Mode::Ethernet, secret, name, interface, s2m_rings: 1, m2s_rings: 1, log2_ring_size })
    }
    fn hear(handshake: &mut Handshake) -> Result<Option<Established>, End> {
        let admit = |_: &_| {
            let secret = Secret::new("friend").map_err(|_| Refusal::UnknownId)?;
            Ok(Terms { mode: Mode::Ethernet, secret, interface: "master".to_owned() })
        };
        match handshake.advance(admit)? {
            Progress::Established(established) => Ok(Some(*established)),
            Progress::Answered | Progress::Quiet => Ok(None),
        }
    }
    /// Why a connection is over: the other one is gone, or refuses a stranger; all else is wrong.
    fn over(&self, end: usize, error: &End) -> Ended {
        let refuses = end == MASTER && matches!(error, End::Refused(_));
        match error {
            End::Refused(_) if self.stranger => {
                self.world.count(|report| report.refused += u64::from(refuses));
                Ended::Gone
            }
            End::Channel(_) if self.ended[1 - end].get() => Ended::Gone,
            error => wrong(format!("an honest peer is told: {error}")),
        }
    }
}
