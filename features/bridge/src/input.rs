//! `l2-input`: frames of an interface in layer 2 go to the peer of a cross-connect, or through the bridge domain, whose
//! number and rules they carry in `hop` from here on. An interface that has left layer 2 with a frame on its way is in
//! no domain, which floods nothing and knows nobody: `l2-fwd` drops the frame.

use quiver_engine::{ArcSpec, Body, Columns, Guard, Isa, Lanes, PacketLanes, Snapshot, Stage, arcs};

use crate::layer2::{Layer2, Port};

arcs! {
    /// Where frames go by the mode of their interface.
    pub enum Next {
        Learn => node "l2-learn",
        Forward => node "l2-fwd",
        Connect => features "l2-output",
    }
}

/// The node.
#[derive(Clone)]
pub struct L2Input(pub(crate) Snapshot<Layer2>);

impl Stage for L2Input {
    const NAME: &'static str = "l2-input";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = InputBody<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> InputBody<'f> {
        InputBody { layer2: self.0.read(guard) }
    }
}

/// The node's work on a frame.
pub struct InputBody<'f> {
    layer2: &'f Layer2,
}

impl Body for InputBody<'_> {
    const WRITES: Columns = Columns::TX.and(Columns::HOP);
    #[inline(always)]
    fn reads<I: Isa>(&self, _: Lanes<I>) -> bool {
        false
    }
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let word = p.rx.map_uniform(|rx| self.layer2.word(rx));
        let target = p.rx.map_uniform(|rx| self.layer2.target(rx));
        let connected = (word & Port::CONNECTED).ne(0);
        p.tx = p.tx.replace(connected, target);
        p.hop = word & Port::CARRIED | target & 0xffff;
        p.leave(connected, Next::Connect);
        p.leave((word & Port::LEARN).eq(0), Next::Forward);
    }
}
