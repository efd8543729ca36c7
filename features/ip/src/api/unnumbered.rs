//! Messages about interfaces that use the addresses of others.

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal};
use quiver_interface::api::name;
use quiver_interface::{InterfaceName, Interfaces};

use crate::config::unnumbered::UnnumberedInterface;

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.dump(|control, IpUnnumberedDump { sw_if_index }: IpUnnumberedDump| {
        let control = control.clone();
        control.clone().walk::<UnnumberedInterface>().map(move |object| {
            let id_of = |name: &InterfaceName| control.room::<Interfaces>().id_of(&name.0).ok();
            let (id, lender) = (id_of(&object.interface)?, id_of(&object.lender)?);
            let is_wanted = sw_if_index.0 == NONE || sw_if_index.0 == id.0;
            is_wanted.then(|| IpUnnumberedDetails { sw_if_index: id.into(), ip_sw_if_index: lender.into() })
        })
    });
}

pub(super) fn add_messages_of_interfaces(file: &mut Adding<'_>) {
    file.request(|control, request: SwInterfaceSetUnnumbered| -> Result<(), Refusal> {
        let lender = name(control, request.sw_if_index)?;
        let interface = name(control, request.unnumbered_sw_if_index)?;
        let is_there = control.objects().get::<UnnumberedInterface>(&interface).is_some();
        match (request.is_add, is_there) {
            (true, _) => Ok(control.put(UnnumberedInterface { interface, lender })?),
            (false, true) => Ok(control.delete::<UnnumberedInterface>(&interface)?),
            (false, false) => Ok(()),
        }
    });
}

/// Dumps one unnumbered interface, or all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpUnnumberedDetails)]
pub(super) struct IpUnnumberedDump {
    #[default(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// Describes one unnumbered interface, and the interface whose addresses it uses.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct IpUnnumberedDetails {
    pub sw_if_index: InterfaceIndex,
    pub ip_sw_if_index: InterfaceIndex,
}

/// Makes `unnumbered_sw_if_index` use the addresses of `sw_if_index`, or its own again.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetUnnumbered {
    pub sw_if_index: InterfaceIndex,
    pub unnumbered_sw_if_index: InterfaceIndex,
    pub is_add: bool,
}
