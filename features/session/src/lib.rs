//! Sessions: each packet of a tenant's interface maps to a session, and passes the services of its chain.
//!
//! - [`key`]: what both directions of a flow have in common. [`record`]: a session in memory. [`sessions`]: all of them, in a directory
//!   that all workers share. [`shard`]: a worker's own records and timers.
//! - [`tenant`]: contexts and chains; `configured`: their changes. [`service`]: what chains consist of. [`timeouts`]: when sessions end, [`pressure`]: when they
//!   end earlier, and `expiry`: that they do.
//! - [`status_field`]: what services of other rooms keep of a session.
//! - [`policy`]: packets without a session, where policy comes first. `sources`: sessions by the source that began them.
//! - `cookies`: SYN cookies, and connections that the router opens behind them.
//! - [`slow_path`]: nodes for packets without a session; `slow_path_command`: their commands.
//! - [`second`]: second keys of sessions whose packets are translated. [`translation`]: what rooms that translate call; [`translator`]: the same for frames. [`admission`]: what
//!   rooms call whose sessions let packets pass.
//! - [`interface`]: whose packets have sessions. [`node`]: the nodes. [`segment`]: their segments; [`tcp`]: states of connections. `windows`: strict checks
//!   of their segments. [`effect`]: packets that change no state, and bypass services that follow it.
//! - [`exporters`]: events of sessions, and who reads them; `events`: how workers write them; `event_command`: their commands.
//! - [`listing`]: sessions for people and clients; `command`, `tenant_command`: the command line; `shown`: which sessions it lists, and as
//!   which texts; `top`: those with most traffic. `metrics`: counters of tenants. `api`: VPP's messages.
#![forbid(unsafe_code)]

pub mod admission;
mod api;
mod command;
mod configured;
pub mod cookies;
pub mod effect;
mod event_command;
mod events;
pub mod expiry;
pub mod exporters;
pub mod interface;
pub mod key;
pub mod listing;
mod metrics;
pub mod node;
pub mod policy;
pub mod pressure;
pub mod record;
pub mod room;
pub mod second;
pub mod segment;
pub mod service;
pub mod sessions;
pub mod shard;
mod shown;
pub mod slow_path;
mod slow_path_command;
mod sources;
pub mod status_field;
pub mod tcp;
pub mod tenant;
mod tenant_command;
pub mod timeouts;
mod top;
pub mod translation;
pub mod translator;
mod windows;

pub use interface::{SessionInterface, enter, no_space};
pub use quiver_session_events::Reason;
pub use room::{SESSIONS_MAX, SessionDefaults, set_session_defaults};
pub use service::{Service, register_service};
pub use status_field::{StatusField, StatusFieldError, claim_status_field};
pub use tenant::Tenant;
pub use timeouts::register_timeout;

use std::sync::Arc;

use quiver_control::{Control, Kind};
use quiver_engine::channel::{Outbox, channel};
use quiver_engine::trace::Record;
use quiver_engine::{Counters, Dataplane, DataplaneError, NodeSpec, Seed};
use quiver_interface::{Direction, FeatureSettings, Undecided, decides, feature, undecided};
use quiver_ip::node::describe;
use quiver_ip::upper;
use quiver_wire::{V4, V6};

use cookies::challenge::{self, Challenge, CookieRoom};
use cookies::splice::{self, Splice};
use exporters::EventRoom;
use interface::Tracked;
use key::{Formats, KeyFormat};
use node::create::Create;
use node::input::Input;
use node::lifecycle::{Blocks, LIFECYCLE, Lifecycle, TCP_CHECK};
use node::lookup::{Finder, IpParser, Lookup, Parser};
use node::owner::Owner;
use node::pass::Reads;
use policy::Judged;
use room::Room;
use service::{Services, add_passing};
use sessions::Mark;
use status_field::StatusFields;
use tenant::Tenants;
use timeouts::Timeouts;

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The data plane refuses a node.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// A service cannot be registered.
    #[error(transparent)]
    Service(#[from] service::ServiceError),
    /// A timeout cannot be registered.
    #[error(transparent)]
    Timeout(#[from] timeouts::TimeoutError),
    /// A format of keys cannot be registered.
    #[error(transparent)]
    Format(#[from] key::FormatError),
    /// A field of sessions cannot be claimed.
    #[error(transparent)]
    StatusField(#[from] StatusFieldError),
}

/// Registers the room. IP is registered before.
///
/// # Errors
/// If the graph refuses a node.
pub fn register(control: &Control) -> Result<(), SessionError> {
    let (begun, room, tenants, events) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let mark = dataplane.metadata("session")?;
        let (begun, heard) = channel(dataplane.settings().workers, dataplane.bell());
        let events = EventRoom::new(&dataplane);
        (begun, Room::new(dataplane.domain(), heard, mark), Tenants::new(&dataplane), events)
    };
    let (upper, parsers) = (upper::key(control), Arc::default());
    let reads = Reads { shared: room.snapshot(), rows: tenants.snapshot(), mark: room.mark, upper, parsers };
    let incoming = tenants.counters().incoming.clone();
    control.insert_room(room);
    control.insert_room(tenants);
    control.insert_room(events);
    control.insert_room(Timeouts::default());
    control.insert_room(Services::default());
    control.insert_room(StatusFields::default());
    control.insert_room(Formats::default());
    control.insert_room(Blocks::default());
    control.objects().add(Kind::new(configured::apply).check(configured::check));
    control.objects().add(Kind::new(exporters::apply).check(exporters::check));
    register_service(control, Service::drop("sfdp-drop"))?;
    register_owner(control, &reads)?;
    register_create(control, &reads, &begun)?;
    control.insert_room(Parts { reads: reads.clone(), begun, incoming });
    register_family::<V4>(control, KeyFormat { name: "ipv4", is_ip4: true, show: listing::ip4_end })?;
    register_family::<V6>(control, KeyFormat { name: "ipv6", is_ip4: false, show: listing::ip6_end })?;
    register_lifecycle(control, &reads)?;
    register_service(control, Service::terminal(<V4 as quiver_ip::Family>::NAMES.lookup))?;
    register_service(control, Service::terminal(<V6 as quiver_ip::Family>::NAMES.lookup))?;
    register_cookies(control, &reads)?;
    tenant_command::register(control);
    command::register(control);
    event_command::register(control);
    top::register(control);
    slow_path_command::register(control);
    api::register(control);
    Ok(())
}

/// Registers the node of handed-over packets.
fn register_owner(control: &Control, reads: &Reads) -> Result<(), SessionError> {
    let reads = reads.clone();
    let spec = NodeSpec::new(node::owner::NAME, node::owner::Next::ARCS, move |_| Owner(reads.clone()));
    control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
    add_passing(control, node::owner::NAME).map_err(DataplaneError::from)?;
    undecided(control, node::owner::NAME, Undecided::Load, &["session-gone"]);
    by_tenant(control, node::owner::NAME);
    Ok(())
}

/// Registers the node at which sessions begin whose first packets have been judged.
fn register_create(control: &Control, reads: &Reads, begun: &Outbox<()>) -> Result<(), SessionError> {
    let (reads, begun, name) = (reads.clone(), begun.clone(), node::create::NAME);
    let make = move |seed: Seed| Create::new(reads.clone(), begun.of(seed));
    let spec = NodeSpec::new(name, node::create::Next::ARCS, make);
    control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
    // Its packets pass on along chains, and its place among the services is fixed.
    register_service(control, Service::new(name))?;
    debug_assert_eq!(control.room::<Services>().all()[usize::from(service::CREATE)].name, name);
    by_tenant(control, name);
    undecided(control, name, Undecided::NodeBefore, &["no-session"]);
    let full = ["session-table-full", "session-quota", "session-source-quota"];
    undecided(control, name, Undecided::Load, &full);
    Ok(())
}

/// Registers the nodes of SYN cookies. Their places among the services are fixed.
fn register_cookies(control: &Control, reads: &Reads) -> Result<(), SessionError> {
    control.insert_room(CookieRoom::default());
    let (cookies, of_challenge, of_splice) = (control.room::<CookieRoom>().0.clone(), reads.clone(), reads.clone());
    let specs = [
        NodeSpec::new(challenge::NAME, challenge::Next::ARCS, move |_| {
            Challenge::new(of_challenge.clone(), cookies.clone())
        }),
        NodeSpec::new(splice::NAME, splice::Next::ARCS, move |_| Splice(of_splice.clone())),
    ];
    for (spec, number) in specs.into_iter().zip([service::COOKIE, service::PROXY]) {
        let name = spec.name();
        control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
        register_service(control, Service::new(name))?;
        debug_assert_eq!(control.room::<Services>().all()[usize::from(number)].name, name);
        by_tenant(control, name);
        undecided(control, name, Undecided::NodeBefore, &["no-session"]);
        undecided(control, name, Undecided::Load, &["no-buffers"]);
    }
    undecided(control, splice::NAME, Undecided::Packet, &["not-connected"]);
    Ok(())
}

/// Parts for nodes that are registered later.
struct Parts {
    reads: Reads,
    begun: Outbox<()>,
    incoming: Counters,
}

/// Tables for the node of a service: with them it finds packets' sessions and passes packets on.
///
/// # Panics
/// If this room is not registered: a programming error, named.
pub fn reads(control: &Control) -> Reads {
    control.room::<Parts>().reads.clone()
}

/// Registers a format of keys, and the node that finds the sessions of packets by it. Packets enter it with the slot of their tenant in
/// the column `hop`.
///
/// # Errors
/// If the format is there, or the graph refuses the node.
pub fn register_parser<P: Parser>(control: &Control, format: KeyFormat) -> Result<(), SessionError> {
    let format = control.room_mut::<Formats>().add(format)?;
    let (reads, begun, incoming) = {
        let parts = control.room::<Parts>();
        parts.reads.parsers.set(format, P::flow);
        (parts.reads.clone(), parts.begun.clone(), parts.incoming.clone())
    };
    let make = move |seed: Seed| {
        let finder = Finder::<P>::new(format, begun.of(seed));
        Lookup::new(reads.clone(), incoming.row(seed.worker), finder)
    };
    let spec = NodeSpec::new(P::NODE, node::lookup::Next::ARCS, make).describe(P::describe);
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        dataplane.blueprint().node(spec).map_err(DataplaneError::from)?;
        // The packets of other workers' sessions are those that leave for the node of handed-over packets.
        dataplane.also_called((P::NODE, node::owner::NAME), &format!("{}/remote flow", P::NODE))?;
    }
    add_passing(control, P::NODE).map_err(DataplaneError::from)?;
    by_tenant(control, P::NODE);
    let of_packet = ["fragment", "unknown-protocol", "icmp-error", "malformed"];
    undecided(control, P::NODE, Undecided::Packet, &of_packet);
    undecided(
        control,
        P::NODE,
        Undecided::Load,
        &["session-table-full", "session-quota", "session-source-quota", "handoff-full"],
    );
    undecided(control, P::NODE, Undecided::NodeBefore, &["no-tenant"]);
    Ok(())
}

/// Registers the nodes of a family.
fn register_family<F: Tracked>(control: &Control, format: KeyFormat) -> Result<(), SessionError> {
    register_parser::<IpParser<F>>(control, format)?;
    let words = FeatureSettings::new(control);
    let stage = Input::<IpParser<F>>::new(words.of(Direction::Rx));
    let spec = NodeSpec::stage(move |_| stage.clone()).describe(describe::<F>);
    feature::register::<SessionInterface<F>>(control, words, [spec])?;
    Ok(())
}

/// Registers the services that follow the states of sessions.
fn register_lifecycle(control: &Control, reads: &Reads) -> Result<(), SessionError> {
    let blocks = control.room::<Blocks>().clone();
    // Of TCP alone first: the other one knows its number.
    let check = control.room::<Services>().all().len() as u8;
    let arcs = node::lifecycle::Next::ARCS;
    let (tcp, all) = (reads.clone(), reads.clone());
    let (of_tcp, of_all) = (blocks.clone(), blocks);
    let specs = [
        NodeSpec::new(TCP_CHECK, arcs, move |_| Lifecycle::of_tcp(tcp.clone(), of_tcp.clone())),
        NodeSpec::new(LIFECYCLE, arcs, move |_| Lifecycle::of_all(all.clone(), of_all.clone(), check)),
    ];
    for spec in specs {
        let name = spec.name();
        control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
        register_service(control, Service::follower(name))?;
        by_tenant(control, name);
        undecided(control, name, Undecided::Packet, &["no-syn", "tcp-flags", "tcp-out-of-window", "tcp-fragment"]);
        undecided(control, name, Undecided::NodeBefore, &["no-session"]);
    }
    Ok(())
}

/// The slot of a traced packet's tenant, which is that of its session or of the policy that judges it, and its mark. None if both are gone.
pub fn traced(control: &Control, record: &Record) -> Option<(u16, Mark)> {
    let (mark, sessions) = {
        let room = control.room::<Room>();
        (record.metadata.get(room.mark)?, room.sessions()?)
    };
    if let Some(judged) = Judged::of(mark) {
        return Some((judged.slot, mark));
    }
    let session = sessions.of(record.worker).and_then(|owned| owned.records.get(mark.index()));
    let session = session.map(|session| session.identity()).filter(|of| of.is_live_of(mark.generation()));
    // In a rehearsal the session would begin now.
    Some((session.map_or(record.hop as u16, |of| of.tenant()), mark))
}

/// Says of the node of a service that the tenant decides where packets of its sessions go.
pub fn by_tenant(control: &Control, node: &'static str) {
    decides(control, node, |_, _| Some("session-tenants".to_owned()));
}
