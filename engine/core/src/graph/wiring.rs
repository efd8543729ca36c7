//! Where every arc leads: an immutable value that control computes and workers swap in between two turns.

use quiver_table::Paged;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A node of the graph; the same number on every worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub(crate) u16);
impl NodeId {
    /// The node's number.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// Why a packet was dropped or punted: the arc it took.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reason(pub(crate) u32);
impl Reason {
    /// The reason that an arc of a node is.
    pub fn new(node: NodeId, arc: u16) -> Reason {
        Reason(u32::from(node.0) << 16 | u32::from(arc))
    }
    /// The node that decided.
    pub fn node(self) -> NodeId {
        NodeId((self.0 >> 16) as u16)
    }
    /// The number of the arc.
    pub fn arc(self) -> usize {
        (self.0 & 0xffff) as usize
    }
}
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} arc {}", self.node().0, self.arc())
    }
}

/// Which interface of a packet decides the features that it meets on an arc.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The one that received it.
    Rx,
    /// The one that is to send it.
    Tx,
}

/// An arc as dispatch follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// All packets go to one node.
    Node(NodeId),
    /// The same, and the reason is written beside the packet.
    End(NodeId),
    /// The interface decides: features are enabled somewhere on this arc.
    Features { arc: u16, position: u16 },
}

/// Rows of a page of [`FeatureTable`]: of an arc with 15 features those of 64 interfaces.
const NEXT_PAGE: usize = 1024;

/// The features of an arc, by interface and position on it.
#[derive(Clone, Debug)]
pub(crate) struct FeatureTable {
    pub side: Side,
    pub end: NodeId,
    /// Where packets go that have passed so many features, by interface and that number; [`FeatureTable::NONE`] to `end`. An
    /// interface's rows lie side by side, so that a change of its features copies one page.
    next: Paged<NodeId, NEXT_PAGE>,
    /// Bits of a row's number that are the position's.
    bits: u32,
}
impl FeatureTable {
    /// No feature further on is enabled on the interface: a row that was never set.
    pub const NONE: NodeId = NodeId(u16::MAX);

    /// A table without enabled features, for an arc of so many.
    pub fn new(side: Side, end: NodeId, features: usize) -> FeatureTable {
        FeatureTable { side, end, next: Paged::default(), bits: (features + 1).next_power_of_two().trailing_zeros() }
    }
    #[inline(always)]
    pub fn next(&self, position: u16, interface: u32) -> NodeId {
        Some(self.row(position, interface)).filter(|next| *next != FeatureTable::NONE).unwrap_or(self.end)
    }
    /// A row as it was set.
    #[inline(always)]
    pub fn row(&self, position: u16, interface: u32) -> NodeId {
        self.next.get(self.number(position, interface)).copied().unwrap_or(FeatureTable::NONE)
    }
    pub fn set(&mut self, position: u16, interface: u32, next: NodeId) {
        *self.next.get_mut(self.number(position, interface)) = next;
    }
    #[inline(always)]
    fn number(&self, position: u16, interface: u32) -> usize {
        (interface as usize) << self.bits | usize::from(position)
    }
}
impl Default for NodeId {
    /// No node.
    fn default() -> NodeId {
        FeatureTable::NONE
    }
}

/// The part of a wiring that changes with nodes, arcs, and features that are enabled somewhere or nowhere.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    pub targets: Vec<Vec<Target>>,
    /// Nodes for which another one stands.
    pub stand_ins: Vec<(NodeId, NodeId)>,
    /// Nodes in the order in which dispatch visits them, sources first.
    pub order: Vec<NodeId>,
    /// The place of each node in `order`.
    pub rank: Vec<u16>,
}

/// The whole wiring. A copy is cheap, and shares the unchanged parts.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    pub(crate) shape: Arc<Shape>,
    pub(crate) features: Vec<Arc<FeatureTable>>,
}

/// The wiring as it was computed last, kept in step with the features that are enabled; None when it is to be computed anew. Shared
/// by the blueprint and the post, which copies it when workers are to have it.
#[derive(Clone, Default)]
pub(crate) struct CurrentWiring(Arc<Mutex<Option<Wiring>>>);

impl CurrentWiring {
    pub fn set(&self, wiring: Option<Wiring>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = wiring;
    }
    pub fn take(&self) -> Option<Wiring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
    pub fn get(&self) -> Option<Wiring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Whether there is one.
    pub fn is_computed(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Wiring {
    /// Where an arc leads for packets of an interface.
    pub fn follow(&self, node: NodeId, arc: u16, interface: u32) -> Option<NodeId> {
        Some(match *self.shape.targets.get(node.index())?.get(usize::from(arc))? {
            Target::Node(to) | Target::End(to) => to,
            Target::Features { arc, position } => self.features.get(usize::from(arc))?.next(position, interface),
        })
    }
    /// The node that works in the place of `node`: itself, or its stand-in.
    pub(crate) fn in_place_of(&self, node: NodeId) -> NodeId {
        self.shape.stand_ins.iter().find(|(of, _)| *of == node).map_or(node, |(_, by)| *by)
    }
}

impl Shape {
    /// Orders the nodes so that, cycles apart, every arc leads to a later one; `edges` are all arcs there are.
    pub(crate) fn new(targets: Vec<Vec<Target>>, stand_ins: Vec<(NodeId, NodeId)>, edges: &[Vec<NodeId>]) -> Shape {
        // Reverse postorder of a depth-first walk, without recursion since chains may be long.
        let n = edges.len();
        let (mut state, mut postorder) = (vec![false; n], Vec::with_capacity(n));
        let has_source = {
            let mut has = vec![false; n];
            edges.iter().flatten().for_each(|to| has[to.index()] = true);
            has
        };
        let roots = (0..n).filter(|i| !has_source[*i]).chain(0..n);
        for root in roots {
            if std::mem::replace(&mut state[root], true) {
                continue;
            }
            let mut stack = vec![(root, 0)];
            while let Some((at, child)) = stack.pop() {
                match edges[at].get(child) {
                    None => postorder.push(NodeId(at as u16)),
                    Some(to) => {
                        stack.push((at, child + 1));
                        if !std::mem::replace(&mut state[to.index()], true) {
                            stack.push((to.index(), 0));
                        }
                    }
                }
            }
        }
        postorder.reverse();
        let mut rank = vec![0; n];
        for (place, id) in postorder.iter().enumerate() {
            rank[id.index()] = place as u16;
        }
        Shape { targets, stand_ins, order: postorder, rank }
    }
}
