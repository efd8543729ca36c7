//! VPP's messages about cross-connects of layer 3: `l3xc.api`.

use quiver_compat::types::{FibPath, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::Control;
use quiver_interface::api::name;
use quiver_interface::{InterfaceId, Interfaces};
use quiver_ip::Ip4;
use quiver_ip::api::{configured, known};

use crate::config::{CrossConnects, L3CrossConnect};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "l3xc", (1, 0, 1), |file| {
        file.request(l3xc_update);
        file.request(l3xc_del);
        file.dump(l3xc_dump);
    });
}

/// A cross-connect: the interface that receives, and where its packets go.
#[derive(Wire, Clone, Debug, Default)]
#[wire(name = "l3xc")]
struct L3xc {
    sw_if_index: InterfaceIndex,
    is_ip6: bool,
    #[count(u8, "n_paths")]
    paths: Vec<FibPath>,
}

/// Cross-connect an interface, or change where its packets go.
#[derive(Message, Clone, Debug)]
#[message(request, reply = L3xcUpdateReply)]
struct L3xcUpdate {
    l3xc: L3xc,
}

/// Where packets are counted: nowhere by cross-connect, so all ones.
#[derive(Message, Clone, Debug)]
#[message(reply)]
struct L3xcUpdateReply {
    stats_index: u32,
}

impl Default for L3xcUpdateReply {
    fn default() -> L3xcUpdateReply {
        L3xcUpdateReply { stats_index: NONE }
    }
}

/// Look the packets of an interface up again.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct L3xcDel {
    sw_if_index: InterfaceIndex,
    is_ip6: bool,
}

/// Which interfaces are cross-connected: this one, or all?
#[derive(Message, Clone, Debug)]
#[message(dump, details = L3xcDetails)]
struct L3xcDump {
    sw_if_index: InterfaceIndex,
}

/// A cross-connect.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct L3xcDetails {
    l3xc: L3xc,
}

fn only_ip4(is_ip6: bool) -> Result<(), Refusal> {
    match is_ip6 {
        true => Err(Refusal::new(Retval::INVALID_ADDRESS_FAMILY, "is_ip6: there is no IPv6 yet")),
        false => Ok(()),
    }
}

fn l3xc_update(control: &Control, request: L3xcUpdate) -> Result<L3xcUpdateReply, Refusal> {
    let L3xc { sw_if_index, is_ip6, paths } = request.l3xc;
    let interface = name(control, sw_if_index)?;
    only_ip4(is_ip6)?;
    let paths = paths.iter().map(|path| configured(path, control)).collect::<Result<Vec<_>, _>>()?;
    if paths.is_empty() {
        return Err(Refusal::new(Retval::NO_PATHS_IN_ROUTE, "l3xc.paths: there is none"));
    }
    control.put(L3CrossConnect { interface, paths })?;
    Ok(L3xcUpdateReply::default())
}

fn l3xc_del(control: &Control, request: L3xcDel) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    only_ip4(request.is_ip6)?;
    if control.objects().get::<L3CrossConnect>(&interface).is_none() {
        return Err(Refusal::new(Retval::NO_SUCH_ENTRY, format!("sw_if_index: {interface} is not cross-connected")));
    }
    Ok(control.delete::<L3CrossConnect>(&interface)?)
}

fn l3xc_dump(control: &Control, request: L3xcDump) -> Vec<L3xcDetails> {
    let (interfaces, ip, room) = (control.room::<Interfaces>(), control.room::<Ip4>(), control.room::<CrossConnects>());
    let is_wanted = |id: &InterfaceId| request.sw_if_index.0 == NONE || request.sw_if_index == (*id).into();
    let ids = interfaces.iter().map(|interface| interface.id).filter(is_wanted);
    let details = |id: InterfaceId| {
        let group = ip.fib.groups.get(room.group(id)?)?;
        let paths = group.paths.iter().map(known).collect();
        Some(L3xcDetails { l3xc: L3xc { sw_if_index: id.into(), is_ip6: false, paths } })
    };
    ids.filter_map(details).collect()
}

#[cfg(test)]
mod tests;
