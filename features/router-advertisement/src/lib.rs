//! Router advertisements (RFC 4861, 6): routers announce themselves and the link's prefixes to hosts.
//!
//! - [`input`]: the node `router-input`, which checks what is heard; [`message`]: what is sent.
//! - [`config`]: the objects of kinds `router-advertisements` and `advertised-prefixes`; `changes`: what becomes
//!   of theirs. [`advertiser`]: what is known of an interface that advertises; `keeper`: the task that advertises and answers;
//!   `link`: how an interface speaks.
//! - [`autoconfiguration`]: the objects of kind `address-autoconfigurations`; [`discovery`]: how we learn of routers, as a
//!   host, and [`routers`], what we know of them; `solicit`: how we ask for them.
//! - `setting`: changes as VPP has them; `command`: the command line; `api`: its messages.
#![forbid(unsafe_code)]

pub mod advertiser;
mod api;
pub mod autoconfiguration;
mod changes;
mod command;
pub mod config;
pub mod discovery;
pub mod input;
mod keeper;
mod link;
pub mod message;
pub mod routers;
mod setting;
mod solicit;

pub use autoconfiguration::AddressAutoconfiguration;
pub use config::{AdvertisedPrefix, RouterAdvertisements};

use quiver_control::{Control, Kind};
use quiver_engine::channel::channel;
use quiver_engine::{Dataplane, DataplaneError, NodeSpec, Publisher};
use quiver_interface::{Undecided, decides, receiver, undecided};
use quiver_ip::Ip6;
use quiver_ip::node::describe;
use quiver_wire::V6;

use advertiser::Advertisers;
use input::{Listening, Next, RouterInput};
use routers::Routers;

/// The node that checks received messages.
const NODE: &str = "router-input";
/// Messages that may wait for control; more are lost, by name.
const MESSAGES: usize = 256;

/// Registers the room. Those of interfaces and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let ingress = control.room::<Ip6>().ingress();
    let (advertisers, routers, heard) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let (outbox, heard) = channel(MESSAGES, dataplane.bell());
        let generations = dataplane.generations().clone();
        let published = Publisher::new(dataplane.domain(), vec![]);
        let routers = Routers::new(Publisher::new(dataplane.domain(), Listening::default()));
        let (advertising, listening) = (published.snapshot(), routers.listening());
        let input = move |seed| RouterInput {
            ingress: ingress.clone(),
            advertising: advertising.clone(),
            listening: listening.clone(),
            generations: generations.clone(),
            heard: outbox.of(seed),
        };
        let node = NodeSpec::new(NODE, Next::ARCS, input).describe(describe::<V6>);
        (Advertisers::new(dataplane.blueprint().node(node)?, published), routers, heard)
    };
    // Whether an interface advertises, listens, or has the sender's subnet.
    decides(control, NODE, receiver);
    let packet = ["bad-hop-limit", "bad-code", "too-short", "bad-option", "no-source", "sender-not-link-local"];
    undecided(control, NODE, Undecided::Packet, &packet);
    undecided(control, NODE, Undecided::Load, &["control-busy"]);
    control.insert_room(advertisers);
    control.insert_room(routers);
    control.objects().add(Kind::new(changes::apply).check(config::check));
    control.objects().add(Kind::new(changes::apply_prefix).check(config::check_prefix));
    control.objects().add(Kind::new(autoconfiguration::apply));
    keeper::register(control, heard);
    discovery::register(control);
    command::register(control);
    api::register(control);
    Ok(())
}
