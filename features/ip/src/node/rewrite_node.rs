//! The nodes `ip4-rewrite` and `ip6-rewrite`: the stage of [`rewrite`](super::rewrite), and behind it what is left of a frame.
//!
//! Packets whose hop says to look them up again go to `ip4-lookup-again`. Those that are too long or have an offload pass, are
//! fragmented or reported ([`too_big`]).

use quiver_engine::{Context, Frame, MetadataKey, Node, Pool, Snapshot, StageNode};

use super::rewrite::{Next, Rewrite};
use super::too_big::{self, Cutting};
use crate::family::Family;
use crate::fib::hop::Continuation;
use crate::ingress::Ingress;
use crate::upper::Upper;

/// The node.
pub struct RewriteNode<F: Family> {
    stage: StageNode<Rewrite<F>>,
    /// Path MTUs of hosts.
    ingress: Snapshot<Ingress<F>>,
    /// Key of the metadata by which fragments have the ports of the packet.
    upper: MetadataKey<Upper>,
}

impl<F: Family> RewriteNode<F> {
    /// The node around its stage.
    pub fn new(stage: Rewrite<F>, ingress: Snapshot<Ingress<F>>, upper: MetadataKey<Upper>) -> RewriteNode<F> {
        RewriteNode { stage: StageNode(stage), ingress, upper }
    }
}

impl<F: Family> Node for RewriteNode<F> {
    fn is_stage(&self) -> bool {
        true
    }
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.stage.process(cx, frame);
        let stage = &mut self.stage.0;
        if !frame.left().is_empty() {
            // What is below changes arcs and interfaces.
            frame.set_mixed();
            for i in frame.left() {
                if frame.next[i] == Next::Resolve as u16 && Continuation::of(frame.hop[i]).is_some() {
                    frame.next[i] = Next::Continuation.into();
                }
            }
            let table = stage.adjacencies.read(cx.guard);
            let ingress = self.ingress.read(cx.guard);
            let row =
                |pool: &Pool, frame: &Frame, i| too_big::to_host(ingress, *table.row(frame.hop[i]), pool, frame, i);
            let cutting = Cutting { sent: &stage.sent, upper: self.upper, link_too_small: Next::LinkTooSmall.into() };
            too_big::process::<F>(cx, frame, row, &cutting);
        }
    }
}
