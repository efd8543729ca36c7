//! `snort-deq`: takes packets from inspectors that have judged them, and those that an inspector held when it went.

use quiver_engine::{Context, Frame, Generations, Node, Snapshot, VECTOR, arcs};

use crate::instance::{Instance, Instances};
use crate::origin::Origin;
use crate::pair::{Held, Judged, Pair, add};

/// The node's name.
pub(crate) const NAME: &str = "snort-deq";

arcs! {
    /// Where packets go from `snort-deq`.
    pub enum Next {
        Ip4Input => node "snort-ip4-input-next",
        Ip6Input => node "snort-ip6-input-next",
        Ip4Output => node "snort-ip4-output-next",
        Ip6Output => node "snort-ip6-output-next",
        Verdict => drop "verdict-drop",
        BadVerdict => drop "bad-verdict",
        Lost => drop "inspector-lost",
        Late => drop "interface-gone",
    }
}

impl From<Origin> for Next {
    fn from(origin: Origin) -> Next {
        match origin {
            Origin::Ip4Input => Next::Ip4Input,
            Origin::Ip6Input => Next::Ip6Input,
            Origin::Ip4Output => Next::Ip4Output,
            Origin::Ip6Output => Next::Ip6Output,
        }
    }
}

/// Where a packet goes by its verdict.
fn judge(instance: &Instance, pair: &Pair, judged: &Judged, generations: &Generations) -> Next {
    match judged.verdict {
        _ if !judged.held.is_current(generations) => {
            add(&pair.counts.late, 1);
            Next::Late
        }
        None => Next::BadVerdict,
        Some(verdict) if instance.drops(verdict) => Next::Verdict,
        Some(_) => judged.held.origin.into(),
    }
}

/// Where a packet goes that an inspector held when it went.
pub(crate) fn of_lost(instance: &Instance, pair: &Pair, held: &Held, generations: &Generations) -> Next {
    add(&pair.counts.lost, 1);
    match (held.is_current(generations), instance.passes()) {
        (false, _) => Next::Late,
        (true, true) => held.origin.into(),
        (true, false) => Next::Lost,
    }
}

/// The node.
pub(crate) struct Release {
    instances: Snapshot<Instances>,
    generations: Generations,
    judged: Vec<Judged>,
}

impl Release {
    pub fn new(instances: Snapshot<Instances>, generations: Generations) -> Release {
        Release { instances, generations, judged: vec![] }
    }
}

impl Node for Release {
    fn process(&mut self, cx: &mut Context, _: &mut Frame) {
        if cx.is_rehearsal() {
            return;
        }
        for instance in self.instances.read(cx.guard).iter().flatten() {
            for pair in instance.of_worker(cx.worker) {
                let mut own = pair.own();
                if own.is_attached() {
                    pair.judged(&mut own, cx.pool, VECTOR, &mut self.judged);
                }
                drop(own);
                for judged in self.judged.drain(..) {
                    let next = judge(instance, pair, &judged, &self.generations);
                    cx.emit(next, judged.held.packet);
                }
            }
        }
    }
}
