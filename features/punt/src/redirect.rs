//! Where punted packets go, by the interface that received them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use quiver_control::object::{Field, ObjectRef, Place, Problems};
use quiver_control::serde_json::Value;
use quiver_control::{Change, Control, Object, ObjectError, behind, one_by_one};
use quiver_engine::{Dataplane, Domain, Paged, Publisher, Snapshot};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces, LOCAL};
use quiver_ip::fib::rows::BUCKETS;
use quiver_ip::objects::check_paths;
use quiver_ip::routes::paths;
use quiver_ip::{Ip, RoutePath};

use crate::family::Punted;

/// Interfaces whose packets a redirect applies to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receiver {
    /// All interfaces without a redirect of their own.
    All,
    /// One interface.
    Interface(InterfaceName),
}

/// Keyword for all interfaces.
pub(crate) const ALL: &str = "all";

impl Receiver {
    /// Its number; that of [`LOCAL`], which receives nothing, stands for all.
    fn id(&self, control: &Control) -> Result<InterfaceId, ObjectError> {
        match self {
            Receiver::All => Ok(LOCAL),
            Receiver::Interface(name) => control.room::<Interfaces>().id_of(&name.0),
        }
    }
}
impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Receiver::All => f.write_str(ALL),
            Receiver::Interface(name) => name.fmt(f),
        }
    }
}
impl Field for Receiver {
    fn read(value: &Value, problems: &mut Problems) -> Option<Receiver> {
        match value.as_str() {
            Some(ALL) => Some(Receiver::All),
            _ => <InterfaceName as Field>::read(value, problems).map(Receiver::Interface),
        }
    }
    fn write(&self) -> Value {
        Value::String(self.to_string())
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        if let Receiver::Interface(name) = self {
            name.references(at, found);
        }
    }
    fn expected() -> String {
        "the name of an interface, or all".into()
    }
    fn schema() -> Value {
        <InterfaceName as Field>::schema()
    }
}

/// Punt redirect: forwards punted packets of an interface to another host.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::REDIRECTS)]
pub struct PuntRedirect<F: Punted> {
    /// Interface that received the packets, or `all` for interfaces without a redirect of their own.
    #[key]
    pub interface: Receiver,
    /// Paths as in `routes`. Flows are balanced over them. Without paths, packets are dropped.
    pub paths: Vec<RoutePath<F>>,
}

/// The groups of paths that redirects hold, by interface; that of [`LOCAL`] is for all others.
pub(crate) struct Redirects<F: Punted> {
    held: BTreeMap<InterfaceId, u32>,
    groups: Publisher<Paged<Option<u32>>>,
    family: PhantomData<F>,
}

impl<F: Punted> Redirects<F> {
    pub fn new(domain: &Domain) -> Redirects<F> {
        Redirects { held: BTreeMap::new(), groups: Publisher::new(domain, Paged::default()), family: PhantomData }
    }
    /// Groups by interface that workers read, where there is a redirect.
    pub fn groups(&self) -> Snapshot<Paged<Option<u32>>> {
        self.groups.snapshot()
    }
    /// The interfaces with redirects and their groups, one by one.
    pub fn walk(control: &Control) -> impl Iterator<Item = (InterfaceId, u32)> + use<F> {
        let control = control.clone();
        one_by_one(move |last| {
            behind(&control.room::<Redirects<F>>().held, last).map(|(id, group)| (*id, (*id, *group)))
        })
    }
    fn set(&mut self, interface: InterfaceId, group: Option<u32>) -> Option<u32> {
        let old = match group {
            Some(group) => self.held.insert(interface, group),
            None => self.held.remove(&interface),
        };
        let mut groups = self.groups.current().clone();
        *groups.get_mut(interface.index()) = group;
        self.groups.publish(groups);
        old
    }
    /// The receiver whose redirect is an interface's; [`LOCAL`] stands for all.
    pub fn receiver(&self, interface: InterfaceId) -> Option<InterfaceId> {
        [interface, LOCAL].into_iter().find(|receiver| self.held.contains_key(receiver))
    }
    fn is_for(&self, interface: InterfaceId) -> bool {
        self.receiver(interface).is_some()
    }
}

/// Checks a redirect on its own, regardless of other objects.
pub(crate) fn check<F: Punted>(redirect: &PuntRedirect<F>) -> Result<(), ObjectError> {
    match redirect.paths.len() {
        0 => Ok(()),
        1..=BUCKETS => check_paths(&redirect.paths),
        given => {
            Err(ObjectError::field("paths", format!("there are {given}")).remedy(format!("give at most {BUCKETS}")))
        }
    }
}

pub(crate) fn apply<F: Punted>(control: &Control, change: Change<'_, PuntRedirect<F>>) -> Result<(), ObjectError> {
    let (receiver, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (&new.interface, Some(new)),
        Change::Delete(old) => (&old.interface, None),
    };
    let id = receiver.id(control)?;
    let group = match wanted {
        Some(redirect) => {
            let paths = paths(control, &redirect.paths)?;
            // Of no paths nothing comes: group 0 stands for that, too.
            Some(if paths.is_empty() { 0 } else { control.room_mut::<Ip<F>>().fib.hold(paths) })
        }
        None => None,
    };
    let old = control.room_mut::<Redirects<F>>().set(id, group);
    old.into_iter().filter(|old| *old != 0).for_each(|old| control.room_mut::<Ip<F>>().fib.let_go(old));
    let concerned: Vec<InterfaceId> = match id {
        LOCAL => control.room::<Interfaces>().iter().map(|interface| interface.id).collect(),
        id => vec![id],
    };
    concerned.into_iter().try_for_each(|id| enable::<F>(control, id))
}

/// Has punted packets of an interface meet the node where there is a redirect for them.
pub(crate) fn enable<F: Punted>(control: &Control, id: InterfaceId) -> Result<(), ObjectError> {
    let on = control.room::<Redirects<F>>().is_for(id);
    let enabled = control.room_mut::<Dataplane>().enable(F::NAMES.punt, F::REDIRECT, id.0, on);
    enabled.map_err(|error| ObjectError::whole(error.to_string()))
}
