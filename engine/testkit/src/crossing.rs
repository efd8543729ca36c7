//! A room for tests of drivers: interfaces are joined in pairs, 1 with 2, 3 with 4, and so on.

use quiver_control::Control;
use quiver_engine::*;

arcs! {
    /// Arcs of the crossing.
    pub enum Next {
        Out => features "interface-output",
        /// The same way, but counted for itself, as `offload`.
        Offload => features "interface-output",
        TooShort => drop "too-short",
    }
}

#[derive(Clone)]
struct Crossing;
impl Stage for Crossing {
    const NAME: &'static str = "crossing";
    const ARCS: &'static [ArcSpec] = &[Next::ARCS[0], ArcSpec { name: "offload", ..Next::ARCS[1] }, Next::ARCS[2]];
    type Body<'f> = Crossing;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Crossing {
        Crossing
    }
}
impl Body for Crossing {
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::NONE;
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        p.leave(p.length.lt(14), Next::TooShort);
        // Number 0 is `local0`, so the first pair is 1 and 2.
        p.tx = ((p.rx - 1) ^ 1) + 1;
        p.leave(!(p.flags & u32::from(Flags::OFFLOAD.0)).eq(0), Next::Offload);
    }
}

/// Joins what is received by all interfaces.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let mut dataplane = control.room_mut::<Dataplane>();
    let graph = dataplane.blueprint();
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "crossing", side: Side::Rx })?;
    graph.node(NodeSpec::stage(|_| Crossing))?;
    Ok(())
}
