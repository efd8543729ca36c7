//! Inspection by another process: packets of interfaces go to an inspector, such as Snort with VPP's DAQ module, in shared memory, and
//! on by its verdicts.
//!
//! - [`instance`]: objects of kind `snort-instances`, and their shared memory, of which [`layout`] has the places; [`attachment`]: objects
//!   of kind `snort-attachments`, which say whose packets are inspected. [`room`]: instances by number; `configured`: their changes.
//! - [`pair`]: a queue pair, by which packets go to an inspector and verdicts come back; [`verdict`]; [`flows`]: flows that need no
//!   inspection any more.
//! - [`origin`], [`node`]: the nodes of interfaces that offer packets; [`service`]: that of session tenants, for which `decision` says what a
//!   session keeps. `offered`: what a packet in the inspector's hands remembers; [`release`]: the node that takes packets back.
//! - [`message`]: requests and replies on the socket; [`client`]: an inspector; [`clients`]: what inspectors ask for.
//! - `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
pub mod attachment;
pub mod client;
pub mod clients;
mod command;
mod configured;
mod decision;
mod flows;
pub mod instance;
pub mod layout;
pub mod message;
pub mod node;
mod offered;
pub mod origin;
pub mod pair;
pub mod release;
pub mod room;
pub mod service;
pub mod verdict;

pub use attachment::SnortAttachment;
pub use instance::{InstanceName, OnDisconnect, SnortInstance};
pub use room::Snort;
pub use service::SnortTenant;
pub use verdict::Verdict;

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase};
use quiver_interface::{FeatureSettings, Undecided, feature, undecided};
use quiver_session::SessionError;

use decision::Decisions;
use node::{Behind, GoOn, Offer};
use origin::Origin;
use release::Release;

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum SnortError {
    /// The data plane refuses a node.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// The room of sessions refuses the service.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Registers the room. IP and sessions are registered before.
///
/// # Errors
/// If a name is taken.
pub fn register(control: &Control) -> Result<(), SnortError> {
    let (reads, decisions) = (quiver_session::reads(control), Decisions::claim(control).map_err(SessionError::from)?);
    let attached = FeatureSettings::<SnortAttachment>::new(control);
    let (publisher, snapshot) = room::instances(&control.room::<Dataplane>());
    let generations = control.room::<Dataplane>().generations().clone();
    let nodes = Origin::ALL.map(|origin| {
        let (attached, instances) = (attached.of(origin.direction()), snapshot.clone());
        let generations = generations.clone();
        let make = move |_| Offer::new(origin, attached.clone(), instances.clone(), generations.clone());
        NodeSpec::new(origin.node(), node::Next::ARCS, make)
    });
    service::register_next(control, &reads)?;
    let release = {
        let (reads, snapshot) = (reads.clone(), snapshot.clone());
        let generations = generations.clone();
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        for origin in Origin::ALL {
            graph.node(NodeSpec::new(origin.next(), Behind::ARCS, |_| GoOn)).map_err(DataplaneError::from)?;
        }
        let make = move |_| Release::new(snapshot.clone(), generations.clone(), reads.clone(), decisions);
        graph.node(NodeSpec::new(release::NAME, release::Next::ARCS, make)).map_err(DataplaneError::from)?
    };
    control.insert_room(Snort::new(publisher, release));
    control.objects().add(Kind::new(configured::apply).check(instance::check));
    feature::register(control, attached, nodes)?;
    for origin in Origin::ALL {
        let place = FeatureSpec::new(origin.arc(), origin.next(), Phase::Policy).after(origin_of(origin));
        control.room_mut::<Dataplane>().blueprint().feature(place).map_err(DataplaneError::from)?;
        undecided(control, origin.node(), Undecided::Load, &["inspector-full"]);
    }
    let reasons = ["verdict-drop", "bad-verdict", "inspector-lost", "interface-gone", "session-gone"];
    undecided(control, release::NAME, Undecided::NodeBefore, &reasons);
    control.commands().add_kind(ArgumentKind::of::<InstanceName>());
    service::register(control, reads, (snapshot, generations), decisions)?;
    command::register(control);
    api::register(control);
    Ok(())
}

/// The node in front of a place from which packets go on.
const fn origin_of(origin: Origin) -> &'static [&'static str] {
    match origin {
        Origin::Ip4Input => &["snort-ip4-input"],
        Origin::Ip6Input => &["snort-ip6-input"],
        Origin::Ip4Output => &["snort-ip4-output"],
        Origin::Ip6Output => &["snort-ip6-output"],
    }
}
