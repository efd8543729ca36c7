//! Which interfaces are cross-connected, and where to.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Dataplane, Domain, Paged, Publisher, Snapshot};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};
use quiver_ip::fib::rows::BUCKETS;
use quiver_ip::objects::check_paths;
use quiver_ip::room::paths;
use quiver_ip::{Family, Ip, RoutePath};
use quiver_wire::{V4, V6};

/// A family that can be cross-connected.
pub trait Connected: Family {
    /// The kind of its cross-connects.
    const KIND: &'static str;
    /// Their node, a feature of the arc in front of the lookup.
    const NODE: &'static str;
}

impl Connected for V4 {
    const KIND: &'static str = "l3-cross-connects";
    const NODE: &'static str = "l3xc-input-ip4";
}

impl Connected for V6 {
    const KIND: &'static str = "ip6-l3-cross-connects";
    const NODE: &'static str = "l3xc-input-ip6";
}

/// A cross-connect of layer 3: packets for one host that an interface receives go by these paths, without a lookup.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct L3CrossConnect<F: Connected> {
    /// The interface that receives them.
    #[key]
    pub interface: InterfaceName,
    /// The ways, as routes have them; flows are spread over several.
    pub paths: Vec<RoutePath<F>>,
}

/// The groups of paths that cross-connects hold.
pub(crate) struct CrossConnects<F: Connected> {
    by_interface: BTreeMap<InterfaceId, u32>,
    published: Publisher<Paged<u32>>,
    family: PhantomData<F>,
}

impl<F: Connected> CrossConnects<F> {
    pub fn new(domain: &Domain) -> CrossConnects<F> {
        CrossConnects {
            by_interface: BTreeMap::new(),
            published: Publisher::new(domain, Paged::default()),
            family: PhantomData,
        }
    }
    /// What workers read: groups by interface.
    pub fn groups(&self) -> Snapshot<Paged<u32>> {
        self.published.snapshot()
    }
    /// The group of an interface.
    pub fn group(&self, interface: InterfaceId) -> Option<u32> {
        self.by_interface.get(&interface).copied()
    }
    /// Gives an interface a group, or none; the one that it had.
    fn set(&mut self, interface: InterfaceId, group: Option<u32>) -> Option<u32> {
        let old = match group {
            Some(group) => self.by_interface.insert(interface, group),
            None => self.by_interface.remove(&interface),
        };
        let mut groups = self.published.current().clone();
        *groups.get_mut(interface.index()) = group.unwrap_or(0);
        self.published.publish(groups);
        old
    }
}

/// What holds of a cross-connect whatever else is configured.
pub(crate) fn check<F: Connected>(connect: &L3CrossConnect<F>) -> Result<(), ObjectError> {
    match connect.paths.len() {
        0..=BUCKETS => check_paths(&connect.paths),
        given => {
            Err(ObjectError::field("paths", format!("there are {given}")).remedy(format!("give at most {BUCKETS}")))
        }
    }
}

pub(crate) fn apply<F: Connected>(control: &Control, change: Change<'_, L3CrossConnect<F>>) -> Result<(), ObjectError> {
    let (name, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (&new.interface, Some(new)),
        Change::Delete(old) => (&old.interface, None),
    };
    let id = control.room::<Interfaces>().id_of(&name.0)?;
    let group = match wanted {
        Some(connect) => {
            let paths = paths(control, &connect.paths)?;
            Some(control.room_mut::<Ip<F>>().fib.hold(paths))
        }
        None => None,
    };
    let old = control.room_mut::<CrossConnects<F>>().set(id, group);
    old.into_iter().for_each(|old| control.room_mut::<Ip<F>>().fib.let_go(old));
    let enabled = control.room_mut::<Dataplane>().enable(F::NAMES.unicast, F::NODE, id.0, group.is_some());
    enabled.map_err(|error| ObjectError::whole(error.to_string()))
}
