//! Fused products: a path of the graph compiled into one loop, from receive to the output.

use crate::frame::Frame;
use crate::graph::{Context, NodeCounters, NodeId, Seed};
use crate::isa::lap;
use crate::stage::{Path, ProductLoop, Stage, product_kernel};
use std::sync::Arc;

/// A product as rooms offer it.
pub struct ProductSpec {
    /// Its name, for `show fusion`.
    pub name: &'static str,
    /// The nodes that it stands for, each with the arc taken; the last arc leads to the output.
    pub path: Vec<(&'static str, u16)>,
    /// Whether an interface's configuration asks for this path.
    pub applies: Box<dyn Fn(u16) -> bool>,
    /// The type of the loop that is compiled for every instruction set; see [`crate::NodeSpec::kernel`].
    pub kernel: &'static str,
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
        ProductSpec { name, path, applies, kernel: product_kernel::<S>(), make }
    }
    pub(crate) fn make(&self, seed: Seed) -> Box<dyn Product> {
        (self.make)(seed)
    }
}

/// A product at work on one queue's frames: it sees a packet all the way through or leaves it untouched in the frame.
pub(crate) trait Product: Send {
    fn run(&mut self, cx: &mut Context, frame: &mut Frame);
}
struct Fused<S>(S);
impl<S: Stage> Product for Fused<S> {
    fn run(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (body, level) = (self.0.enter(cx.guard), cx.level);
        level.run(ProductLoop { body, pool: cx.pool, frame, output: cx.output, now: cx.now });
    }
}

/// A product installed on a receive queue, and the counters of the nodes that it stands for.
pub(crate) struct Installed {
    pub(crate) product: Box<dyn Product>,
    pub(crate) path: Vec<(NodeId, u16, Arc<NodeCounters>)>,
}
impl Installed {
    /// Forwards what it can; counts it where the nodes would have.
    pub(crate) fn run(&mut self, cx: &mut Context, frame: &mut Frame, clock: &mut u64) {
        let n = frame.len();
        self.product.run(cx, frame);
        let through = (n - frame.len()) as u64;
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
