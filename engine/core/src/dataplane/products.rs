//! Which fused product serves which receive queue.
//!
//! There may be thousands of interfaces, and each change of one asks for a plan. So no plan looks at all of them: what
//! concerns many is counted as it changes.

use super::{Dataplane, QueueInfo};
use crate::graph::{Feature, NodeId, Seed, Side, To, Wiring};
use crate::intake::RECEIVED;
use crate::product::{Installed, Patience, ProductSpec};
use crate::stage::Hop;
use crate::tx::OUTPUT;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the plans of all receive queues depend on, whatever their interfaces are.
#[derive(Default)]
pub(super) struct Planned {
    wiring: Wiring,
    /// By product: why it serves nobody, if so.
    hindered: Vec<Option<String>>,
    asking: Asking,
}

/// Which parts of interfaces ask for products whose paths find a part.
#[derive(Default)]
struct Asking {
    /// By part: its whole, and the numbers of the products.
    parts: BTreeMap<u16, (u16, Vec<usize>)>,
    /// How many parts of a whole ask for a product.
    counts: BTreeMap<(u16, usize), u32>,
}
impl Asking {
    /// Notes what a part asks for from now on.
    fn set(&mut self, part: u16, asks: Option<(u16, Vec<usize>)>) {
        let before = match asks {
            Some(asks) => self.parts.insert(part, asks),
            None => self.parts.remove(&part),
        };
        let (whole, products) = before.unwrap_or_default();
        products.into_iter().for_each(|product| _ = take_one(&mut self.counts, (whole, product)));
        if let Some((whole, products)) = self.parts.get(&part) {
            products.iter().for_each(|product| *self.counts.entry((*whole, *product)).or_default() += 1);
        }
    }
    /// Whether some part of an interface asks for a product.
    fn has(&self, whole: u16, product: usize) -> bool {
        self.counts.contains_key(&(whole, product))
    }
}

/// One less; what is counted no more is forgotten. True if that was the last one.
fn take_one<K: Ord>(counts: &mut BTreeMap<K, u32>, key: K) -> bool {
    let left = counts.get_mut(&key).map(|count| {
        *count -= 1;
        *count
    });
    left == Some(0) && counts.remove(&key).is_some()
}

/// What an interface is for products.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// One with queues of its own.
    Port,
    /// Part of another one.
    Part,
    /// Part of this one.
    PartOf(u16),
}

/// On how many interfaces of each kind each feature is enabled.
#[derive(Default)]
pub(super) struct Tally {
    counts: BTreeMap<(Feature, Kind), u32>,
    /// Parts that nobody was asked about since they came or went.
    unasked: BTreeSet<u16>,
    /// Whether a feature was enabled on the first interface of a kind, or disabled on the last, since the last survey.
    has_turned: bool,
}
impl Tally {
    fn add(&mut self, key: (Feature, Kind)) {
        let count = self.counts.entry(key).or_default();
        *count += 1;
        self.has_turned |= *count == 1;
    }
    fn remove(&mut self, key: (Feature, Kind)) {
        self.has_turned |= take_one(&mut self.counts, key);
    }
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
        self.tally.unasked.extend(self.parts.all().into_iter().map(|(part, _)| part));
        if self.survey().is_some() {
            self.plan_queues(|_| true);
        }
    }
    /// The same after a change that concerns only what one interface receives, unless it is a part: others may send by it.
    pub fn plan_interface(&mut self, interface: u16) {
        let is_part = self.parts.contains(interface);
        if is_part {
            self.tally.unasked.insert(interface);
        }
        match self.survey() {
            Some(false) if !is_part => self.plan_queues(|queue| queue.interface == interface),
            Some(_) => self.plan_queues(|_| true),
            None => {}
        }
    }
    /// Changes what an interface is, or the features on it, and keeps count.
    pub(super) fn recount<T>(&mut self, interface: u16, change: impl FnOnce(&mut Dataplane) -> T) -> T {
        let (before, was) = (self.counted_features(interface), self.parts.whole_of(interface));
        let done = change(self);
        let after = self.counted_features(interface);
        before.difference(&after).for_each(|key| self.tally.remove(*key));
        after.difference(&before).for_each(|key| self.tally.add(*key));
        if was != self.parts.whole_of(interface) {
            self.tally.unasked.insert(interface);
        }
        done
    }
    fn counted_features(&self, interface: u16) -> BTreeSet<(Feature, Kind)> {
        let port = self.ports.contains(&interface).then_some(Kind::Port);
        let part = self.parts.whole_of(interface).into_iter().flat_map(|whole| [Kind::Part, Kind::PartOf(whole)]);
        let kinds: Vec<Kind> = port.into_iter().chain(part).collect();
        let of = |feature| kinds.iter().map(move |kind| (feature, *kind));
        self.blueprint.features_of(interface).flat_map(of).collect()
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
        for part in std::mem::take(&mut self.tally.unasked) {
            let whole = self.parts.whole_of(part);
            let asks = whole.map(|whole| (whole, self.asked_by(part)));
            self.planned.asking.set(part, asks);
        }
        let is_new = std::mem::take(&mut self.tally.has_turned)
            || !Arc::ptr_eq(&wiring.shape, &self.planned.wiring.shape)
            || self.planned.hindered.len() != self.products.len();
        self.planned.wiring = wiring;
        if is_new {
            // Features on the way out are decided by the sending interface, which a product does not know beforehand.
            let hindered = self.products.iter().map(|product| self.hindrance_of_sending(product)).collect();
            self.planned.hindered = hindered;
        }
        Some(is_new)
    }
    /// The products whose paths find this part, if it asks for them.
    fn asked_by(&self, part: u16) -> Vec<usize> {
        let asked =
            self.products.iter().enumerate().filter(|(_, product)| product.finds_part() && (product.applies)(part));
        asked.map(|(number, _)| number).collect()
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
        let applies = |number, product: &ProductSpec| match product.finds_part() {
            true => self.planned.asking.has(queue.interface, number),
            false => (product.applies)(queue.interface),
        };
        let products = self.products.iter().zip(&self.planned.hindered).enumerate();
        let applying = products.filter(|(number, (product, _))| applies(*number, product));
        let mut why = None;
        for (_, (product, hindered)) in applying {
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
        let kinds: &[Kind] = if product.sends_by_parts { &[Kind::Port, Kind::Part] } else { &[Kind::Port] };
        self.hindrance(product, &product.path, Side::Tx, kinds)
    }
    /// The same for the parts of an interface, which receive from hop `from` on.
    fn hindrance_of_parts(&self, product: &ProductSpec, from: usize, port: u16) -> Option<String> {
        let path = product.path.get(from..).unwrap_or_default();
        self.hindrance(product, path, Side::Rx, &[Kind::PartOf(port)])
    }
    /// A feature on the path's arcs that is enabled on an interface of one of these kinds, and is none of the product's.
    fn hindrance(&self, product: &ProductSpec, path: &[Hop], side: Side, kinds: &[Kind]) -> Option<String> {
        let includes = |node| product.path.iter().any(|hop| hop.is_optional && hop.node == node);
        let is_on = |feature| kinds.iter().any(|kind| self.tally.counts.contains_key(&(feature, *kind)));
        path.iter().filter_map(|hop| self.arc_of(hop)).filter(|(_, of)| *of == side).find_map(|(arc, _)| {
            let mut features = self.blueprint.features_ahead(arc).filter(|(_, node)| !includes(*node));
            let (_, node) = features.find(|feature| is_on(*feature))?;
            Some(format!("{node} is enabled on {arc}"))
        })
    }
}
