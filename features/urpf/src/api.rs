//! VPP's messages about reverse path forwarding: `urpf.api`.

use quiver_compat::types::{AddressFamily, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::Control;
use quiver_interface::api::{details_at, dump, name};
use quiver_interface::{Direction, InterfaceId};
use quiver_ip::Ip;
use quiver_ip::api::by_family;
use quiver_ip::fib::TableId;
use quiver_ip::objects::TableNumber;
use quiver_wire::{V4, V6};

use crate::config::{Checked, Mode, ReversePathCheck};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "urpf", (1, 0, 0), |file| {
        file.request(|control, request: UrpfUpdate| {
            let UrpfUpdate { is_input, mode, af, sw_if_index } = request;
            // As in VPP: this one knows of no other table.
            update(control, UrpfUpdateV2 { is_input, mode, af, sw_if_index, table_id: TableId::DEFAULT.0 })
        });
        file.request(update);
        file.dump(|control, request: UrpfInterfaceDump| {
            dump(control, request.sw_if_index, |control, id, name| {
                let at = (id, &name);
                [details_at(control, at, details::<V4>), details_at(control, at, details::<V6>)].concat()
            })
        });
    });
}

/// Mode of the source address check.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "urpf_mode")]
#[repr(u8)]
enum UrpfMode {
    /// No check.
    #[default]
    #[value("URPF_API_MODE_OFF")]
    Off = 0,
    /// Any route to the source.
    #[value("URPF_API_MODE_LOOSE")]
    Loose = 1,
    /// The reverse path (RFC 3704, 2.2).
    #[value("URPF_API_MODE_STRICT")]
    Strict = 2,
}

/// Sets the uRPF mode of an interface by family and direction; source addresses are looked up in table 0.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct UrpfUpdate {
    #[default(true)]
    is_input: bool,
    mode: UrpfMode,
    af: AddressFamily,
    sw_if_index: InterfaceIndex,
}

/// Sets the uRPF mode of an interface by family and direction. Source addresses are looked up in `table_id`;
/// 0xffffffff selects the interface's table.
#[derive(Message, Clone, Debug)]
#[message(request, name = "urpf_update_v2")]
struct UrpfUpdateV2 {
    #[default(true)]
    is_input: bool,
    mode: UrpfMode,
    af: AddressFamily,
    sw_if_index: InterfaceIndex,
    #[default(4294967295)]
    table_id: u32,
}

/// Dumps the uRPF checks of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = UrpfInterfaceDetails)]
struct UrpfInterfaceDump {
    #[default(4294967295)]
    sw_if_index: InterfaceIndex,
}

/// Describes one uRPF check: its interface, direction, mode, family and table.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct UrpfInterfaceDetails {
    sw_if_index: InterfaceIndex,
    is_input: bool,
    mode: UrpfMode,
    af: AddressFamily,
    table_id: u32,
}

fn update(control: &Control, request: UrpfUpdateV2) -> Result<(), Refusal> {
    by_family!(request.af == AddressFamily::Ip6, update_family(control, &request))
}

fn update_family<F: Checked>(control: &Control, request: &UrpfUpdateV2) -> Result<(), Refusal> {
    let (interface, direction) = (name(control, request.sw_if_index)?, Direction::received(request.is_input));
    let mode = match request.mode {
        UrpfMode::Loose => Mode::Loose,
        UrpfMode::Strict => Mode::Strict,
        UrpfMode::Off => return Ok(control.assign::<ReversePathCheck<F>>(&(interface, direction), None)?),
    };
    let table = match request.table_id {
        NONE => None,
        id if control.room::<Ip<F>>().fib.table(TableId(id)).is_none() => {
            return Err(Refusal::new(Retval::INVALID_VALUE, format!("table_id: there is no table {id}")));
        }
        id => Some(TableNumber::new(id)),
    };
    Ok(control.put(ReversePathCheck::<F> { interface, direction, mode, table })?)
}

fn details<F: Checked>(control: &Control, id: InterfaceId, check: &ReversePathCheck<F>) -> UrpfInterfaceDetails {
    let mode = match check.mode {
        Mode::Loose => UrpfMode::Loose,
        Mode::Strict => UrpfMode::Strict,
    };
    let af = if F::VERSION == 6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 };
    let table_id = check.table.map_or_else(|| control.room::<Ip<F>>().table_of(id), TableId::from).0;
    UrpfInterfaceDetails { sw_if_index: id.into(), is_input: check.direction == Direction::Rx, mode, af, table_id }
}

#[cfg(test)]
mod tests;
