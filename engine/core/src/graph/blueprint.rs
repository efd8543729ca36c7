//! The blueprint: all registrations of the rooms, checked as a whole. Every worker gets its own instance of the graph
//! from it.

use super::arc::ArcSpec;
use super::claims::Claims;
use super::counters::NodeCounters;
use super::dispatch::{DISPATCH, Graph};
use super::ends::{Discard, Foreign, Input};
use super::error::GraphError;
use super::feature::{FeatureSpec, order};
use super::node::Node;
use super::seed::Seed;
use super::wiring::{CurrentWiring, NodeId, Side};
use crate::counters::{Counter, Counters};
use crate::stage::{Body, Quarters};
use crate::trace::{Describe, Record};
use quiver_stats::{Block, Threads, Vector};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

/// A node's name, arcs and making.
pub struct NodeSpec {
    pub(super) name: &'static str,
    pub(super) arcs: Vec<ArcSpec>,
    make: Box<dyn Fn(Seed) -> Box<dyn Node>>,
    describe: Describe,
    kernel: Option<&'static str>,
    reads: Quarters,
    is_foreign: bool,
}
impl NodeSpec {
    /// A node; `make` is called once for each worker.
    pub fn new<N: Node>(name: &'static str, arcs: &'static [ArcSpec], make: impl Fn(Seed) -> N + 'static) -> NodeSpec {
        let make = Box::new(move |seed| Box::new(make(seed)) as Box<dyn Node>);
        NodeSpec {
            name,
            arcs: arcs.to_vec(),
            make,
            describe: Rc::new(|_| String::new()),
            kernel: None,
            reads: Quarters::NONE,
            is_foreign: false,
        }
    }
    /// A node that is a stage.
    pub fn stage<S: crate::Stage>(make: impl Fn(Seed) -> S + 'static) -> NodeSpec {
        NodeSpec::around::<S, _>(move |seed| crate::StageNode(make(seed)))
    }
    /// A node that is a stage with a slow path.
    pub fn with_slow_path<S: crate::SlowPath>(make: impl Fn(Seed) -> S + 'static) -> NodeSpec {
        NodeSpec::around::<S, _>(move |seed| crate::SlowPathNode::new(make(seed)))
    }
    /// A node that has a stage inside: what the stage cannot say of its lanes the node says of its rows.
    pub fn around<S: crate::Stage, N: Node>(make: impl Fn(Seed) -> N + 'static) -> NodeSpec {
        let (kernel, reads) = (Some(crate::stage::node_kernel::<S>()), <S::Body<'static> as Body>::READS);
        NodeSpec { kernel, reads, ..NodeSpec::new(S::NAME, S::ARCS, make) }
    }
    /// Says that the node's work may have effects that its maker cannot keep back: rehearsals end before it.
    #[must_use]
    pub fn foreign(self) -> NodeSpec {
        NodeSpec { is_foreign: true, ..self }
    }
    /// The node's name.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The type of the loop that is compiled for every instruction set, of a node that is a stage. The name of each
    /// level's function has it as its argument; `cargo xtask disassemble` looks for them.
    pub fn kernel(&self) -> Option<&'static str> {
        self.kernel
    }
    /// Sets the text that `show trace` prints for a packet, beside the node's name and arc.
    #[must_use]
    pub fn describe(mut self, describe: impl Fn(&Record) -> String + 'static) -> NodeSpec {
        self.describe = Rc::new(describe);
        self
    }
}

/// A node of known type, to reach its instance on a worker.
pub struct NodeHandle<N> {
    /// The node.
    pub id: NodeId,
    kind: PhantomData<fn() -> N>,
}
impl<N> Clone for NodeHandle<N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<N> Copy for NodeHandle<N> {}

/// A feature arc: where it ends, and whose interface decides.
#[derive(Clone, Copy, Debug)]
pub struct FeatureArcSpec {
    /// The arc's name.
    pub name: &'static str,
    /// Target behind the last feature: a node, or the beginning of another arc; the arc if both have the name.
    pub end: &'static str,
    /// Which interface of the packet decides.
    pub side: Side,
}

/// Place of a feature on its arc.
#[derive(Clone, Copy, Debug)]
pub struct FeaturePlace(Feature);

/// A feature: the number of its arc, and its node.
pub(crate) type Feature = (usize, NodeId);

/// The registered nodes, arcs and features, and which features are enabled where.
pub struct Blueprint {
    pub(super) nodes: Vec<NodeSpec>,
    pub(super) ids: HashMap<&'static str, NodeId>,
    pub(super) arcs: Vec<FeatureArcSpec>,
    /// The arc at whose beginning each arc ends, if it ends at one.
    pub(super) beyond: Vec<Option<usize>>,
    /// Features by arc, in the order found by [`Blueprint::check`].
    pub(super) features: Vec<Vec<FeatureSpec>>,
    /// The nodes of these features.
    pub(super) places: Vec<Vec<NodeId>>,
    /// Features whose arcs are not registered yet.
    pub(super) early: Vec<FeatureSpec>,
    /// (arc, feature's node, interface).
    pub(super) enabled: BTreeSet<(usize, NodeId, u32)>,
    /// The same by interface.
    pub(super) enabled_at: BTreeSet<(u32, Feature)>,
    /// Which packets of demultiplexers go where.
    pub(super) claims: Claims,
    /// Arcs that configuration re-wired.
    pub(super) rewired: HashMap<(NodeId, u16), NodeId>,
    /// Nodes to those that stand for them.
    pub(super) stand_ins: BTreeMap<NodeId, NodeId>,
    /// Nodes that paths close over, with the arc by which they go on.
    pub(super) bypassed: BTreeMap<NodeId, Option<u16>>,
    pub(super) counters: Vec<Vec<Arc<NodeCounters>>>,
    /// Counters of the arcs, node after node.
    arc_counters: Vector<Counter>,
    threads: Threads,
    pub(super) wiring: CurrentWiring,
}

impl Blueprint {
    /// A blueprint with the engine's own nodes: `drop`, `punt` and `interface-output`.
    pub(crate) fn new(arc_counters: Vector<Counter>, threads: Threads) -> Blueprint {
        Blueprint {
            nodes: vec![],
            ids: HashMap::new(),
            arcs: vec![],
            beyond: vec![],
            features: vec![],
            places: vec![],
            early: vec![],
            enabled: Default::default(),
            enabled_at: Default::default(),
            claims: Claims::new(),
            rewired: HashMap::new(),
            stand_ins: BTreeMap::new(),
            bypassed: BTreeMap::new(),
            counters: vec![],
            arc_counters,
            threads,
            wiring: CurrentWiring::default(),
        }
    }
    /// Registers a node whose instance control will access.
    pub fn node_of<N: Node>(&mut self, spec: NodeSpec) -> Result<NodeHandle<N>, GraphError> {
        Ok(NodeHandle { id: self.node(spec)?, kind: PhantomData })
    }
    /// Registers a node.
    pub fn node(&mut self, spec: NodeSpec) -> Result<NodeId, GraphError> {
        let id = u16::try_from(self.nodes.len()).ok().filter(|id| *id < u16::MAX).map(NodeId);
        let id = id.ok_or(GraphError::Full(spec.name))?;
        if self.ids.contains_key(spec.name) {
            return Err(GraphError::NodeTwice(spec.name));
        }
        self.ids.insert(spec.name, id);
        self.nodes.push(spec);
        for worker in 0..self.counters.len() {
            let counters = self.new_counters(id, worker);
            self.counters[worker].push(counters);
        }
        self.wiring.set(None);
        Ok(id)
    }
    /// Registers the node that stands for a driver's receive queues. Received packets leave by its first arc, onto
    /// `device-input`; the others are drop reasons.
    pub fn input(&mut self, name: &'static str, arcs: &'static [ArcSpec]) -> Result<NodeId, GraphError> {
        self.node(NodeSpec::new(name, arcs, |_| Input))
    }
    /// Registers the node in whose name dispatch drops packets; none come to it.
    pub(crate) fn dispatcher(&mut self) -> Result<NodeId, GraphError> {
        self.node(NodeSpec::new(DISPATCH, super::DispatchNext::ARCS, |_| Input))
    }
    /// Registers an end of the graph that frees packets, and counts them by the interface that received them.
    pub(crate) fn discard(&mut self, name: &'static str, drops: Counters<Counter>) -> Result<NodeId, GraphError> {
        self.node(NodeSpec::new(name, &[], move |seed| Discard(drops.row(seed.worker))))
    }
    /// Registers a feature arc.
    pub fn feature_arc(&mut self, spec: FeatureArcSpec) -> Result<(), GraphError> {
        if self.arcs.iter().any(|arc| arc.name == spec.name) {
            return Err(GraphError::ArcTwice(spec.name));
        }
        self.arcs.push(spec);
        self.find_beyond();
        self.features.push(vec![]);
        self.places.push(vec![]);
        self.wiring.set(None);
        let (its, others) = std::mem::take(&mut self.early).into_iter().partition(|early| early.arc == spec.name);
        self.early = others;
        Vec::into_iter(its).try_for_each(|early| self.feature(early))
    }
    /// Finds the arcs at which arcs end, once there are other arcs.
    pub(super) fn find_beyond(&mut self) {
        let ends_at =
            |arc: &FeatureArcSpec| self.arcs.iter().position(|other| other.name == arc.end && other.name != arc.name);
        self.beyond = self.arcs.iter().map(ends_at).collect();
    }
    /// Registers a feature on an arc, which may be registered later, up to [`Blueprint::check`].
    pub fn feature(&mut self, spec: FeatureSpec) -> Result<(), GraphError> {
        if !self.ids.contains_key(spec.node) {
            return Err(GraphError::UnknownInFeature {
                feature: spec.node,
                arc: spec.arc,
                what: "node",
                name: spec.node,
            });
        }
        let Some(at) = self.arcs.iter().position(|arc| arc.name == spec.arc) else {
            self.early.push(spec);
            return Ok(());
        };
        self.features[at].push(spec);
        self.wiring.set(None);
        match order(&self.features[at]) {
            Ok(ordered) => {
                self.places[at] = ordered.iter().map(|feature| self.ids[feature.node]).collect();
                self.features[at] = ordered;
            }
            Err(cycle) => {
                self.features[at].pop();
                return Err(cycle);
            }
        }
        Ok(())
    }
    /// Checks every name. After it, each addition is checked by itself.
    pub fn check(&mut self) -> Result<(), GraphError> {
        if let Some(FeatureSpec { arc, node, .. }) = self.early.first() {
            return Err(GraphError::UnknownInFeature { feature: node, arc, what: "arc", name: arc });
        }
        for (arc, features) in self.arcs.iter().zip(&self.features) {
            for feature in features {
                // Every feature comes before the end.
                let before = feature.before.iter().filter(|name| **name != arc.end);
                for name in before.chain(feature.after) {
                    if !features.iter().any(|f| f.node == *name) {
                        let (feature, arc) = (feature.node, arc.name);
                        return Err(GraphError::UnknownInFeature { feature, arc, what: "feature", name });
                    }
                }
            }
        }
        self.wiring().map(|_| ())
    }
    /// Gives a node a second name, by which [`Blueprint::find`] finds it: that of VPP's clients.
    ///
    /// # Errors
    /// If there is no such node, or another node has the name.
    pub fn also_known_as(&mut self, node: &str, name: &'static str) -> Result<(), GraphError> {
        let id = self.find(node)?;
        match self.ids.insert(name, id) {
            Some(other) if other != id => {
                self.ids.insert(name, other);
                Err(GraphError::NodeTwice(name))
            }
            _ => Ok(()),
        }
    }
    /// The node of a name.
    pub fn find(&self, name: &str) -> Result<NodeId, GraphError> {
        self.ids.get(name).copied().ok_or_else(|| GraphError::Unknown { what: "node", name: name.into() })
    }
    /// The name of a node.
    pub fn name(&self, id: NodeId) -> &'static str {
        self.nodes.get(id.index()).map_or("unknown", |n| n.name)
    }
    /// The arcs of a node: those that it declares, and behind them those that were added.
    pub fn arcs(&self, id: NodeId) -> &[ArcSpec] {
        self.nodes.get(id.index()).map_or(&[], |n| &n.arcs)
    }
    /// The function that formats a node's trace records.
    pub fn describer(&self, id: NodeId) -> Option<Describe> {
        self.nodes.get(id.index()).map(|n| n.describe.clone())
    }
    /// The bytes of packets that a stage reads as columns; None of a node that is no stage.
    pub fn reads(&self, id: NodeId) -> Option<Quarters> {
        let node = self.nodes.get(id.index())?;
        node.kernel.map(|_| node.reads)
    }
    /// The loop of a node that is a stage; see [`NodeSpec::kernel`].
    pub fn kernel(&self, id: NodeId) -> Option<&'static str> {
        self.nodes.get(id.index())?.kernel
    }
    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len() as u16).map(NodeId)
    }
    /// Feature arcs with their features in order, and the place of each.
    pub fn feature_arcs(&self) -> impl Iterator<Item = (&FeatureArcSpec, Vec<(&FeatureSpec, FeaturePlace)>)> {
        self.arcs.iter().zip(&self.features).enumerate().map(|(at, (arc, features))| {
            let place = |node: &NodeId| FeaturePlace((at, *node));
            (arc, features.iter().zip(&self.places[at]).map(|(feature, node)| (feature, place(node))).collect())
        })
    }
    /// The interface behind this one, or the first one, on which a feature is enabled.
    pub fn enabled_behind(&self, FeaturePlace((at, node)): FeaturePlace, last: Option<u32>) -> Option<u32> {
        self.enabled_from(at, node, last.map_or(0, |last| last.saturating_add(1))).next()
    }
    /// Whether a feature is enabled on an interface.
    pub fn is_enabled_on(&self, FeaturePlace((at, node)): FeaturePlace, interface: u32) -> bool {
        self.enabled_from(at, node, interface).next() == Some(interface)
    }
    /// Lets an arc lead to another node from now on, or (None) where it was declared to lead.
    pub fn rewire(&mut self, node: NodeId, arc: u16, to: Option<NodeId>) {
        match to {
            Some(to) => self.rewired.insert((node, arc), to),
            None => self.rewired.remove(&(node, arc)),
        };
        self.wiring.set(None);
    }
    /// A worker's instance of the graph, and the counters that it shares with control.
    pub(crate) fn instantiate(&mut self, worker: usize, home: usize) -> Result<Graph, GraphError> {
        let counters: Vec<_> = self.nodes().map(|node| self.new_counters(node, worker)).collect();
        let nodes = self.nodes.iter().map(|n| (n.make)(Seed { worker, is_rehearsal: false }));
        let nodes = nodes.zip(counters.iter().cloned()).collect();
        debug_assert_eq!(self.counters.len(), worker);
        self.counters.push(counters);
        Ok(Graph::new(nodes, Arc::new(self.wiring()?), home, self.find(DISPATCH)?))
    }
    /// An instance outside of all workers, for rehearsals. `nobody` is a number that no worker has.
    pub(crate) fn rehearsal(&mut self, nobody: usize, home: usize) -> Result<Graph, GraphError> {
        let made = |spec: &NodeSpec| match spec.is_foreign {
            true => Box::new(Foreign) as Box<dyn Node>,
            false => (spec.make)(Seed { worker: nobody, is_rehearsal: true }),
        };
        let nodes = self.nodes().zip(&self.nodes).map(|(id, spec)| (made(spec), self.new_counters(id, nobody)));
        let nodes = nodes.collect();
        Ok(Graph::new(nodes, Arc::new(self.wiring()?), home, self.find(DISPATCH)?))
    }
    fn new_counters(&self, node: NodeId, worker: usize) -> Arc<NodeCounters> {
        let (first, arcs) = (self.first_arc(node) as usize, self.arcs(node).len());
        let row = self.arc_counters.rows().get(self.threads.row(worker));
        let shown = row.and_then(|row| row.part(first, arcs));
        Arc::new(NodeCounters::new(shown.unwrap_or_else(|| Block::own(arcs))))
    }
    /// Counters of the arcs.
    pub(crate) fn arc_counters(&self) -> &Vector<Counter> {
        &self.arc_counters
    }
    /// The column of a node's first arc there.
    pub(crate) fn first_arc(&self, node: NodeId) -> u32 {
        self.nodes.iter().take(node.index()).map(|spec| spec.arcs.len() as u32).sum()
    }
    /// Columns there are.
    pub(crate) fn arc_count(&self) -> u32 {
        self.nodes.iter().map(|spec| spec.arcs.len() as u32).sum()
    }
    /// The instance of a node registered after the workers started.
    pub(crate) fn instance(&self, id: NodeId, worker: usize) -> (Box<dyn Node>, Arc<NodeCounters>) {
        ((self.nodes[id.index()].make)(Seed { worker, is_rehearsal: false }), self.counters[worker][id.index()].clone())
    }
    /// The counters of a node, a value for each worker.
    pub fn counters(&self, id: NodeId) -> impl Iterator<Item = &NodeCounters> {
        self.counters.iter().filter_map(move |worker| worker.get(id.index()).map(|c| &**c))
    }
    pub(crate) fn counters_of(&self, id: NodeId, worker: usize) -> Arc<NodeCounters> {
        self.counters[worker][id.index()].clone()
    }
}
