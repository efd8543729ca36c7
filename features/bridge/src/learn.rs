//! `l2-learn`: known source addresses are stamped as seen; of new and moved ones control is told, which keeps the table.
//!
//! Drops: `mac-move-violation`, for a source address that was configured to be elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use quiver_engine::channel::Outbox;
use quiver_engine::{
    Ahead, ArcSpec, Body, Columns, Generations, Guard, Isa, PacketLanes, Quarters, Seed, Snapshot, Stage, Windows, arcs,
};
use quiver_table::{ExactTable, ExactView, STILL};

use crate::layer2::Layer2;
use crate::station::{self, Keys, Station, of_all};

arcs! {
    /// Where frames go once their source is known.
    pub enum Next {
        Forward => node "l2-fwd",
        Moved => drop "mac-move-violation",
    }
}

/// Message from a worker to control: a MAC address was seen behind an interface.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sighting {
    /// Address and domain, as in the table.
    pub key: u64,
    /// Where it was seen.
    pub interface: u32,
    /// The interface's, then.
    pub generation: u32,
}

/// The node.
#[derive(Clone)]
pub struct L2Learn {
    pub(crate) layer2: Snapshot<Layer2>,
    pub(crate) table: ExactTable,
    /// Seconds; control sets it.
    pub(crate) clock: Arc<AtomicU32>,
    pub(crate) generations: Generations,
    pub(crate) news: News,
}

impl L2Learn {
    /// The stage of an instance of the node.
    pub(crate) fn of(&self, seed: Seed) -> L2Learn {
        let learn = L2Learn { news: self.news.of(seed), ..self.clone() };
        match seed.is_rehearsal {
            true => L2Learn { clock: Arc::new(STILL.into()), ..learn },
            false => learn,
        }
    }
}

impl Stage for L2Learn {
    const NAME: &'static str = "l2-learn";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = LearnBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> LearnBody<'f> {
        LearnBody {
            layer2: self.layer2.read(guard),
            table: self.table.view(guard),
            now: self.clock.load(Ordering::Relaxed),
            generations: &self.generations,
            news: &mut self.news,
            known: None,
        }
    }
}

/// The node's work on a frame.
pub struct LearnBody<'f> {
    layer2: &'f Layer2,
    table: ExactView<'f>,
    now: u32,
    generations: &'f Generations,
    news: &'f mut News,
    /// The station of the first packet, if it was found to be behind the interface that received all of them, and stamped.
    known: Option<u64>,
}

impl Body for LearnBody<'_> {
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = Quarters::of(0, 12);
    const HAS_ORDINARY: bool = true;
    /// PERF: a conversation's station is looked up once for a frame.
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) -> bool {
        self.known.is_some_and(|known| Keys::of_sources(p).are(known))
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let (keys, rx) = (Keys::of_sources(p), p.rx.array());
        let (live, is_one_interface) = (p.live.bits(), !(p.rx.ne(rx[0]) & p.live).any());
        let asked = if is_one_interface { keys.asked(p.live) } else { live };
        let (keys, mut unknown, mut violating) = (keys.array(), 0u8, 0u8);
        for lane in asked {
            match self.table.find(keys[lane]) {
                // A stamp is no effect that could be wrong: the frame did come, whichever way it goes on.
                Some(entry) if entry.value() as u32 == rx[lane] => entry.touch(self.now),
                Some(entry) if entry.value() & station::FIXED != 0 => violating |= 1 << lane,
                _ => unknown |= 1 << lane,
            }
        }
        if violating != 0 {
            p.leave(p.live.with(of_all(violating, asked, live)), Next::Moved);
        }
        for lane in of_all(unknown, asked, live) & p.live.bits() {
            let (key, interface) = (keys[lane], rx[lane]);
            let sighting = Sighting { key, interface, generation: self.generations.of(interface) };
            self.news.tell(sighting, self.now);
        }
    }
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, rx: u32) {
        let target = self.layer2.target(rx);
        if self.table.is_large() {
            station::prefetch::<6>(&self.table, windows, target);
        }
        if let Some(key) = station::first::<6>(windows, target)
            && let Some(entry) = self.table.find(key).filter(|entry| entry.value() as u32 == rx)
        {
            entry.touch(self.now);
            self.known = Some(key);
        }
    }
}

/// A worker's sightings on their way to control. A sighting is not repeated within a second, unless control has removed
/// addresses since.
pub struct News {
    outbox: Outbox<Sighting>,
    told: Box<[(Sighting, Moment)]>,
    /// Number of times that control has removed an address or dropped a sighting.
    forgotten: Arc<AtomicU32>,
}

/// The second, and the value of `forgotten` at that time.
type Moment = (u32, u32);

/// Sightings that are remembered; a power of two.
const TOLD: usize = 1024;

impl News {
    pub(crate) fn new(outbox: Outbox<Sighting>, forgotten: Arc<AtomicU32>) -> News {
        News { outbox, told: vec![Default::default(); TOLD].into(), forgotten }
    }
    fn of(&self, seed: Seed) -> News {
        News::new(self.outbox.of(seed), self.forgotten.clone())
    }
    #[cold]
    pub(crate) fn tell(&mut self, sighting: Sighting, now: u32) {
        // A group is no station (IEEE 802.1Q, 8.8.1), and nobody has the address of zeros.
        if !Station::of(sighting.key).mac.is_unicast() {
            return;
        }
        let hash = sighting.key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        let Some(told) = self.told.get_mut(hash as usize & (TOLD - 1)) else { return };
        let now = (now, self.forgotten.load(Ordering::Relaxed));
        // A full queue counts what it loses; the station is told of again when it sends again.
        if *told != (sighting, now) && self.outbox.send(sighting) {
            *told = (sighting, now);
        }
    }
}

impl Clone for News {
    /// Each worker remembers its own sightings.
    fn clone(&self) -> News {
        News::new(self.outbox.clone(), self.forgotten.clone())
    }
}
