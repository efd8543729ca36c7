//! A worker's rings from the others.

use super::generations::Generations;
use super::{BUNDLE, Bundle, Outbound, Pair, Way};
use crate::frame::Frame;
use crate::graph::{Context, DispatchNext, Graph, NodeId};
use crate::rx::Harvest;
use crate::vector::VECTOR;
use quiver_table::spsc::Reader;

/// A worker's rings from the others.
#[derive(Default)]
pub(crate) struct Inbound {
    rings: Vec<Reader<Bundle>>,
    generations: Option<Generations>,
}

impl Inbound {
    /// Whether other workers may hand packets over at all.
    pub fn is_connected(&self) -> bool {
        !self.rings.is_empty()
    }
    /// Whether nothing was handed over.
    pub fn is_empty(&mut self) -> bool {
        self.rings.iter_mut().all(Reader::is_empty)
    }
    /// Takes a vector at most from each ring, in bundles of any length, and sends it on; returns its packets and bytes.
    pub fn receive(&mut self, graph: &mut Graph, cx: &mut Context, clock: &mut u64) -> Harvest {
        let Some(generations) = &self.generations else { return Harvest::default() };
        let mut harvest = Harvest::default();
        let dropping = (graph.dispatcher(), DispatchNext::InterfaceGone.into());
        for ring in &mut self.rings {
            let (mut frame, mut gone, mut way) = (graph.frame(), graph.frame(), (NodeId(0), 0));
            let before = harvest.packets;
            while harvest.packets <= before + VECTOR - BUNDLE {
                let taken = ring.take(|bundle| {
                    if harvest.packets > before && cx.pool.plants_lost_handoff() {
                        bundle.len = 0;
                    }
                    let next = (bundle.node, bundle.arc);
                    if next != way || bundle.len > frame.room().min(gone.room()) {
                        let lost = std::mem::replace(&mut gone, graph.frame());
                        send_on(graph, cx, dropping, lost, clock);
                        let whole = std::mem::replace(&mut frame, graph.frame());
                        send_on(graph, cx, way, whole, clock);
                        way = next;
                    }
                    harvest.packets += bundle.len;
                    harvest.bytes += bundle.bytes();
                    bundle.unpack(&mut frame, &mut gone, generations);
                });
                if taken.is_none() {
                    break;
                }
            }
            send_on(graph, cx, way, frame, clock);
            send_on(graph, cx, dropping, gone, clock);
        }
        harvest
    }
    /// Says that everything that was taken is through.
    pub fn release(&mut self) {
        self.rings.iter_mut().for_each(Reader::release);
    }
}

fn send_on(graph: &mut Graph, cx: &mut Context, (node, arc): (NodeId, u16), mut frame: Box<Frame>, clock: &mut u64) {
    match frame.is_empty() {
        true => graph.give_back(frame),
        false => {
            frame.next.fill(arc);
            graph.resume(cx, (node, frame), clock);
        }
    }
}

/// Gives a worker its rings.
pub(crate) fn connect(
    outbound: &mut Outbound,
    inbound: &mut Inbound,
    pairs: Vec<Option<Pair>>,
    generations: &Generations,
) {
    (outbound.generations, inbound.generations) = (Some(generations.clone()), Some(generations.clone()));
    for pair in pairs {
        let way = pair.map(|Pair { to, from, sleeper }| {
            inbound.rings.push(from);
            Way { ring: to, sleeper, open: 0, is_silent: false }
        });
        outbound.ways.push(way);
    }
}
