//! `l2-output`: the last look at a frame of layer 2 before its interface.
//!
//! Drops: `split-horizon`, between interfaces of one group; `reflected`, when a frame would go back where it came from;
//! `blocked`, for an interface by which nothing leaves.

use quiver_engine::{Alike, ArcSpec, Body, Columns, Guard, Isa, PacketLanes, Quarters, Snapshot, Stage, Windows, arcs};

use crate::layer2::{Layer2, Port};

arcs! {
    /// Where frames go.
    pub enum Next {
        Output => features "interface-output",
        SplitHorizon => drop "split-horizon",
        Reflected => drop "reflected",
        Blocked => drop "blocked",
    }
}

/// The node.
#[derive(Clone)]
pub struct L2Output(pub(crate) Snapshot<Layer2>);

impl Stage for L2Output {
    const NAME: &'static str = "l2-output";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = OutputBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> OutputBody<'f> {
        OutputBody { layer2: self.0.read(guard) }
    }
}

/// The node's work on a frame.
pub struct OutputBody<'f> {
    layer2: &'f Layer2,
}

impl Body for OutputBody<'_> {
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = Quarters::NONE;
    #[inline(always)]
    fn alike(&mut self, rx: u32, tx: u32) -> Option<Alike> {
        let (from, to) = (self.layer2.word(rx), self.layer2.word(tx));
        let group = from & Port::GROUP;
        let arc = match () {
            () if group != 0 && group == to & Port::GROUP => Next::SplitHorizon,
            () if rx == tx => Next::Reflected,
            () if to & Port::BLOCKED != 0 => Next::Blocked,
            () => Next::Output,
        };
        Some(Alike { arc: arc.into(), tx: None, hop: None })
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let layer2 = self.layer2;
        let from = p.rx.map_uniform(|rx| layer2.word(rx)) & Port::GROUP;
        let word = p.tx.map_uniform(|tx| layer2.word(tx));
        let split = from.eq(word & Port::GROUP).without(from.eq(0));
        let (reflected, blocked) = (p.rx.eq(p.tx), (word & Port::BLOCKED).ne(0));
        if ((split | reflected | blocked) & p.live).any() {
            p.leave(split, Next::SplitHorizon);
            p.leave(reflected, Next::Reflected);
            p.leave(blocked, Next::Blocked);
        }
    }
}
