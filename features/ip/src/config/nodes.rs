//! The feature arcs and nodes of forwarding, and the snapshots that each node reads.

use quiver_engine::{
    Blueprint, Dataplane, DataplaneError, FeatureArcSpec, MetadataKey, NodeSpec, Seed, Side, StageNode,
};
use quiver_wire::{V4, V6};

use super::room::{Ip, Ip4, Ip6};
use crate::disposition::Dispositions;
use crate::family::Family;
use crate::family::v4::options::{self, Ip4Options};
use crate::family::v6::hop_by_hop::{self, Ip6HopByHop};
use crate::family::v6::link_local::{self, Ip6LinkLocal};
use crate::node::again::{self, LookupAgain};
use crate::node::describe;
use crate::node::input::{Input, InputNode};
use crate::node::local::Local;
use crate::node::lookup::Lookup;
use crate::node::multicast::{self, Multicast};
use crate::node::punt::{Next as PuntNext, Punt};
use crate::node::rewrite::Rewrite;
use crate::node::rewrite_node::RewriteNode;
use crate::upper::Upper;

/// A family's feature arcs, where each ends, and whose interface decides.
fn arcs<F: Family>() -> [(&'static str, &'static str, Side); 5] {
    let names = F::NAMES;
    [
        // Packets to be forwarded or for us, checked, and those for groups of hosts.
        (names.unicast, names.lookup, Side::Rx),
        (names.multicast, names.multicast, Side::Rx),
        // Packets for us, and those of them that control is to have.
        (names.local, names.local, Side::Rx),
        (names.punt, names.punt, Side::Rx),
        // Packets to be sent, with the link layer's header before them.
        (names.output, "interface-output", Side::Tx),
    ]
}

impl<F: Family> Ip<F> {
    /// The stages of forwarding, as a worker has them.
    fn stages(&self) -> impl Fn(Seed) -> (Input<F>, Lookup<F>, Rewrite<F>) + Clone + Send + use<F> + 'static {
        let (ingress, groups, received) = (self.ingress(), self.fib.groups.snapshot(), self.received.clone());
        let (adjacencies, sent) = (self.fib.adjacencies.snapshot(), self.fib.adjacencies.counters().clone());
        move |Seed { worker, .. }| {
            let input = Input { ingress: ingress.clone(), received: received.row(worker) };
            let lookup = Lookup::new(ingress.clone(), groups.clone(), worker);
            (input, lookup, Rewrite::new(adjacencies.clone(), sent.row(worker)))
        }
    }
    /// Adds the family's feature arcs, and the nodes that both families have. Fragments carry ports by `upper`.
    pub(super) fn nodes(&self, dataplane: &mut Dataplane, upper: MetadataKey<Upper>) -> Result<(), DataplaneError> {
        let graph = dataplane.blueprint();
        for (name, end, side) in arcs::<F>() {
            graph.feature_arc(FeatureArcSpec { name, end, side })?;
        }
        let of_local = (self.ingress(), self.fib.groups.snapshot());
        let stages = self.stages();
        let input = move |seed| InputNode(StageNode(stages(seed).0));
        graph.node(NodeSpec::around::<Input<F>, _>(input).describe(describe::<F>))?;
        let stages = self.stages();
        graph.node(NodeSpec::stage(move |seed| stages(seed).1).describe(describe::<F>))?;
        let stages = self.stages();
        let ingress = self.ingress();
        let rewrite = move |seed| RewriteNode::new(stages(seed).2, ingress.clone(), upper);
        graph.node(NodeSpec::around::<Rewrite<F>, _>(rewrite).describe(describe::<F>))?;
        let (ingress, groups, kinds) =
            (self.ingress(), self.fib.groups.snapshot(), self.published.kind_arcs.snapshot());
        let again = move |Seed { worker, .. }: Seed| LookupAgain::<F> {
            ingress: ingress.clone(),
            groups: groups.clone(),
            kinds: kinds.clone(),
            worker,
            dispositions: Dispositions::of::<F>(again::Next::arcs::<F>()),
        };
        graph.node(NodeSpec::new(F::NAMES.again, again::Next::arcs::<F>(), again).describe(describe::<F>))?;
        let ingress = self.ingress();
        let multicast = move |_| Multicast::<F> { ingress: ingress.clone() };
        graph
            .node(NodeSpec::new(F::NAMES.multicast, multicast::Next::arcs::<F>(), multicast).describe(describe::<F>))?;
        let protocols = self.published.protocols.snapshot();
        let local = move |_| Local::<F> {
            protocols: protocols.clone(),
            ingress: of_local.0.clone(),
            groups: of_local.1.clone(),
        };
        graph.node(NodeSpec::with_slow_path(local).describe(describe::<F>))?;
        graph.node(NodeSpec::new(F::NAMES.punt, PuntNext::ARCS, |_| Punt).describe(describe::<F>))?;
        Ok(())
    }
}

/// Adds the node that IPv4 alone has.
pub(super) fn ip4_nodes(ip: &Ip4, graph: &mut Blueprint) -> Result<(), DataplaneError> {
    let ingress = ip.ingress();
    let options = move |_| Ip4Options { ingress: ingress.clone() };
    graph.node(NodeSpec::new("ip4-options", options::Next::ARCS, options).describe(describe::<V4>))?;
    Ok(())
}

/// Adds the nodes that IPv6 alone has.
pub(super) fn ip6_nodes(ip: &Ip6, graph: &mut Blueprint) -> Result<(), DataplaneError> {
    let hop_by_hop = |_| Ip6HopByHop;
    graph.node(NodeSpec::new("ip6-hop-by-hop", hop_by_hop::Next::ARCS, hop_by_hop).describe(describe::<V6>))?;
    let ingress = ip.ingress();
    let (near, adjacencies) = (ip.near.reader(), ip.fib.adjacencies.snapshot());
    let link_local =
        move |_| Ip6LinkLocal { ingress: ingress.clone(), near: near.clone(), adjacencies: adjacencies.clone() };
    graph.node(NodeSpec::new("ip6-link-local", link_local::Next::ARCS, link_local).describe(describe::<V6>))?;
    Ok(())
}
