//! One connection: its two ends and their faults.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::ops::Range;
use std::rc::Rc;

use fastrand::Rng;
use quiver_memif_protocol::{End, Established, Handshake, Mode, Progress, Refusal, Request, Secret, Terms};

use super::report::Report;
use crate::coroutine::{Pause, pause};

/// State that all connections of a seed share.
#[derive(Clone)]
pub(super) struct World {
    pub random: Rc<RefCell<Rng>>,
    pub report: Rc<Cell<Report>>,
}

impl World {
    pub fn draw(&self, range: Range<u32>) -> u32 {
        self.random.borrow_mut().u32(range)
    }
    pub fn count(&self, change: impl FnOnce(&mut Report)) {
        let mut report = self.report.get();
        change(&mut report);
        self.report.set(report);
    }
}

pub(super) const MASTER: usize = 0;
pub(super) const SLAVE: usize = 1;

/// Why an end's body returns.
pub(super) enum Ended {
    /// It was killed, or the other one is gone.
    Gone,
    /// A violated invariant.
    Wrong(String),
}

pub(super) fn wrong(what: impl Display) -> Ended {
    Ended::Wrong(what.to_string())
}

/// One connection: settings of its two ends.
#[derive(Clone)]
pub(super) struct Pair {
    pub world: World,
    /// Whether an end is to die at its next step, and whether it has ended.
    pub dying: [Rc<Cell<bool>>; 2],
    pub ended: [Rc<Cell<bool>>; 2],
    /// Whether the slave has a wrong secret.
    pub stranger: bool,
    /// Percentage of looks at its ring that each end leaves out.
    pub sloth: [u32; 2],
    /// Percentage of interrupts that are lost.
    pub loses: u32,
    /// Whether nothing goes wrong any more, and few packets are sent.
    pub resting: Rc<Cell<bool>>,
    /// Packets sent by each end, and received by it.
    pub sent: [Rc<Cell<u64>>; 2],
    pub received: [Rc<Cell<u64>>; 2],
    pub wrong: Rc<RefCell<Option<String>>>,
}

impl Pair {
    pub fn new(world: &World, stranger: bool) -> Pair {
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
    /// The other one may come between here, and it may be the end.
    pub fn seam(&self, end: usize, place: Pause) -> Result<(), Ended> {
        pause(place);
        if self.dying[end].get() { Err(Ended::Gone) } else { Ok(()) }
    }
    pub fn chance(&self, percent: u32) -> bool {
        !self.resting.get() && self.world.draw(0..100) < percent
    }
    pub fn request(&self) -> Result<Request, Ended> {
        let secret = Secret::new(if self.stranger { "stranger" } else { "friend" }).map_err(wrong)?;
        let (name, interface) = ("slave".to_owned(), "slave".to_owned());
        let log2_ring_size = self.world.draw(2..6) as u8;
        Ok(Request { id: 0, mode: Mode::Ethernet, secret, name, interface, s2m_rings: 1, m2s_rings: 1, log2_ring_size })
    }
    pub fn hear(handshake: &mut Handshake) -> Result<Option<Established>, End> {
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
    pub fn over(&self, end: usize, error: &End) -> Ended {
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
