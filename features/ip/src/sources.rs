//! Sources of routes: who made a route, and whose route counts where several have one for a prefix. Clients may add sources of
//! their own, better or worse than what is configured, and make routes as these.

use std::collections::BTreeMap;

use quiver_compat::api::Adding;
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::cli::{Command, Reply, Table};
use quiver_control::object::{Field, ObjectRef, Place, Problems, Scalar};
use quiver_control::serde_json::Value;
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_wire::{Prefix, V4, V6};

use crate::family::Family;
use crate::fib::Source;
use crate::objects::{RoutePath, TableNumber, check_paths};
use crate::recursion;
use crate::room::{Ip, paths, refused};

/// A source of routes that a client has added.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "route-sources")]
pub struct RouteSource {
    /// What it is called, such as bgp.
    #[key]
    pub name: String,
    /// Its number: 32 to 254.
    #[fixed]
    #[default(0)]
    pub id: u8,
    /// Of several routes for a prefix, that of the source with the least priority counts. Interfaces' have 3, configured ones
    /// 128, neighbours' 208.
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

/// A route that a source of a client's has made, beside routes that others have for its prefix.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.source_routes)]
pub struct SourceRoute<F: Family> {
    /// Who made it.
    #[key]
    pub source: SourceName,
    /// The table that it is in.
    #[key]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// The destinations.
    #[key]
    pub prefix: Prefix<F>,
    /// The ways; flows are spread over several.
    pub paths: Vec<RoutePath<F>>,
}

/// Numbers of clients' sources; those below are ours, as VPP has them.
const FIRST: u8 = 32;
const LAST: u8 = 254;

/// The sources that clients have added, by their names.
#[derive(Default)]
struct Clients(BTreeMap<String, Source>);

pub(crate) fn register(control: &Control) {
    control.insert_room(Clients::default());
    control.objects().add(Kind::new(apply).check(check));
    let show = Command::new("show fib source", "Show who may make routes, and whose count more.", |control, _| {
        let mut columns = Table::new(["Name", "Number", "Priority"]);
        for (name, source) in all(control) {
            columns.row([name.into(), source.number().into(), source.priority().into()]);
        }
        Ok(columns.into())
    });
    control.commands().add(show);
    let add = "fib source add <name:text> priority <priority:u8>";
    let add = Command::new(add, "Add a source of routes.", |control, given| {
        add_source(control, given.get("name")?, given.get("priority")?)
            .map_err(|error| quiver_control::cli::CommandError::new(error.to_string()).at(given.place("name")))?;
        Ok(Reply::done())
    });
    control.commands().add(add.arguments_of::<RouteSource>());
    let delete = "fib source del <name:text>";
    let delete = Command::new(delete, "Delete a source of routes that has none.", |control, given| {
        control.delete::<RouteSource>(&given.get("name")?)?;
        Ok(Reply::done())
    });
    control.commands().add(delete.arguments_of::<RouteSource>());
    register_family::<V4>(control);
    register_family::<V6>(control);
}

fn register_family<F: Family>(control: &Control) {
    control.objects().add(Kind::new(apply_route::<F>).check(|route: &SourceRoute<F>| check_paths(&route.paths)));
}

fn check(source: &RouteSource) -> Result<(), ObjectError> {
    if Source::OURS.iter().any(|ours| ours.to_string() == source.name) {
        return Err(
            ObjectError::field("name", format!("{} is a source of our own", source.name)).remedy("choose another name")
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
fn all(control: &Control) -> Vec<(String, Source)> {
    let ours = Source::OURS.iter().map(|source| (source.to_string(), *source));
    let clients = &control.room::<Clients>().0;
    ours.chain(clients.iter().map(|(name, source)| (name.clone(), *source))).collect()
}

/// Adds a source, and gives it a number.
fn add_source(control: &Control, name: String, priority: u8) -> Result<u8, Refusal> {
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

/// Who a message means by a number: None is who configures.
///
/// # Errors
/// If nobody has it who may make routes.
pub(crate) fn client(control: &Control, number: u8) -> Result<Option<SourceName>, Refusal> {
    if number == 0 || number == Source::Static.number() {
        return Ok(None);
    }
    let clients = control.room::<Clients>();
    let found = clients.0.iter().find(|(_, source)| source.number() == number);
    match found.map(|(name, _)| SourceName(name.clone())) {
        Some(name) => Ok(Some(name)),
        None => Err(Refusal::new(
            Retval::INVALID_VALUE,
            format!(
                "src: no source of routes that clients may make has the number {number}; add one with fib_source_add"
            ),
        )),
    }
}

pub(crate) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, FibSourceAdd { src }| {
        Ok(FibSourceAddReply { id: add_source(control, src.name.0.clone(), src.priority)? })
    });
    file.dump(|control, _: FibSourceDump| {
        let told = |(name, source): (String, Source)| FibSource {
            priority: source.priority(),
            id: source.number(),
            name: name.into(),
        };
        all(control).into_iter().map(move |source| FibSourceDetails { src: told(source) })
    });
}

/// A source of routes.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
pub(crate) struct FibSource {
    pub priority: u8,
    pub id: u8,
    pub name: Text<64>,
}

/// Add a source of routes.
#[derive(Message, Clone, Debug)]
#[message(request, reply = FibSourceAddReply)]
pub(crate) struct FibSourceAdd {
    pub src: FibSource,
}

/// This is its number.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(crate) struct FibSourceAddReply {
    pub id: u8,
}

/// The sources of routes, one after the other.
#[derive(Message, Clone, Debug)]
#[message(dump, details = FibSourceDetails)]
pub(crate) struct FibSourceDump;

/// A source of routes.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(crate) struct FibSourceDetails {
    pub src: FibSource,
}
