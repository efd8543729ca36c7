//! Punt: packets for us that Quiver itself does not speak, for another host or for programs of this one.
//!
//! - [`traffic`]: which protocols and ports are punted, objects of kinds `punts` and `ip6-punts`; [`reason`]: why packets
//!   are punted because nobody takes them, objects of kind `punt-reasons`; [`listener`]: the nodes that find their packets among
//!   those that nobody took; [`sockets`]: how packets come to programs, and `delivery`, what became of them; [`program`]: the node
//!   of what programs send.
//! - [`redirect`]: where punted packets go, objects of kinds `punt-redirects` and `ip6-punt-redirects`; [`node`]: the nodes
//!   that send them there. [`police`]: how many of them, objects of kinds `punt-policers` and `ip6-punt-policers`.
//! - [`family`]: what differs between IPv4 and IPv6. `deciding`: which of these decides; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
mod deciding;
mod delivery;
pub mod family;
pub mod listener;
pub mod node;
pub mod police;
pub mod program;
pub mod reason;
pub mod redirect;
pub mod sockets;
pub mod traffic;

pub use delivery::{Sockets, send_by, served_at};
pub use family::Punted;
pub use police::PuntPolicer;
pub use program::accept;
pub use reason::{PuntReason, Reason};
pub use redirect::PuntRedirect;
pub use traffic::{Punt, Unspoken, set_unspoken};

use quiver_control::{Control, Kind};
use quiver_engine::channel::channel;
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase};
use quiver_icmp::family::Icmp;
use quiver_icmp::input;
use quiver_interface::{InterfaceEvent, watch};
use quiver_ip::Ip;
use quiver_ip::node::{describe, local};
use quiver_policer::Policers;
use quiver_udp::Udp;
use quiver_wire::{V4, V6};

use crate::delivery::Delivery;
use crate::listener::Listener;
use crate::node::Redirect;
use crate::police::{Policed, PolicerNode};
use crate::redirect::Redirects;
use crate::sockets::HELD;
use crate::traffic::Punts;

/// Registers the room. IP, ICMP and UDP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let (outbox, inbox) = channel(HELD, control.room::<Dataplane>().bell());
    control.insert_room(Delivery::default());
    sockets::register(control, inbox);
    register_family::<V4>(control, &outbox)?;
    register_family::<V6>(control, &outbox)?;
    program::register(control)?;
    control.objects().add(Kind::new(traffic::apply_reason).check(traffic::check_reason));
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Punted>(control: &Control, held: &sockets::Outbox) -> Result<(), DataplaneError> {
    let (punts, redirects, policed) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let policed = Policed::<F>::new(dataplane.domain());
        let (police, number) = (control.room::<Policers>().police(), policed.number());
        let (punts, redirects) = (Punts::<F>::new(dataplane.domain()), Redirects::<F>::new(dataplane.domain()));
        let rows = control.room::<Ip<F>>().fib.groups.snapshot();
        let listens = |reason| {
            let (taken, held) = (punts.taken(), held.clone());
            move |seed| Listener::<F>::new(taken.clone(), held.of(seed), reason)
        };
        let redirect = Redirect::<F>::new(redirects.groups(), rows);
        let graph = dataplane.blueprint();
        let arcs = listener::Next::arcs::<F>();
        graph.node(NodeSpec::new(F::LISTENER, arcs, listens(None)).describe(describe::<F>))?;
        // What nobody took comes here before its senders are told so.
        graph.claim_arc(F::NAMES.local, local::Next::UnknownProtocol.into(), F::LISTENER)?;
        graph.claim_arc(<F as Udp>::NODE, quiver_udp::node::Next::Unclaimed.into(), F::LISTENER)?;
        let unawaited = listens(Some(F::UNAWAITED_ECHO));
        graph.node(NodeSpec::new(F::UNAWAITED, arcs, unawaited).describe(describe::<F>))?;
        graph.claim_arc(<F as Icmp>::NODE, input::Next::Punt.into(), F::UNAWAITED)?;
        let policer = move |seed| PolicerNode { police: police(seed), number: number.clone() };
        graph.node(NodeSpec::new(F::POLICER, police::Next::ARCS, policer).describe(describe::<F>))?;
        graph.feature(FeatureSpec::new(F::NAMES.punt, F::POLICER, Phase::Policy))?;
        let arcs = node::Next::arcs::<F>();
        graph.node(NodeSpec::new(F::REDIRECT, arcs, move |_| redirect.clone()).describe(describe::<F>))?;
        graph.feature(FeatureSpec::new(F::NAMES.punt, F::REDIRECT, Phase::Forward))?;
        (punts, redirects, policed)
    };
    deciding::register::<F>(control);
    control.insert_room(policed);
    control.insert_room(punts);
    control.insert_room(redirects);
    control.objects().add(Kind::new(traffic::apply::<F>).check(traffic::check::<F>));
    control.objects().add(Kind::new(redirect::apply::<F>).check(redirect::check::<F>));
    control.objects().add(Kind::new(police::apply::<F>).check(police::check::<F>));
    watch(control, |control, event| {
        let InterfaceEvent::Created(id) = event else { return };
        if let Err(error) = redirect::enable::<F>(control, id).and_then(|()| police::enable::<F>(control, id)) {
            tracing::error!("punted {} packets of a new interface: {error}", F::TITLE);
        }
    });
    Ok(())
}
