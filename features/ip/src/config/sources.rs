//! Sources of routes: who made a route, and whose route counts where several have one for a prefix. Clients may add sources of
//! their own, better or worse than what is configured, and make routes as these.

use std::collections::BTreeMap;

use quiver_compat::{Refusal, Retval};
use quiver_control::object::{Field, ObjectRef, Place, Problems, Scalar};
use quiver_control::serde_json::Value;
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_wire::{Prefix, V4, V6};

use crate::config::error::refused;
use crate::config::objects::{RoutePath, TableNumber, check_paths};
use crate::config::recursion;
use crate::config::room::Ip;
use crate::config::routes::{memory_of, paths};
use crate::family::Family;
use crate::fib::Source;

/// FIB source that a client has added.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "route-sources")]
pub struct RouteSource {
    /// Name of the source, such as bgp.
    #[key]
    pub name: String,
    /// Id of the source, 32 to 254.
    #[fixed]
    #[default(0)]
    pub id: u8,
    /// Priority: of several routes for one prefix, that of the lowest value is used. Interfaces have 3, configured
    /// routes 128, neighbors 208.
    #[fixed]
    #[default(144)]
    pub priority: u8,
}

/// The name of a source in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceName(pub String);

impl std::fmt::Display for SourceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Field for SourceName {
    fn read(value: &Value, problems: &mut Problems) -> Option<Self> {
        <String as Field>::read(value, problems).map(SourceName)
    }
    fn write(&self) -> Value {
        Scalar::to_value(&self.0)
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        found(at, ObjectRef::new(RouteSource::KIND, self.0.clone()));
    }
    fn expected() -> String {
        "the name of a source of routes".into()
    }
    fn schema() -> Value {
        <String as Scalar>::schema()
    }
}

/// Route of a client's FIB source, beside routes of other sources for the same prefix.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.source_routes)]
pub struct SourceRoute<F: Family> {
    /// FIB source of the route.
    #[key]
    pub source: SourceName,
    /// Id of the route's table.
    #[key]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// Destination prefix of the route.
    #[key]
    pub prefix: Prefix<F>,
    /// Paths of the route. Flows are balanced over them.
    pub paths: Vec<RoutePath<F>>,
}

/// Numbers of clients' sources; those below are ours, as VPP has them.
const FIRST: u8 = 32;
const LAST: u8 = 254;

/// The sources that clients have added, by their names.
#[derive(Default)]
struct Clients(BTreeMap<String, Source>);

pub(super) fn register(control: &Control) {
    control.insert_room(Clients::default());
    control.objects().add(Kind::new(apply).check(check));
    register_family::<V4>(control);
    register_family::<V6>(control);
}

fn register_family<F: Family>(control: &Control) {
    let kind = Kind::new(apply_route::<F>).check(|route: &SourceRoute<F>| check_paths(&route.paths));
    control.objects().add(kind.memory(|route| memory_of(route.prefix, &route.paths)));
}

fn check(source: &RouteSource) -> Result<(), ObjectError> {
    if Source::OURS.iter().any(|ours| ours.to_string() == source.name) {
        return Err(
            ObjectError::field("name", format!("{} is a built-in source", source.name)).remedy("choose another name")
        );
    }
    if !(FIRST..=LAST).contains(&source.id) {
        return Err(ObjectError::field("id", format!("{} is not a number of clients' sources", source.id))
            .remedy(format!("choose one from {FIRST} to {LAST}")));
    }
    if source.name.is_empty() || source.name.len() > 63 {
        return Err(ObjectError::field("name", "it has 1 to 63 bytes").remedy("choose another one"));
    }
    Ok(())
}

fn apply(control: &Control, change: Change<'_, RouteSource>) -> Result<(), ObjectError> {
    let mut clients = control.room_mut::<Clients>();
    match change {
        Change::Create(new) | Change::Update { new, .. } => {
            let taken = clients.0.iter().find(|(name, other)| other.number() == new.id && **name != new.name);
            if let Some((other, _)) = taken {
                return Err(ObjectError::field("id", format!("{other} has the number {}", new.id))
                    .remedy("choose another number"));
            }
            clients.0.insert(new.name.clone(), Source::Client { priority: new.priority, id: new.id });
        }
        Change::Delete(old) => drop(clients.0.remove(&old.name)),
    }
    Ok(())
}

fn apply_route<F: Family>(control: &Control, change: Change<'_, SourceRoute<F>>) -> Result<(), ObjectError> {
    let (route, add) = match change {
        Change::Create(route) | Change::Update { new: route, .. } => (route, true),
        Change::Delete(route) => (route, false),
    };
    let Some(source) = control.room::<Clients>().0.get(&route.source.0).copied() else {
        return Err(ObjectError::field("source", format!("there is no source {}", route.source))
            .remedy("add it to route-sources"));
    };
    match add {
        true => {
            let paths = paths(control, &route.paths)?;
            recursion::note(control, (route, "paths"), (route.table.into(), route.prefix), &paths);
            let mut ip = control.room_mut::<Ip<F>>();
            ip.fib.insert(route.table.into(), route.prefix, source, paths).map_err(refused)
        }
        false => {
            control.room_mut::<Ip<F>>().fib.remove(route.table.into(), route.prefix, source);
            Ok(())
        }
    }
}

/// All sources: ours, and clients'.
pub(crate) fn all(control: &Control) -> Vec<(String, Source)> {
    let ours = Source::OURS.iter().map(|source| (source.to_string(), *source));
    let clients = &control.room::<Clients>().0;
    ours.chain(clients.iter().map(|(name, source)| (name.clone(), *source))).collect()
}

/// Adds a source, and gives it a number.
pub(crate) fn add_source(control: &Control, name: String, priority: u8) -> Result<u8, Refusal> {
    let known = control.room::<Clients>().0.get(&name).copied();
    match known {
        Some(known) if known.priority() == priority => return Ok(known.number()),
        Some(known) => {
            let what = format!("src.priority: {name} has {}; delete it with its routes first", known.priority());
            return Err(Refusal::new(Retval::INVALID_VALUE, what));
        }
        None => {}
    }
    let free = {
        let clients = control.room::<Clients>();
        (FIRST..=LAST).find(|id| clients.0.values().all(|other| other.number() != *id))
    };
    let id = free.ok_or_else(|| Refusal::new(Retval::LIMIT_EXCEEDED, "src.id: all numbers of sources are taken"))?;
    control.put(RouteSource { name, id, priority })?;
    Ok(id)
}

/// The name of the client's source that has a number.
pub(crate) fn of_number(control: &Control, number: u8) -> Option<SourceName> {
    let clients = control.room::<Clients>();
    let found = clients.0.iter().find(|(_, source)| source.number() == number);
    found.map(|(name, _)| SourceName(name.clone()))
}
