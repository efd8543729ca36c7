//! `l2-output`: the last look at a frame of layer 2 before its interface.
//!
//! Drops: `split-horizon`, between interfaces of one group; `reflected`, when a frame would go back where it came from;
//! `blocked`, for an interface by which nothing leaves.

use quiver_engine::{ArcSpec, Body, Columns, Guard, Isa, Lanes, PacketLanes, Snapshot, Stage, arcs};

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
    #[inline(always)]
    fn reads<I: Isa>(&self, _: Lanes<I>) -> bool {
        false
    }
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let from = p.rx.map_uniform(|rx| self.layer2.word(rx)) & Port::GROUP;
        let word = p.tx.map_uniform(|tx| self.layer2.word(tx));
        let to = word & Port::GROUP;
        p.leave(from.eq(to) & from.ne(0), Next::SplitHorizon);
        p.leave(p.rx.eq(p.tx), Next::Reflected);
        p.leave((word & Port::BLOCKED).ne(0), Next::Blocked);
    }
}
