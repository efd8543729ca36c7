//! Changes of a graph that runs: additions that hold as a whole or not at all, nodes that stand for others, and nodes
//! that paths close over.

use super::arc::{ArcSpec, To};
use super::blueprint::Blueprint;
use super::error::GraphError;
use super::wiring::{NodeId, Target};

impl Blueprint {
    /// Lets `add` register nodes, feature arcs, features and stand-ins. If it fails, or if the graph would not fit
    /// together with them, nothing was registered.
    pub(crate) fn extend<T>(
        &mut self,
        add: impl FnOnce(&mut Blueprint) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        let (nodes, arcs) = (self.nodes.len(), self.arcs.len());
        let (features, places) = (self.features.clone(), self.places.clone());
        let (stand_ins, bypassed) = (self.stand_ins.clone(), self.bypassed.clone());
        let added = add(self).and_then(|added| self.check().map(|()| added));
        if added.is_err() {
            for gone in self.nodes.drain(nodes..) {
                self.ids.remove(gone.name);
            }
            self.counters.iter_mut().for_each(|worker| worker.truncate(nodes));
            self.arcs.truncate(arcs);
            self.find_beyond();
            self.early.clear();
            (self.features, self.places) = (features, places);
            (self.stand_ins, self.bypassed) = (stand_ins, bypassed);
            self.wiring.set(None);
        }
        added
    }

    /// Lets `node` stand for `of`: all arcs to `of` lead to `node` instead, except the arcs of `node` itself, so that
    /// it can stand before `of` as well as in its place. If `of` is a feature, `node` has its place on the arc. It
    /// begins bypassed: [`Blueprint::bypass`] opens it.
    pub fn stand_in(&mut self, of: NodeId, node: NodeId) -> Result<(), GraphError> {
        let (of_name, name) = (self.name(of), self.name(node));
        let is_feature = self.features.iter().flatten().any(|feature| feature.node == name);
        // An arc that ends at `of` would lead its packets back to `node`, for ever.
        let ends_there = |arc: &ArcSpec| matches!(arc.to, To::Features(name) if self.ends_at(name, of_name));
        let circles = self.arcs(node).iter().any(ends_there);
        if of == node || is_feature || circles || self.stand_ins.contains_key(&node) {
            return Err(GraphError::NoStandIn { node: name, of: of_name });
        }
        if let Some(other) = self.stand_ins.get(&of) {
            return Err(GraphError::StandInTwice { of: of_name, first: self.name(*other), second: name });
        }
        self.stand_ins.insert(of, node);
        self.bypass(node, None);
        Ok(())
    }

    fn ends_at(&self, arc: &str, end: &str) -> bool {
        let ends = |at| self.end(at).is_ok_and(|node| self.name(node) == end);
        self.arcs.iter().position(|spec| spec.name == arc).is_some_and(ends)
    }

    /// Closes all paths over a node: it is skipped on feature arcs and where it stands for another node, arcs re-wired to
    /// it lead where they were declared to, and those declared to lead to it go on by its arc `pass`, if there is one.
    pub fn bypass(&mut self, node: NodeId, pass: Option<u16>) {
        self.bypassed.insert(node, pass);
        self.wiring.set(None);
    }

    /// Takes [`Blueprint::bypass`] back.
    pub fn open(&mut self, node: NodeId) {
        self.bypassed.remove(&node);
        self.wiring.set(None);
    }

    /// The node that an arc of `from` reaches when it leads to `to`.
    pub(super) fn standing_for(&self, from: Option<NodeId>, to: NodeId) -> NodeId {
        match self.stand_ins.get(&to) {
            Some(node) if Some(*node) != from && !self.bypassed.contains_key(node) => *node,
            _ => to,
        }
    }

    /// Lets arcs declared to lead to bypassed nodes lead behind them.
    pub(super) fn close(&self, targets: &mut [Vec<Target>]) {
        for (node, pass) in &self.bypassed {
            let behind = |pass: &u16| targets[node.index()].get(usize::from(*pass)).copied();
            let Some(behind) = pass.as_ref().and_then(behind) else { continue };
            // A node that passes to itself is left as it is.
            if behind != Target::Node(*node) {
                targets.iter_mut().flatten().filter(|to| **to == Target::Node(*node)).for_each(|to| *to = behind);
            }
        }
    }
}
