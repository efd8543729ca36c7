//! Directed broadcasts: packets for all hosts of a subnet that come from elsewhere. Routers do not forward them (RFC 2644), unless
//! the subnet's interface is told to.

use quiver_compat::Message;
use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_control::cli::{Command, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::api::name;
use quiver_interface::{InterfaceName, Interfaces};

use crate::room::{Ip4, refused};

/// An interface to which packets for the last addresses of its IPv4 subnets are forwarded, as broadcasts.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "directed-broadcasts")]
pub struct DirectedBroadcast {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply));
    let set = "set interface ip directed-broadcast <interface> (enable | disable)";
    let help = "Forward packets for all on an interface's IPv4 subnets, or drop them.";
    let set = Command::new(set, help, |control, given| {
        put(control, given.get("interface")?, given.has("enable"))?;
        Ok(Reply::done())
    });
    let set = set.argument("enable", "forward them").argument("disable", "drop them");
    control.commands().add(set.arguments_of::<DirectedBroadcast>());
}

fn put(control: &Control, interface: InterfaceName, wanted: bool) -> Result<(), ObjectError> {
    match (wanted, control.objects().get::<DirectedBroadcast>(&interface).is_some()) {
        (true, false) => control.put(DirectedBroadcast::new(interface)),
        (false, true) => control.delete::<DirectedBroadcast>(&interface),
        _ => Ok(()),
    }
}

fn apply(control: &Control, change: Change<'_, DirectedBroadcast>) -> Result<(), ObjectError> {
    let (of, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = control.room::<Interfaces>().id_of(&of.interface.0)?;
    control.room_mut::<Ip4>().set_directed_broadcast(id, wanted).map_err(refused)
}

pub(crate) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, SwInterfaceSetIpDirectedBroadcast { sw_if_index, enable }| {
        Ok(put(control, name(control, sw_if_index)?, enable)?)
    });
}

/// Forward packets for all on an interface's IPv4 subnets, or drop them.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(crate) struct SwInterfaceSetIpDirectedBroadcast {
    pub sw_if_index: InterfaceIndex,
    pub enable: bool,
}
