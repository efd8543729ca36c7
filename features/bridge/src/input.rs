//! `l2-input`: frames of an interface in layer 2 go to the peer of a cross-connect, or through the bridge domain, whose
//! number and flags they carry in `hop` from here on. An interface that has left layer 2 while a frame was on its way
//! is in no domain, which floods nothing and knows no address: `l2-fwd` drops the frame.

use quiver_engine::{Alike, ArcSpec, Body, Columns, Guard, Isa, PacketLanes, Quarters, Snapshot, Stage, Windows, arcs};

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
    const READS: Quarters = Quarters::NONE;
    #[inline(always)]
    fn alike(&mut self, rx: u32, _: u32) -> Option<Alike> {
        let (word, target) = (self.layer2.word(rx), self.layer2.target(rx));
        let (arc, tx) = match word {
            word if word & Port::CONNECTED != 0 => (Next::Connect, Some(target)),
            word if word & Port::LEARN != 0 => (Next::Learn, None),
            _ => (Next::Forward, None),
        };
        Some(Alike { arc: arc.into(), tx, hop: Some(self.layer2.carried(rx)) })
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let layer2 = self.layer2;
        let word = p.rx.map_uniform(|rx| layer2.word(rx));
        let target = p.rx.map_uniform(|rx| layer2.target(rx));
        let connected = (word & Port::CONNECTED).ne(0);
        p.tx = p.tx.replace(connected, target);
        p.hop = word & Port::CARRIED | target & 0xffff;
        // Two tests for all of a port's frames, and none of what hardly any are.
        let learns = (word & Port::LEARN).ne(0).without(connected);
        if p.live.without(learns).any() {
            p.leave(connected, Next::Connect);
            p.leave(!learns, Next::Forward);
        }
    }
}
