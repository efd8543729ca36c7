//! Fused products: a path of the graph compiled into one loop, from receive to the output; once over frames, once over
//! what a relay carries.

use crate::aside::{Aside, Flows};
use crate::counters::Counter;
use crate::frame::Frame;
use crate::graph::{Context, NodeCounters, NodeId, Seed};
use crate::isa::lap;
use crate::relay::{Relay, RelayLoop, Source, relay_kernel};
use crate::stage::{Body, Hop, Path, ProductLoop, Stage, product_kernel};
use crate::tx::TxContext;
use std::sync::Arc;

/// A product as rooms offer it.
pub struct ProductSpec {
    /// Its name, for `show fusion`.
    pub name: &'static str,
    /// The nodes that it stands for; the last arc leads to the output.
    pub path: Vec<Hop>,
    /// Whether what is sent may be for parts of interfaces.
    pub sends_by_parts: bool,
    /// Whether the configuration of an interface asks for this path: of a part, where the path finds one.
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
        ProductSpec { name, path, sends_by_parts: <S::Body<'static> as Body>::BY_PARTS, applies, kernels, make }
    }
    /// Whether its path leads through a part of the receiving interface.
    pub(crate) fn finds_part(&self) -> bool {
        self.path.iter().any(|hop| hop.finds_part)
    }
    pub(crate) fn make(&self, seed: Seed) -> Box<dyn Product> {
        (self.make)(seed)
    }
}

/// A product at work on one queue's frames: it sees a packet all the way through or leaves it untouched in the frame.
pub(crate) trait Product: Send {
    /// `flows` are those that must not be carried, and are more of them behind the frame.
    fn run(&mut self, cx: &mut Context, frame: &mut Frame, flows: &mut Flows);
    /// The same for packets of an interface that lie in a relay; what it leaves is copied.
    fn relay(&mut self, cx: &mut Context, relay: &mut Relay, interface: u16, aside: &mut Aside);
    /// See [`Path::tally`].
    fn tally(&mut self, through: u64, each: &mut dyn FnMut(u64));
}
struct Fused<S>(S);
impl<S: Stage + Path> Product for Fused<S> {
    fn run(&mut self, cx: &mut Context, frame: &mut Frame, flows: &mut Flows) {
        let (body, level) = (self.0.enter(cx.guard), cx.level);
        level.run(ProductLoop { body, pool: cx.pool, frame, flows, output: cx.output, now: cx.now });
    }
    fn relay(&mut self, cx: &mut Context, relay: &mut Relay, interface: u16, aside: &mut Aside) {
        let (body, level) = (self.0.enter(cx.guard), cx.level);
        level.run(RelayLoop { body, pool: cx.pool, relay, aside, output: cx.output, interface });
    }
    fn tally(&mut self, through: u64, each: &mut dyn FnMut(u64)) {
        self.0.tally(through, each);
    }
}

/// Whether a relay is worth trying. One that carries less than half of a burst costs more than it saves, since the packets
/// leave by ports that take nothing from relays, perhaps: if that is so again and again, it rests for longer and longer.
#[derive(Default)]
pub(crate) struct Patience {
    /// Bursts in a row of which it carried less than half.
    failures: u32,
    /// Turns in which it is not tried.
    resting: u32,
}
impl Patience {
    /// At most 63 turns of rest.
    const FAILURES_MAX: u32 = 6;

    /// Whether it is not tried in this turn.
    fn rests(&mut self) -> bool {
        let rests = self.resting > 0;
        self.resting -= u32::from(rests);
        rests
    }
    /// Notes how many packets of a burst were carried.
    fn judge(&mut self, carried: usize, of: usize) {
        if carried * 2 >= of {
            *self = Patience::default();
        } else {
            self.resting = (1 << self.failures) - 1;
            self.failures = (self.failures + 1).min(Patience::FAILURES_MAX);
        }
    }
}

/// A product installed on a receive queue, and the counters of the nodes that it stands for.
pub(crate) struct Installed {
    pub(crate) product: Box<dyn Product>,
    pub(crate) path: Vec<(NodeId, u16, Arc<NodeCounters>)>,
    /// Packets that a product carried from the queue.
    pub(crate) carried: Arc<Counter>,
    pub(crate) patience: Patience,
}
impl Installed {
    /// Forwards what it can; counts it where the nodes would have.
    pub(crate) fn run(&mut self, cx: &mut Context, frame: &mut Frame, flows: &mut Flows, clock: &mut u64) {
        let n = frame.len();
        self.product.run(cx, frame, flows);
        self.count((n - frame.len()) as u64, clock);
    }
    /// Forwards what it can from a source, `most` packets at most, and copies the rest.
    pub(crate) fn relay(
        &mut self,
        cx: &mut Context,
        (relay, aside): (&mut Relay, &mut Aside),
        source: &mut dyn Source,
        (interface, input): (u16, &NodeCounters),
        most: usize,
        clock: &mut u64,
    ) -> Relaying {
        if self.patience.rests() {
            return Relaying { waits: true, ..Relaying::default() };
        }
        relay.clear();
        let waits = source.load(relay, most);
        if relay.is_empty() {
            source.dealt_with(0);
            return Relaying { waits, ..Relaying::default() };
        }
        input.clocks.add(lap(clock));
        let before = aside.frame.len();
        self.product.relay(cx, relay, interface, aside);
        cx.output.flush_relayed(&mut TxContext::new(cx.pool, cx.now), relay);
        let (packets, bytes) = relay.through();
        source.dealt_with(packets);
        let carried = packets - (aside.frame.len() - before);
        self.count(carried as u64, clock);
        self.patience.judge(carried, relay.len());
        Relaying { packets, bytes, carried, waits: waits || packets < relay.len() }
    }
    fn count(&mut self, through: u64, clock: &mut u64) {
        if through > 0 {
            self.carried.add(through);
            let clocks = lap(clock) / self.path.len().max(1) as u64;
            let mut path = self.path.iter();
            let mut passed = |packets| {
                if let Some((_, arc, counters)) = path.next()
                    && packets > 0
                {
                    counters.calls.add(1);
                    counters.packets.add(packets);
                    counters.clocks.add(clocks);
                    counters.arc(*arc, packets);
                }
            };
            self.product.tally(through, &mut passed);
            // The output.
            passed(through);
        }
    }
}

/// What became of a burst.
#[derive(Default)]
pub(crate) struct Relaying {
    /// Packets that were received, and their bytes.
    pub packets: usize,
    pub bytes: u64,
    /// Those of them that went all the way; the others were copied.
    pub carried: usize,
    /// Whether others wait.
    pub waits: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_rests_only_when_it_fails_again_and_again() {
        let mut patience = Patience::default();
        let rest = |patience: &mut Patience| (0..).find(|_| !patience.rests()).unwrap_or(0);
        let failures: Vec<usize> = (0..9).map(|_| (patience.judge(1, 128), rest(&mut patience)).1).collect();
        assert_eq!(failures, [0, 1, 3, 7, 15, 31, 63, 63, 63]);
        patience.judge(64, 128);
        patience.judge(0, 1);
        assert_eq!(rest(&mut patience), 0, "success makes one forget");
    }
}
