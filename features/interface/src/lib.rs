//! Interfaces: names, states, addresses of hardware, counters.
//!
//! - [`interfaces`]: the interfaces that there are, however they came into being; rooms [`create`] and [`watch`] them.
//! - `nothing`: queues without a device; `link`: what drivers say of links; [`mtu`]: how long packets are at most.
//! - [`settings`]: what is configured of every interface, the objects of kind `interfaces`.
//! - [`names`]: names that people choose, and those of a prefix and a number.
//! - [`queues`]: which worker serves a receive queue, and when; the objects of kind `rx-queues`.
//! - [`events`]: how control's tasks learn that workers have something for them.
//! - [`remarks`]: packets with which something was odd, counted by interfaces.
//! - [`by_interface`]: what rooms keep of each interface for workers.
//! - [`feature`]: features of interfaces, declared by their config objects.
//! - [`deciding`]: which object decided what a node did, as rooms say of their nodes.
//! - [`addressing`]: which interfaces can have addresses of layer 3, as rooms say of theirs.
//! - [`restoring`]: what the whole interface received of which a part has what is left.
//! - `set`, `show` and `brief`: the commands; `speed`: those about the speed of a link.
//! - [`warnings`]: warnings of rooms about MTUs.
//! - `statistics`: what clients of the statistics segment see of interfaces.
//! - [`api`]: the messages of VPP's binary API.
#![forbid(unsafe_code)]

// The room of the tests names this crate; so it works inside it, too.
#[cfg(test)]
extern crate self as quiver_interface;

pub mod addressing;
pub mod api;
mod brief;
pub mod by_interface;
pub mod deciding;
#[cfg(test)]
#[path = "../tests/dummies/mod.rs"]
mod dummies;
pub mod events;
pub mod feature;
pub mod interfaces;
mod link;
pub mod mtu;
pub mod names;
mod nothing;
pub mod queues;
pub mod remarks;
pub mod restoring;
mod set;
pub mod settings;
mod show;
mod speed;
mod statistics;
pub mod warnings;

pub use addressing::{check_addressable, restricts_addresses};
pub use by_interface::ByInterface;
pub use deciding::{Undecided, decided_by, decides, has_decider, receiver, sender, undecided, why_undecided};
pub use events::Events;
pub use feature::{Direction, FeatureNode, FeatureSettings, InterfaceFeature};
pub use interfaces::{
    Interface, InterfaceEvent, InterfaceId, Interfaces, LOCAL, NewInterface, TunnelTo, create, remove, set_peer,
    set_point_to_point, set_tunnel, tell, walk, watch,
};
pub use link::{set_link, set_link_mtu, set_speed};
pub use mtu::{LinkMtu, Mtus};
pub use names::{check_name, number_in};
pub use queues::RxQueueSettings;
pub use remarks::{Remarked, Remarks, forget_remarks, remark};
pub use restoring::{Remainder, restored, restores};
pub use settings::{InterfaceName, InterfaceSettings};
pub use show::chosen;
pub use warnings::warns;

use quiver_control::object::Moment;
use quiver_control::{Control, Kind};
use quiver_engine::tx::OUTPUT;
use quiver_engine::{DISPATCH, Dataplane, DataplaneError};

/// Bytes that an interface takes, about, with its counters, their names and its receive queue: for the budget of objects.
pub const MEMORY: u64 = 16 << 10;

/// Gives the control side its interfaces. The data plane is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    control.insert_room(Interfaces::default());
    control.insert_room(Events::default());
    control.insert_room(warnings::Warnings::default());
    control.insert_room(deciding::Deciders::default());
    control.insert_room(restoring::Restorers::default());
    control.insert_room(addressing::AddressChecks::default());
    let remarks = Remarks::new(&control.room());
    control.insert_room(remarks);
    decides(control, OUTPUT, sender);
    undecided(control, OUTPUT, Undecided::Packet, &["bad-offload"]);
    undecided(control, OUTPUT, Undecided::Load, &["no-buffer"]);
    decides(control, DISPATCH, receiver);
    control.commands().add_kind(quiver_control::cli::ArgumentKind::of::<InterfaceName>());
    control.objects().add(Kind::new(settings::apply).check(settings::check));
    control.objects().add(Kind::new(queues::apply));
    // What rooms enable for one object reaches workers as one change of their graph.
    control.objects().around_steps(|control, moment| match moment {
        Moment::Before => control.room::<Dataplane>().collect_changes(),
        Moment::After => control.room::<Dataplane>().post_changes(),
    });
    // And what many objects change in a turn, as one change of their tables.
    control.objects().around_turns(|control, moment| match moment {
        Moment::Before => control.room::<Dataplane>().hold(),
        Moment::After => control.room::<Dataplane>().release(),
    });
    set::register(control);
    queues::register(control);
    show::register(control);
    brief::register(control);
    speed::register(control);
    statistics::register(control);
    api::register(control);
    Ok(())
}
