//! `count-dscp`: counts IPv4 packets of one class of service (DSCP, RFC 2474, 3), a feature of `ip4-unicast`.

use std::sync::Arc;

use quiver_control::Control;
use quiver_engine::*;

arcs! {
    /// Where packets go.
    pub enum Next {
        Pass => next_feature,
    }
}

/// The byte with the DSCP. Windows of layer 3 begin 14 bytes before the header.
const TRAFFIC_CLASS: Field = Field::new(14 + 1, 8);
/// Expedited forwarding (RFC 3246).
pub const WANTED: u32 = 46;

/// A worker's stage.
#[derive(Clone)]
pub struct CountDscp(Arc<Row<Counter>>);

impl Stage for CountDscp {
    const NAME: &'static str = "count-dscp";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = &'f CountDscp;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> &'f CountDscp {
        self
    }
}

impl Body for &CountDscp {
    const BACK: u32 = 14;
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = Quarters::of(15, 16);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let marked = (p.header.get(TRAFFIC_CLASS) >> 2).eq(WANTED) & p.live;
        self.0.add(WANTED, marked.bits().0.count_ones().into());
    }
}

/// Registers the node, and its counter in the statistics segment.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let mut dataplane = control.room_mut::<Dataplane>();
    let counters = Counters::<Counter>::shown(dataplane.statistics(), "/net/dscp", 64);
    counters.grow(64);
    let graph = dataplane.blueprint();
    graph.node(NodeSpec::stage(move |seed| CountDscp(counters.row(seed.worker))))?;
    graph.feature(FeatureSpec::new("ip4-unicast", CountDscp::NAME, Phase::Policy))?;
    Ok(())
}
