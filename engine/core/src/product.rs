//! Fused products: a path of the graph compiled into one loop, from receive to the output; once over frames, once over
//! what a relay carries.

use crate::frame::Frame;
use crate::graph::{Context, NodeCounters, NodeId, Seed};
use crate::isa::lap;
use crate::relay::{Relay, RelayLoop, Source, relay_kernel};
use crate::stage::{Path, ProductLoop, Stage, product_kernel};
use crate::tx::TxContext;
use std::sync::Arc;

/// A product as rooms offer it.
pub struct ProductSpec {
    /// Its name, for `show fusion`.
    pub name: &'static str,
    /// The nodes that it stands for, each with the arc taken; the last arc leads to the output.
    pub path: Vec<(&'static str, u16)>,
    /// Whether an interface's configuration asks for this path.
    pub applies: Box<dyn Fn(u16) -> bool>,
    /// The types of the loops that are compiled for every instruction set, over frames and over relays; see
    /// [`crate::NodeSpec::kernel`].
    pub kernels: [&'static str; 2],
    make: Box<dyn Fn(Seed) -> Box<dyn Product>>,
}
impl ProductSpec {
    /// A product of chained stages; `make` is called once for each receive queue that it serves, and `last` is the arc
    /// by which packets leave the last stage.
    pub fn new<S: Stage + Path>(
        name: &'static str,
        last: impl Into<u16>,
        applies: impl Fn(u16) -> bool + 'static,
        make: impl Fn(Seed) -> S + 'static,
    ) -> ProductSpec {
        let mut path = vec![];
        S::path(&mut path, last.into());
        let (applies, make) =
            (Box::new(applies), Box::new(move |seed| Box::new(Fused(make(seed))) as Box<dyn Product>));
        let kernels = [product_kernel::<S>(), relay_kernel::<S>()];
        ProductSpec { name, path, applies, kernels, make }
    }
    pub(crate) fn make(&self, seed: Seed) -> Box<dyn Product> {
        (self.make)(seed)
    }
}

/// A product at work on one queue's frames: it sees a packet all the way through or leaves it untouched in the frame.
pub(crate) trait Product: Send {
    fn run(&mut self, cx: &mut Context, frame: &mut Frame);
    /// The same for packets of an interface that lie in a relay.
    fn relay(&mut self, cx: &mut Context, relay: &mut Relay, interface: u16);
}
struct Fused<S>(S);
impl<S: Stage> Product for Fused<S> {
    fn run(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (body, level) = (self.0.enter(cx.guard), cx.level);
        level.run(ProductLoop { body, pool: cx.pool, frame, output: cx.output, now: cx.now });
    }
    fn relay(&mut self, cx: &mut Context, relay: &mut Relay, interface: u16) {
        let (body, level) = (self.0.enter(cx.guard), cx.level);
        level.run(RelayLoop { body, relay, output: cx.output, interface });
    }
}

/// Turns for which a relay rests that has carried nothing.
const REST: u32 = 64;

/// A product installed on a receive queue, and the counters of the nodes that it stands for.
pub(crate) struct Installed {
    pub(crate) product: Box<dyn Product>,
    pub(crate) path: Vec<(NodeId, u16, Arc<NodeCounters>)>,
    /// Turns in which no relay is tried, since the last one carried nothing.
    pub(crate) resting: u32,
}
impl Installed {
    /// Forwards what it can; counts it where the nodes would have.
    pub(crate) fn run(&mut self, cx: &mut Context, frame: &mut Frame, clock: &mut u64) {
        let n = frame.len();
        self.product.run(cx, frame);
        self.count((n - frame.len()) as u64, clock);
    }
    /// The same from a source, `most` packets at most; says how many packets and bytes, and whether others wait.
    pub(crate) fn relay(
        &mut self,
        cx: &mut Context,
        relay: &mut Relay,
        source: &mut dyn Source,
        (interface, input): (u16, &NodeCounters),
        most: usize,
        clock: &mut u64,
    ) -> (usize, u64, bool) {
        if self.resting > 0 {
            self.resting -= 1;
            return (0, 0, true);
        }
        relay.clear();
        let waits = source.load(relay, most);
        if relay.is_empty() {
            source.dealt_with(0);
            return (0, 0, waits);
        }
        input.clocks.add(lap(clock));
        self.product.relay(cx, relay, interface);
        cx.output.flush_relayed(&mut TxContext::new(cx.pool, cx.now), relay);
        let (through, bytes) = relay.through();
        source.dealt_with(through);
        self.count(through as u64, clock);
        if through == 0 {
            // By ports that take nothing from relays, perhaps.
            self.resting = REST;
        }
        (through, bytes, waits || through < relay.len())
    }
    fn count(&self, through: u64, clock: &mut u64) {
        if through > 0 {
            let clocks = lap(clock) / self.path.len().max(1) as u64;
            for (_, arc, counters) in &self.path {
                counters.calls.add(1);
                counters.packets.add(through);
                counters.clocks.add(clocks);
                counters.arc(*arc, through);
            }
        }
    }
}
