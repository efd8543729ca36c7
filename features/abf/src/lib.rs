//! ACL based forwarding: packets that a list permits take the paths of a policy, regardless of their destinations.
//!
//! - [`policy`]: policies, objects of kinds `abf-policies` and `ip6-abf-policies`; [`attachment`]: where they hold, objects of
//!   kinds `abf-attachments` and `ip6-abf-attachments`. [`state`]: what workers read of both.
//! - [`node`]: the nodes `abf-input-ip4` and `abf-input-ip6`, features of the arcs in front of the lookups.
//! - [`family`]: what differs between IPv4 and IPv6. `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
pub mod attachment;
mod command;
pub mod family;
pub mod node;
pub mod policy;
pub mod state;

pub use attachment::AbfAttachment;
pub use family::Forwarded;
pub use policy::{AbfPolicy, PolicyNumber};

use quiver_acl::Acls;
use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase};
use quiver_interface::{InterfaceId, Interfaces, decides};
use quiver_ip::Ip;
use quiver_ip::node::describe;
use quiver_ip::upper;
use quiver_wire::{V4, V6};

use crate::node::{AbfInput, permitted};
use crate::state::Policies;

/// Registers the room. IP and lists are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Forwarded>(control: &Control) -> Result<(), DataplaneError> {
    let room = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let room = Policies::<F>::new(dataplane.domain());
        let rows = control.room::<Ip<F>>().fib.groups.snapshot();
        let node = AbfInput::<F>::new(room.attached(), control.room::<Acls>().lists(), rows, upper::key(control));
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::stage(move |_| node.clone()).describe(describe::<F>))?;
        graph.feature(FeatureSpec::new(F::NAMES.unicast, F::NODE, Phase::Forward))?;
        room
    };
    decides(control, F::NODE, |control, record| {
        let (policies, lists) = (control.room::<Policies<F>>(), control.room::<Acls>());
        let noted = record.metadata.get(upper::key(control));
        let permitted = permitted::<F>(policies.of(InterfaceId(record.rx)), lists.current(), &record.bytes, noted);
        Some(permitted.map_or_else(
            || format!("no {} of interface {}", F::POLICIES, control.room::<Interfaces>().name(InterfaceId(record.rx))),
            |policy| format!("{} {}", F::POLICIES, policy.policy),
        ))
    });
    control.insert_room(room);
    control.objects().add(Kind::new(policy::apply::<F>).check(policy::check::<F>));
    control.objects().add(Kind::new(attachment::apply::<F>));
    Ok(())
}
