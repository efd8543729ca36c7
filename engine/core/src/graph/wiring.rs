//! Where every arc leads: an immutable value that control computes and workers swap in between two turns.

use std::fmt;

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
    pub(crate) fn new(node: NodeId, arc: u16) -> Reason {
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

/// The features of an arc, by position on it and interface.
#[derive(Clone, Debug)]
pub(crate) struct FeatureTable {
    pub side: Side,
    pub end: NodeId,
    /// `next[p][i]`: where a packet of interface `i` goes that has passed `p` features; `end` where there is no entry.
    pub next: Vec<Vec<NodeId>>,
}
impl FeatureTable {
    #[inline(always)]
    pub fn next(&self, position: u16, interface: u16) -> NodeId {
        let row = self.next.get(usize::from(position));
        row.and_then(|row| row.get(usize::from(interface))).copied().unwrap_or(self.end)
    }
}

/// The whole of it.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    pub(crate) targets: Vec<Vec<Target>>,
    pub(crate) features: Vec<FeatureTable>,
    /// Nodes for which another one stands.
    pub(crate) stand_ins: Vec<(NodeId, NodeId)>,
    /// Nodes in the order in which dispatch visits them, sources first.
    pub(crate) order: Vec<NodeId>,
    /// The place of each node in `order`.
    pub(crate) rank: Vec<u16>,
}

impl Wiring {
    /// Where an arc leads for packets of an interface.
    pub fn follow(&self, node: NodeId, arc: u16, interface: u16) -> Option<NodeId> {
        Some(match *self.targets.get(node.index())?.get(usize::from(arc))? {
            Target::Node(to) | Target::End(to) => to,
            Target::Features { arc, position } => self.features.get(usize::from(arc))?.next(position, interface),
        })
    }
    /// The node that works in the place of `node`: itself, or who stands for it.
    pub(crate) fn in_place_of(&self, node: NodeId) -> NodeId {
        self.stand_ins.iter().find(|(of, _)| *of == node).map_or(node, |(_, by)| *by)
    }
    /// Orders the nodes so that, cycles apart, every arc leads to a later one; `edges` are all arcs there are.
    pub(crate) fn arrange(&mut self, edges: &[Vec<NodeId>]) {
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
        self.rank = vec![0; n];
        for (rank, id) in postorder.iter().enumerate() {
            self.rank[id.index()] = rank as u16;
        }
        self.order = postorder;
    }
}
