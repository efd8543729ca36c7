//! Makes a wiring from a blueprint, and updates it when features are enabled or disabled. Most changes touch only an
//! interface's rows. The shape changes when a feature is enabled on its first interface, or disabled on its last.

use super::arc::{ArcSpec, To};
use super::blueprint::{Blueprint, Feature, FeatureArcSpec};
use super::error::GraphError;
use super::wiring::{CurrentWiring, FeatureTable, NodeId, Shape, Target, Wiring};
use crate::vector::INTERFACES_MAX;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Blueprint {
    /// Enables or disables a feature on an interface. True if that changed anything.
    pub fn enable(&mut self, arc: &str, node: &str, interface: u32, on: bool) -> Result<bool, GraphError> {
        if interface >= INTERFACES_MAX {
            return Err(GraphError::Interface(interface));
        }
        let unknown = |what, name: &str| GraphError::Unknown { what, name: name.into() };
        let at = self.arcs.iter().position(|a| a.name == arc).ok_or_else(|| unknown("feature arc", arc))?;
        let place = self.features[at].iter().position(|f| f.node == node).ok_or_else(|| unknown("feature", node))?;
        Ok(self.set_enabled((at, self.places[at][place], interface), on))
    }
    /// Disables all features of an interface. True if there were any.
    pub fn disable_all(&mut self, interface: u32) -> bool {
        let keys: Vec<_> = self.features_of(interface).map(|(at, node)| (at, node, interface)).collect();
        keys.into_iter().fold(false, |changed, key| self.set_enabled(key, false) | changed)
    }
    /// The features that are enabled on an interface.
    pub(crate) fn features_of(&self, interface: u32) -> impl Iterator<Item = Feature> {
        let from = self.enabled_at.range((interface, (0, NodeId(0)))..);
        from.take_while(move |(at, _)| *at == interface).map(|(_, feature)| *feature)
    }
    fn set_enabled(&mut self, key: (usize, NodeId, u32), on: bool) -> bool {
        if self.enabled.contains(&key) == on {
            return false;
        }
        let (at, node, interface) = key;
        let before = self.is_enabled(at, node);
        match on {
            true => self.enabled.insert(key) && self.enabled_at.insert((interface, (at, node))),
            false => self.enabled.remove(&key) && self.enabled_at.remove(&(interface, (at, node))),
        };
        if let Some(mut wiring) = self.wiring.take() {
            self.place(&mut wiring, at, interface);
            let same_shape = before == self.is_enabled(at, node);
            let shape = if same_shape { Ok(wiring.shape.clone()) } else { self.shape(&wiring).map(Arc::new) };
            self.wiring.set(shape.ok().map(|shape| Wiring { shape, ..wiring }));
        }
        true
    }
    /// Whether a feature is enabled anywhere, and paths do not close over it.
    fn is_enabled(&self, at: usize, node: NodeId) -> bool {
        self.enabled_on(at, node).next().is_some()
    }
    /// The interfaces on which a feature is enabled.
    pub(super) fn enabled_on(&self, at: usize, node: NodeId) -> impl Iterator<Item = u32> {
        self.enabled_from(at, node, 0)
    }
    /// Those from a number on.
    pub(super) fn enabled_from(&self, at: usize, node: NodeId, first: u32) -> impl Iterator<Item = u32> {
        let is_open = self.is_open(node);
        let on = self.enabled.range((at, node, first)..=(at, node, u32::MAX)).map(|(.., interface)| *interface);
        on.filter(move |_| is_open)
    }
    /// Whether paths do not close over a feature's node.
    fn is_open(&self, node: NodeId) -> bool {
        !self.bypassed.contains_key(&node)
    }

    /// Where every arc leads now.
    pub fn wiring(&mut self) -> Result<Wiring, GraphError> {
        match self.wiring.get() {
            Some(wiring) => Ok(wiring),
            None => self.compute_wiring(),
        }
    }
    /// The same, as far as it was computed since the last change.
    pub(crate) fn current_wiring(&self) -> &CurrentWiring {
        &self.wiring
    }
    fn compute_wiring(&mut self) -> Result<Wiring, GraphError> {
        let mut wiring = Wiring::default();
        for (at, arc) in self.arcs.iter().enumerate() {
            let end = self.standing_for(None, self.end(at)?);
            wiring.features.push(Arc::new(FeatureTable::new(arc.side, end, self.features[at].len())));
        }
        let interfaces = self.enabled.iter().map(|(at, _, interface)| (*at, *interface));
        for (at, interface) in interfaces.collect::<BTreeSet<_>>() {
            self.place(&mut wiring, at, interface);
        }
        wiring.shape = Arc::new(self.shape(&wiring)?);
        self.wiring.set(Some(wiring.clone()));
        Ok(wiring)
    }
    /// Targets and order of all nodes.
    fn shape(&self, wiring: &Wiring) -> Result<Shape, GraphError> {
        let mut targets: Vec<Vec<Target>> = vec![];
        for (id, node) in self.nodes().zip(&self.nodes) {
            let target = |(number, arc)| match self.rewired.get(&(id, number)) {
                Some(to) if !self.bypassed.contains_key(to) => Ok(Target::Node(*to)),
                _ => self.target(id, arc, wiring),
            };
            targets.push((0..).zip(&node.arcs).map(target).collect::<Result<_, _>>()?);
        }
        self.close(&mut targets);
        let reached = |target: &Target| match *target {
            Target::Node(to) | Target::End(to) => vec![to],
            Target::Features { arc, position } => {
                let features = self.ahead(arc.into(), position.into()).map(|(_, node)| self.in_place(node));
                features.chain([wiring.features[usize::from(arc)].end]).collect()
            }
        };
        let edges: Vec<_> = targets.iter().map(|arcs| arcs.iter().flat_map(reached).collect()).collect();
        let stand_ins = self.stand_ins.keys().map(|of| (*of, self.standing_for(None, *of))).collect();
        Ok(Shape::new(targets, stand_ins, &edges))
    }
    /// The node behind the last feature, on this arc and those behind it.
    pub(super) fn end(&self, at: usize) -> Result<NodeId, GraphError> {
        let arc = &self.arcs[at];
        let wrong = |problem| GraphError::EndOfArc { arc: arc.name, end: arc.end, problem };
        let mut last = at;
        for _ in 0..self.arcs.len() {
            let Some(next) = self.beyond[last] else {
                let FeatureArcSpec { name, end, .. } = self.arcs[last];
                return self.ids.get(end).copied().ok_or(GraphError::UnknownTarget { from: name, arc: "end", to: end });
            };
            if self.arcs[next].side != arc.side {
                return Err(wrong("one follows the receiving interface, the other the sending one"));
            }
            last = next;
        }
        Err(wrong("it leads back there; let one of them end at a node"))
    }
    /// The features that may come behind `position` on an arc and those behind it: enabled on some interface at least.
    fn ahead(&self, at: usize, position: usize) -> impl Iterator<Item = Feature> {
        let arcs = std::iter::successors(Some((at, position)), |(at, _)| Some((self.beyond[*at]?, 0)));
        let features = arcs.flat_map(|(at, from)| self.places[at].iter().skip(from).map(move |node| (at, *node)));
        features.filter(|(at, node)| self.is_enabled(*at, *node))
    }
    /// The node that is at a feature's place.
    fn in_place(&self, node: NodeId) -> NodeId {
        self.standing_for(None, node)
    }
    /// Notes where packets of an interface go behind each position of an arc, and of arcs that end at it.
    fn place(&self, wiring: &mut Wiring, at: usize, interface: u32) {
        let on: Vec<Feature> = self.features_of(interface).filter(|(_, node)| self.is_open(*node)).collect();
        let mut arcs = vec![at];
        while let Some(at) = arcs.pop() {
            // From the last position to the first: behind a feature that is off packets go where they go behind the next one.
            let mut next =
                self.beyond[at].map_or(NodeId::default(), |beyond| wiring.features[beyond].row(0, interface));
            for position in (0..=self.features[at].len() as u16).rev() {
                let feature = self.places[at].get(usize::from(position)).filter(|node| on.contains(&(at, **node)));
                next = feature.map_or(next, |node| self.in_place(*node));
                if wiring.features[at].row(position, interface) != next {
                    // Copies of the wiring share the tables of all other arcs.
                    Arc::make_mut(&mut wiring.features[at]).set(position, interface, next);
                }
            }
            arcs.extend((0..self.arcs.len()).filter(|before| self.beyond[*before] == Some(at)));
        }
    }
    fn target(&self, id: NodeId, arc: &ArcSpec, wiring: &Wiring) -> Result<Target, GraphError> {
        let node = &self.nodes[id.index()];
        let unknown = |to| GraphError::UnknownTarget { from: node.name, arc: arc.name, to };
        let find = |name| self.ids.get(name).copied().ok_or_else(|| unknown(name));
        let onto = |at: usize, position: usize| {
            let table = &wiring.features[at];
            // An empty arc costs nothing: its start leads straight to its end.
            match self.ahead(at, position).next() {
                None => Target::Node(table.end),
                Some(_) => Target::Features { arc: at as u16, position: position as u16 },
            }
        };
        Ok(match arc.to {
            To::Node(name) => Target::Node(self.standing_for(Some(id), find(name)?)),
            // Packets that left by a port are no longer rows of a frame, so the target of `Out` is never followed.
            To::Drop | To::Out => Target::End(find("drop")?),
            To::Done => Target::End(find("done")?),
            To::Punt => Target::End(find("punt")?),
            To::Features(name) => {
                let at = self.arcs.iter().position(|a| a.name == name).ok_or_else(|| unknown(name))?;
                onto(at, 0)
            }
            To::NextFeature => {
                // Who stands for a feature goes on from its place.
                let place =
                    self.stand_ins.iter().find(|(_, by)| **by == id).map_or(node.name, |(of, _)| self.name(*of));
                let on: Vec<_> = (0..self.arcs.len())
                    .filter_map(|at| Some((at, self.features[at].iter().position(|f| f.node == place)?)))
                    .collect();
                let [(at, place)] = on[..] else {
                    return Err(GraphError::FeatureOfNone { node: node.name, count: on.len() });
                };
                onto(at, place + 1)
            }
        })
    }
}
