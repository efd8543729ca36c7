//! `l2-fwd`: frames to a known address go to its interface, others are flooded, or go by the
//! interface that the domain has for them. Those for groups are first looked at where the domain answers questions.
//!
//! Drops: `filtered`, for an address that was configured so; `no-flooding` and `no-unknown-flooding`, where the domain
//! does not.

use quiver_engine::{
    Ahead, ArcSpec, Body, Columns, Field, Guard, Isa, Mask8, PacketLanes, Quarters, Snapshot, Stage, Windows, arcs,
};
use quiver_table::{ExactTable, ExactView};

use crate::layer2::{Layer2, Port};
use crate::station::{self, Keys, Station, of_all};

arcs! {
    /// Where frames go by their destination.
    pub enum Next {
        Output => features "l2-output",
        Flood => node "l2-flood",
        Divert => node "l2-uu-fwd",
        Virtual => node "bvi-input",
        Answer => node "arp-term-l2bd",
        Filtered => drop "filtered",
        NoFlooding => drop "no-flooding",
        NoUnknownFlooding => drop "no-unknown-flooding",
    }
}

const FIRST_OCTET: Field = Field::new(0, 8);

/// The node.
#[derive(Clone)]
pub struct L2Forward {
    pub(crate) layer2: Snapshot<Layer2>,
    pub(crate) table: ExactTable,
}

impl Stage for L2Forward {
    const NAME: &'static str = "l2-fwd";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = ForwardBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> ForwardBody<'f> {
        ForwardBody { layer2: self.layer2.read(guard), table: self.table.view(guard), known: NOBODY }
    }
}

/// The node's work on a frame.
pub struct ForwardBody<'f> {
    layer2: &'f Layer2,
    table: ExactView<'f>,
    /// Where the first packet goes.
    known: Known,
}

/// A station, and where it is.
#[derive(Clone, Copy)]
struct Known {
    key: u64,
    /// Port and domain bits that frames carry in `hop`.
    carried: u32,
    tx: u32,
}

/// None: no domain has so many rules.
const NOBODY: Known = Known { key: 0, carried: u32::MAX, tx: 0 };

impl Body for ForwardBody<'_> {
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::of(0, 6);
    const HAS_ORDINARY: bool = true;
    /// PERF: a conversation's station is looked up once for a frame.
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) -> bool {
        let others = p.hop.ne(self.known.carried).any() || !Keys::of_destinations(p).are(self.known.key);
        p.tx = p.hop.same(self.known.tx);
        !others
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let group = (p.header.get(FIRST_OCTET) & 1).ne(0);
        if (group & p.live).any() {
            p.leave(group & (p.hop & Port::ANSWER).ne(0), Next::Answer);
            p.leave(group & (p.hop & Port::FLOOD).eq(0), Next::NoFlooding);
            p.leave(group, Next::Flood);
        }
        // A domain that does not forward treats every station as unknown.
        let known = p.live & (p.hop & Port::FORWARD).ne(0);
        let keys = Keys::of_destinations(p);
        let (all, asked) = (known.bits(), keys.asked(known));
        let (keys, mut tx) = (keys.array(), p.tx.array());
        let (mut found, mut bvi, mut filtered) = (0u8, 0u8, 0u8);
        for lane in asked {
            if let Some(value) = self.table.get(keys[lane]) {
                tx[lane] = value as u32;
                found |= 1 << lane;
                bvi |= u8::from(value & station::VIRTUAL != 0) << lane;
                filtered |= u8::from(value & station::FILTER != 0) << lane;
            }
        }
        if asked == all {
            p.tx = p.tx.with(&tx);
        } else {
            for lane in asked {
                p.tx = p.tx.replace(known, tx[lane]);
            }
        }
        let unknown = p.live.bits() & !of_all(found, asked, all);
        if unknown != Mask8(0) {
            let unknown = p.live.with(unknown);
            p.leave(unknown & (p.hop & Port::DIVERT).ne(0), Next::Divert);
            p.leave(unknown & (p.hop & Port::UNKNOWN).eq(0), Next::NoUnknownFlooding);
            p.leave(unknown, Next::Flood);
        }
        if filtered | bvi != 0 {
            p.leave(p.live.with(of_all(filtered, asked, all)), Next::Filtered);
            p.leave(p.live.with(of_all(bvi, asked, all)), Next::Virtual);
        }
    }
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, rx: u32) {
        let target = self.layer2.target(rx);
        if self.table.is_large() {
            station::prefetch::<0>(&self.table, windows, target);
        }
        let carried = self.layer2.carried(rx);
        if let Some(key) = station::first::<0>(windows, target)
            && carried & Port::FORWARD != 0
            && Station::of(key).mac.is_unicast()
            && let Some(value) = self.table.get(key)
            && value & (station::VIRTUAL | station::FILTER) == 0
        {
            self.known = Known { key, carried, tx: value as u32 };
        }
    }
}
