//! NAT44: hosts on the inside share addresses on the outside (RFC 3022), in endpoint-dependent mode, as VPP's NAT44-ED, or in
//! endpoint-independent mode (RFC 4787, 4.1).
//!
//! A translated session is a session of the platform with two keys: the tuple of packets from the inside, and that of packets from the
//! outside. Both are stored before its first packet goes on.
//!
//! - [`config`]: what is configured; `interface`: what interfaces enable; [`sides`]: what of it workers read. [`room`]: the control side; [`rules`]: what it tells workers.
//! - [`mod@tuple`]: tuples of packets. [`decide`]: what becomes of a packet without a session; [`egress`]: where it would leave.
//! - [`ports`]: outside ports. [`mappings`]: those of endpoint-independent mode, which sessions share; [`counted`]: how. [`rewrite`]: packets. [`node`]: the nodes. [`counters`]: their counters.
//! - `pools`: pools of addresses on the control side; `arp`: answers for them. `command`, `show`: the command line; `api`: VPP's messages; `listing`: sessions for both.
#![forbid(unsafe_code)]

mod api;
mod arp;
mod command;
pub mod config;
pub mod counted;
pub mod counters;
pub mod decide;
pub mod egress;
mod interface;
mod listing;
pub mod mappings;
pub mod node;
mod pools;
pub mod ports;
pub mod rewrite;
pub mod room;
pub mod rules;
mod show;
pub mod sides;
pub mod tuple;

pub use config::{NatAddresses, NatInterface, NatInterfaceAddress, NatMapping, NatSettings};

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, NodeSpec};
use quiver_interface::{Direction, FeatureSettings, Undecided, decides, feature, undecided, watch};
use quiver_ip::node::describe;
use quiver_ip::upper;
use quiver_session::key::{Formats, KeyFormat};
use quiver_session::listing::ip4_end;
use quiver_session::service::{DROP, Services, add_passing};
use quiver_session::{Service, SessionError, register_service};
use quiver_wire::V4;

use counters::NatCounters;
use egress::Routes;
use node::input::{self, Input};
use node::output::{self, EndNext, Output, OutputEnd};
use node::service::{self, Rewrite};
use node::tables::{Own, Tables};
use room::Nat;

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum NatError {
    /// The room of sessions refuses something.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The data plane refuses a node.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// There is no slot for the sessions' tenants.
    #[error("there is no slot left for the tenants of NAT44's sessions")]
    Tenants,
}

/// Registers the room. Those of IP, of neighbors, of reassembly and of sessions are registered before.
///
/// # Errors
/// If a name is taken.
pub fn register(control: &Control) -> Result<(), NatError> {
    let (reads, routes) = (quiver_session::reads(control), Routes::new(control));
    let icmp_timeout = room::ICMP_TIMEOUT;
    let format = KeyFormat { name: "nat44", is_ip4: true, show: ip4_end };
    let format = control.room_mut::<Formats>().add(format).map_err(SessionError::from)?;
    register_rewrite(control, Rewrite { reads: reads.clone(), routes: routes.clone(), icmp_timeout })?;
    register_service(control, Service::last(output::END)).map_err(SessionError::from)?;
    let slots = room::tenants(control, icmp_timeout).ok_or(NatError::Tenants)?;
    let (nat, upper) = {
        let dataplane = control.room::<Dataplane>();
        let counters = NatCounters::new(&dataplane);
        (Nat::new(dataplane.domain(), slots, (format, icmp_timeout), counters), upper::key(control))
    };
    let words = FeatureSettings::new(control);
    let sides = words.of(Direction::Rx);
    let (rules, ports) = (nat.rules(), nat.ports.clone());
    let number = |name| control.room::<Services>().number(name).unwrap_or(DROP);
    let (rewrite, lookup) = (number(service::NAME), number(room::LOOKUP));
    let reads = reads.clone();
    let tables = Tables { reads, routes, rules, sides, ports, slots, format, rewrite, lookup, icmp_timeout, upper };
    control.insert_room(nat);
    register_nodes(control, (&tables, words))?;
    control.objects().add(Kind::new(room::apply_settings).check(config::check_settings));
    control.objects().add(Kind::new(pools::apply_addresses).check(config::check_addresses));
    control.objects().add(Kind::new(pools::apply_interface_address).check(config::check_interface_address));
    control.objects().add(Kind::new(room::apply_mapping).check(config::check_mapping));
    watch(control, pools::follow);
    arp::register(control);
    command::register(control);
    show::register(control);
    api::register(control);
    Ok(())
}

/// Registers the service that rewrites.
fn register_rewrite(control: &Control, rewrite: Rewrite) -> Result<(), NatError> {
    let Rewrite { reads, routes, icmp_timeout } = rewrite;
    let make = move |_| Rewrite { reads: reads.clone(), routes: routes.clone(), icmp_timeout };
    let spec = NodeSpec::new(service::NAME, service::Next::ARCS, make).describe(describe::<V4>);
    control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
    register_service(control, Service::new(service::NAME)).map_err(SessionError::from)?;
    decides(control, service::NAME, |_, _| Some("nat44-interfaces".to_owned()));
    undecided(control, service::NAME, Undecided::NodeBefore, &["no-session"]);
    Ok(())
}

/// Registers the features of interfaces.
fn register_nodes(
    control: &Control,
    (tables, words): (&Tables, FeatureSettings<NatInterface>),
) -> Result<(), NatError> {
    let counters = control.room::<Nat>().counters.clone();
    let begun = quiver_session::translation::begun(control);
    let own = move |seed: quiver_engine::Seed| Own { begun: begun.of(seed), counters: counters.row(seed.worker) };
    let (of_input, of_output, reads) = (tables.clone(), tables.clone(), tables.reads.clone());
    let own_output = own.clone();
    let input = move |seed| Input::new(of_input.clone(), own(seed));
    let output = move |seed| Output { tables: of_output.clone(), own: own_output(seed) };
    let specs = [
        NodeSpec::new(input::NAME, input::Next::ARCS, input).describe(describe::<V4>),
        NodeSpec::new(output::NAME, output::Next::ARCS, output),
        NodeSpec::new(output::END, EndNext::ARCS, move |_| OutputEnd(reads.clone())),
    ];
    feature::register::<NatInterface>(control, words, specs)?;
    for node in [input::NAME, output::NAME] {
        add_passing(control, node).map_err(DataplaneError::from)?;
        undecided(control, node, Undecided::Packet, &["fragment", "unknown-protocol", "icmp-error", "malformed"]);
        undecided(control, node, Undecided::Load, &["out-of-ports", "session-limit", "session-table-full"]);
    }
    undecided(control, input::NAME, Undecided::Load, &["tuple-in-use", "handoff-full"]);
    Ok(())
}
