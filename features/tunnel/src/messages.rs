//! The common part of VPP's messages about tunnels of all kinds.

use std::net::IpAddr;

use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Refusal, Retval};
use quiver_control::Control;
use quiver_interface::api::{find as interface, name};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_ip::Ip;
use quiver_wire::{UnicastMac, V4, V6};

use crate::configured::{Configured, Fields, add, find, is_taken};
use crate::kind::Kind;
use crate::tunnels::After;

/// Fields of a request.
#[derive(Clone, Debug)]
pub struct TunnelRequest {
    /// Adds the tunnel if true, deletes it if false.
    pub is_add: bool,
    /// The number in its name; all ones leave it to us.
    pub instance: u32,
    /// Ours, and the other end's.
    pub ends: [IpAddr; 2],
    /// The ports by which datagrams come, and to which they go; 0 is that of the kind.
    pub ports: [u16; 2],
    /// The interface by which datagrams for a group leave.
    pub group_interface: InterfaceIndex,
    /// The table in which the destination is looked up.
    pub table: u32,
    /// The arc by which packets go on that come out; all ones are the usual one.
    pub arc: u32,
    /// The network.
    pub vni: u32,
    /// Whether packets go without an Ethernet header.
    pub layer3: bool,
    /// The interface's address of hardware.
    pub mac: Option<UnicastMac>,
}

/// Fields of a reply about a tunnel.
#[derive(Clone, Debug)]
pub struct TunnelDetails {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The number in its name.
    pub instance: u32,
    /// The interface by which datagrams for a group leave, or none.
    pub group_interface: InterfaceIndex,
    /// The rest.
    pub fields: Fields,
}

fn wanted<T: Configured>(control: &Control, asked: &TunnelRequest) -> Result<Fields, Refusal> {
    let [source, destination] = asked.ends;
    let mut wanted = Fields::between::<T>(source, destination, asked.vni);
    wanted.set_table(asked.table);
    let is_there = match destination {
        IpAddr::V4(_) => control.room::<Ip<V4>>().fib.table(wanted.table_id()).is_some(),
        IpAddr::V6(_) => control.room::<Ip<V6>>().fib.table(wanted.table_id()).is_some(),
    };
    if !is_there {
        let what = format!("encap_vrf_id: there is no table {}", asked.table);
        return Err(Refusal::new(Retval::NO_SUCH_FIB, what));
    }
    let [port, destination_port] = asked.ports.map(|port| if port == 0 { T::Kind::PORT.0 } else { port });
    (wanted.port, wanted.destination_port) = (port, destination_port);
    if destination.is_multicast() {
        wanted.group_interface = Some(name(control, asked.group_interface)?);
    }
    (wanted.layer3, wanted.mac) = (asked.layer3, asked.mac);
    wanted.after = match asked.arc {
        NONE => After::Interface,
        arc => After::of_arc(arc).ok_or_else(|| {
            let input = T::Kind::INPUT[usize::from(destination.is_ipv6())];
            let what = format!("decap_next_index: packets that come out cannot leave {input} by arc {arc}");
            Refusal::new(Retval::INVALID_DECAP_NEXT, what)
        })?,
    };
    Ok(wanted)
}

/// Adds a tunnel, and sets it up, or deletes it, and returns its interface.
///
/// # Errors
/// As VPP's values for messages about tunnels say.
pub async fn change<T: Configured>(control: Control, asked: TunnelRequest) -> Result<InterfaceIndex, Refusal> {
    let wanted = wanted::<T>(&control, &asked)?;
    let found = find::<T>(&control, &wanted);
    if !asked.is_add {
        let missing = || Refusal::new(Retval::NO_SUCH_ENTRY, "there is no tunnel with these ends, ports and network");
        let name = found.ok_or_else(missing)?;
        let id = control.room::<Interfaces>().id_of(&name)?;
        control.delete_in_turns::<T>(&name).await?;
        return Ok(id.into());
    }
    if let Some(name) = found {
        return Err(Refusal::new(Retval::TUNNEL_EXIST, format!("{name} has these ends, ports and network already")));
    }
    let instance = Some(asked.instance).filter(|instance| *instance != NONE);
    if let Some(taken) = instance.filter(|number| is_taken::<T>(&control, *number)) {
        return Err(Refusal::new(Retval::INSTANCE_IN_USE, format!("instance: {taken} is there already")));
    }
    let name = add::<T>(&control, wanted, instance)?;
    Ok(control.room::<Interfaces>().id_of(&name)?.into())
}

/// The tunnel of an interface, or all tunnels, one by one; none in place of one whose interface is gone.
pub fn told<T: Configured>(
    control: &Control,
    only: InterfaceIndex,
) -> impl Iterator<Item = Option<TunnelDetails>> + use<T> {
    let one = Some(only).filter(|only| only.0 != NONE);
    // No tunnel has the name of no interface.
    let one = one.map(|only| interface(control, only).map(|interface| interface.name).unwrap_or_default());
    let control = control.clone();
    control.clone().walk_of::<T>(one.as_ref()).map(move |tunnel| {
        let index = |name: &str| control.room::<Interfaces>().id_of(name).ok().map(InterfaceIndex::from);
        let fields = tunnel.fields();
        let group = fields.group_interface.as_ref().and_then(|InterfaceName(name)| index(name));
        Some(TunnelDetails {
            sw_if_index: index(&fields.name)?,
            instance: fields.instance::<T>().unwrap_or(NONE),
            group_interface: group.unwrap_or(InterfaceIndex(NONE)),
            fields,
        })
    })
}
