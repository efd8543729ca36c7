//! Which fused product serves which receive queue.

use super::{Dataplane, QueueInfo};
use crate::graph::{NodeId, Seed, To, Wiring};
use crate::intake::RECEIVED;
use crate::product::{Installed, ProductSpec};
use crate::tx::OUTPUT;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the plans of all receive queues depend on, whatever their interfaces are.
#[derive(Default)]
pub(super) struct Planned {
    wiring: Wiring,
    /// Feature arcs that products do not take, since features are enabled for packets that some port is to send.
    avoided: BTreeSet<&'static str>,
}

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
    /// The same after a change that concerns only what one interface receives.
    pub fn plan_interface(&mut self, interface: u16) {
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
        // Features on the way out are decided by the sending interface, which a product does not know beforehand. It
        // sends by ports only: features of interfaces without one are met by the nodes.
        let arcs = self.products.iter().flat_map(|product| product.path.iter());
        let arcs = arcs.filter_map(|(node, arc)| {
            let id = self.blueprint.find(node).ok()?;
            match self.blueprint.arcs(id).get(usize::from(*arc))?.to {
                To::Features(name) => Some(name),
                _ => None,
            }
        });
        let arcs: BTreeSet<&'static str> = arcs.collect();
        let on_port = |arc: &&str| self.ports.iter().any(|port| self.blueprint.meets_features(arc, *port));
        let avoided = arcs.into_iter().filter(on_port).collect();
        let new = avoided != self.planned.avoided || !Arc::ptr_eq(&wiring.shape, &self.planned.wiring.shape);
        self.planned = Planned { wiring, avoided };
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
                product: product.make(Seed { worker: queue.worker }),
                resting: 0,
                path: path.iter().map(|(id, arc)| (*id, *arc, self.blueprint.counters_of(*id, queue.worker))).collect(),
            });
            queue.product = planned.map(|(product, _)| product.name);
            let (id, attic) = (queue.id, self.attic.clone());
            self.post(queue.worker, move |w| attic.store(w.install(id, installed)));
        }
        self.queues = queues;
    }
    #[allow(clippy::type_complexity)]
    fn plan_for(&self, queue: &QueueInfo) -> Result<(&ProductSpec, Vec<(NodeId, u16)>), String> {
        if !self.fusion {
            return Err("fusion is off".into());
        }
        let Planned { wiring, avoided } = &self.planned;
        let entry = wiring.follow(queue.input, RECEIVED, queue.interface);
        let product = self.products.iter().find(|p| (p.applies)(queue.interface));
        let product = product.ok_or("no product has the configured path")?;
        let mut at = entry.ok_or("the input leads nowhere")?;
        let mut path = vec![];
        for (name, arc) in &product.path {
            let found = self.blueprint.name(at);
            if found != *name {
                return Err(format!("{} has {name} where the graph has {found}", product.name));
            }
            path.push((at, *arc));
            let spec = self.blueprint.arcs(at).get(usize::from(*arc));
            if let Some(To::Features(arc)) = spec.map(|s| s.to)
                && avoided.contains(arc)
            {
                return Err(format!("features are enabled on {arc}"));
            }
            at = wiring.follow(at, *arc, queue.interface).ok_or_else(|| format!("{name} has no arc {arc}"))?;
        }
        if at != self.output {
            return Err(format!("{} ends at {OUTPUT}, the graph at {}", product.name, self.blueprint.name(at)));
        }
        path.push((at, u16::MAX));
        Ok((product, path))
    }
}
