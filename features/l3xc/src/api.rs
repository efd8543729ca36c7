//! VPP's messages about cross-connects of layer 3: `l3xc.api`.

use quiver_compat::types::{FibPath, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::Control;
use quiver_interface::api::{details_at, dump, name};
use quiver_interface::{InterfaceId, InterfaceName};
use quiver_ip::Ip;
use quiver_ip::api::{by_family, configured, known};
use quiver_wire::{V4, V6};

use crate::config::{Connected, L3CrossConnect, group_of};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "l3xc", (1, 0, 1), |file| {
        file.request(|control, L3xcUpdate { l3xc }| {
            let interface = name(control, l3xc.sw_if_index)?;
            by_family!(l3xc.is_ip6, update(control, interface, &l3xc.paths))
        });
        file.request(|control, L3xcDel { sw_if_index, is_ip6 }| {
            let interface = name(control, sw_if_index)?;
            by_family!(is_ip6, delete(control, &interface))
        });
        file.dump(|control, request: L3xcDump| {
            let of = request.sw_if_index;
            let ip4 = dump(control, of, |control, id, name| details_at(control, (id, &name), details::<V4>));
            let ip6 = dump(control, of, |control, id, name| details_at(control, (id, &name), details::<V6>));
            ip4.chain(ip6).map(Option::flatten)
        });
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

/// Adds a layer-3 cross-connect to an interface, or replaces its paths.
#[derive(Message, Clone, Debug)]
#[message(request, reply = L3xcUpdateReply)]
struct L3xcUpdate {
    l3xc: L3xc,
}

/// Always 0xffffffff in `stats_index`: cross-connects have no counters of their own.
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

/// Deletes a layer-3 cross-connect; packets of the interface are looked up again.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct L3xcDel {
    sw_if_index: InterfaceIndex,
    is_ip6: bool,
}

/// Dumps the cross-connect of one interface, or all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = L3xcDetails)]
struct L3xcDump {
    sw_if_index: InterfaceIndex,
}

/// Describes one layer-3 cross-connect: its interface, family and paths.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct L3xcDetails {
    l3xc: L3xc,
}

fn update<F: Connected>(
    control: &Control,
    interface: InterfaceName,
    paths: &[FibPath],
) -> Result<L3xcUpdateReply, Refusal> {
    let paths = paths.iter().map(|path| configured::<F>(path, control)).collect::<Result<Vec<_>, _>>()?;
    if paths.is_empty() {
        return Err(Refusal::new(Retval::NO_PATHS_IN_ROUTE, "l3xc.paths: there is none"));
    }
    control.put(L3CrossConnect::<F> { interface, paths })?;
    Ok(L3xcUpdateReply::default())
}

fn delete<F: Connected>(control: &Control, interface: &InterfaceName) -> Result<(), Refusal> {
    if control.objects().get::<L3CrossConnect<F>>(interface).is_none() {
        return Err(Refusal::new(Retval::NO_SUCH_ENTRY, format!("sw_if_index: {interface} is not cross-connected")));
    }
    Ok(control.delete::<L3CrossConnect<F>>(interface)?)
}

fn details<F: Connected>(control: &Control, id: InterfaceId, connect: &L3CrossConnect<F>) -> Option<L3xcDetails> {
    let ip = control.room::<Ip<F>>();
    let group = ip.fib.groups.get(group_of::<F>(control, &connect.interface))?;
    let paths = group.paths.iter().map(known).collect();
    Some(L3xcDetails { l3xc: L3xc { sw_if_index: id.into(), is_ip6: F::VERSION == 6, paths } })
}

#[cfg(test)]
mod tests;
