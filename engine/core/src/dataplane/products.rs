//! Which fused product serves which receive queue.

use super::{Dataplane, QueueInfo};
use crate::graph::{NodeId, Seed, Side, To, Wiring};
use crate::intake::RECEIVED;
use crate::product::{Installed, Patience, ProductSpec};
use crate::stage::Hop;
use crate::tx::OUTPUT;
use std::sync::Arc;

/// What the plans of all receive queues depend on, whatever their interfaces are.
#[derive(Default)]
pub(super) struct Planned {
    wiring: Wiring,
    /// By product: why it serves nobody, if so.
    hindered: Vec<Option<String>>,
}

/// A product, and the nodes and arcs that it stands for on a queue.
type Plan<'p> = (&'p ProductSpec, Vec<(NodeId, u16)>);

/// An interface on which no feature is enabled.
const NOBODY: u16 = u16::MAX;

impl Dataplane {
    /// Offers a product; the first one that applies and whose path is the configured one serves a queue.
    pub fn product(&mut self, product: ProductSpec) {
        self.products.push(product);
    }
    /// The products on offer.
    pub fn products(&self) -> &[ProductSpec] {
        &self.products
    }
    /// Switches fused products on or off.
    pub fn set_fusion(&mut self, on: bool) {
        self.fusion = on;
        self.plan();
    }
    /// Whether fused products are used.
    pub fn fusion(&self) -> bool {
        self.fusion
    }
    /// Decides for each receive queue which product serves it. Called by rooms after a change that a product's
    /// `applies` looks at.
    pub fn plan(&mut self) {
        if self.survey().is_some() {
            self.plan_queues(|_| true);
        }
    }
    /// The same after a change that concerns only what one interface receives, unless it is a part: others may send by it.
    pub fn plan_interface(&mut self, interface: u16) {
        if self.parts.contains(interface) {
            return self.plan();
        }
        match self.survey() {
            Some(false) => self.plan_queues(|queue| queue.interface == interface),
            Some(true) => self.plan_queues(|_| true),
            None => {}
        }
    }
    /// Notes what all plans depend on. Whether that is something new; None if the graph does not fit together.
    fn survey(&mut self) -> Option<bool> {
        let wiring = match self.blueprint.wiring() {
            Ok(wiring) => wiring,
            Err(error) => {
                tracing::error!("products are left as they are: {error}");
                return None;
            }
        };
        // Features on the way out are decided by the sending interface, which a product does not know beforehand.
        let hindered: Vec<_> = self.products.iter().map(|product| self.hindrance_of_sending(product)).collect();
        let new = hindered != self.planned.hindered || !Arc::ptr_eq(&wiring.shape, &self.planned.wiring.shape);
        self.planned = Planned { wiring, hindered };
        Some(new)
    }
    fn plan_queues(&mut self, wanted: impl Fn(&QueueInfo) -> bool) {
        let mut queues = std::mem::take(&mut self.queues);
        for queue in queues.iter_mut().filter(|queue| wanted(queue)) {
            let planned = self.plan_for(queue);
            let path = planned.as_ref().map_or(vec![], |(_, path)| path.clone());
            let same = planned.as_ref().map(|(product, _)| product.name) == queue.product.as_ref().copied();
            if same && path == queue.path {
                continue;
            }
            queue.path = path;
            let installed = planned.as_ref().ok().map(|(product, path)| Installed {
                product: product.make(Seed { worker: queue.worker, is_rehearsal: false }),
                carried: queue.carried.clone(),
                patience: Patience::default(),
                path: path.iter().map(|(id, arc)| (*id, *arc, self.blueprint.counters_of(*id, queue.worker))).collect(),
            });
            queue.product = planned.map(|(product, _)| product.name);
            let (id, attic) = (queue.id, self.attic.clone());
            self.post(queue.worker, move |w| attic.store(w.install(id, installed)));
        }
        self.queues = queues;
    }
    /// The first product that applies and has the configured path, or why the first that applies has not.
    fn plan_for(&self, queue: &QueueInfo) -> Result<Plan<'_>, String> {
        if !self.fusion {
            return Err("fusion is off".into());
        }
        let parts = self.parts.of(queue.interface);
        let applying = self.products.iter().zip(&self.planned.hindered).filter(|(product, _)| {
            match product.path.iter().any(|hop| hop.finds_part) {
                true => parts.iter().any(|part| (product.applies)(*part)),
                false => (product.applies)(queue.interface),
            }
        });
        let mut why = None;
        for (product, hindered) in applying {
            let fits = match hindered {
                Some(hindrance) => Err(hindrance.clone()),
                None => self.follow(product, queue),
            };
            match fits {
                Ok(path) => return Ok((product, path)),
                Err(error) => _ = why.get_or_insert(error),
            }
        }
        Err(why.unwrap_or_else(|| "no product has the configured path".into()))
    }
    /// Follows the graph along a product's path.
    fn follow(&self, product: &ProductSpec, queue: &QueueInfo) -> Result<Vec<(NodeId, u16)>, String> {
        let wiring = &self.planned.wiring;
        let mut at = wiring.follow(queue.input, RECEIVED, queue.interface).ok_or("the input leads nowhere")?;
        let (mut path, mut rx) = (vec![], queue.interface);
        for hop in &product.path {
            let (node, found) = (hop.node, self.blueprint.name(at));
            let here = found == node;
            if !here && !hop.is_optional {
                return Err(format!("{} has {node} where the graph has {found}", product.name));
            }
            let id = self.blueprint.find(node).map_err(|error| error.to_string())?;
            if wiring.in_place_of(id) != id {
                return Err(format!("another node stands for {node}"));
            }
            path.push((id, hop.arc));
            if hop.finds_part {
                rx = NOBODY;
                if let Some(hindrance) = self.hindrance_of_parts(product, path.len() - 1, queue.interface) {
                    return Err(hindrance);
                }
            }
            let sends = matches!(self.arc_of(hop), Some((_, Side::Tx)));
            if here {
                let rx = if sends { NOBODY } else { rx };
                at = wiring.follow(at, hop.arc, rx).ok_or_else(|| format!("{node} has no arc {}", hop.arc))?;
            }
        }
        if at != self.output {
            return Err(format!("{} ends at {OUTPUT}, the graph at {}", product.name, self.blueprint.name(at)));
        }
        path.push((at, u16::MAX));
        Ok(path)
    }
    /// The feature arc onto which a hop leads, and whose interface decides there.
    fn arc_of(&self, hop: &Hop) -> Option<(&'static str, Side)> {
        let id = self.blueprint.find(hop.node).ok()?;
        match self.blueprint.arcs(id).get(usize::from(hop.arc))?.to {
            To::Features(arc) => Some((arc, self.blueprint.side(arc)?)),
            _ => None,
        }
    }
    /// A product sends by ports, some also by parts: of interfaces that are neither, features are met by the nodes.
    fn hindrance_of_sending(&self, product: &ProductSpec) -> Option<String> {
        let sends = |interface: &u16| {
            self.ports.contains(interface) || product.sends_by_parts && self.parts.contains(*interface)
        };
        self.hindrance(product, &product.path, Side::Tx, sends)
    }
    /// The same for the parts of an interface, which receive from hop `from` on.
    fn hindrance_of_parts(&self, product: &ProductSpec, from: usize, port: u16) -> Option<String> {
        let path = product.path.get(from..).unwrap_or_default();
        self.hindrance(product, path, Side::Rx, |interface| self.parts.are_of(port, *interface))
    }
    fn hindrance(
        &self,
        product: &ProductSpec,
        path: &[Hop],
        side: Side,
        concerned: impl Fn(&u16) -> bool,
    ) -> Option<String> {
        let includes = |node| product.path.iter().any(|hop| hop.is_optional && hop.node == node);
        path.iter().filter_map(|hop| self.arc_of(hop)).filter(|(_, of)| *of == side).find_map(|(arc, _)| {
            let mut features = self.blueprint.features_ahead(arc).filter(|(node, _)| !includes(*node));
            let (node, _) = features.find_map(|(node, mut on)| Some((node, on.find(|on| concerned(on))?)))?;
            Some(format!("{node} is enabled on {arc}"))
        })
    }
}
