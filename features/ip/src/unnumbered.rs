//! Unnumbered interfaces: those that speak by the addresses of another one, of both families. Nothing is on their link by a
//! subnet; routes and neighbours say what is.

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal};
use quiver_control::cli::{Command, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::api::name;
use quiver_interface::{InterfaceEvent, InterfaceId, InterfaceName, Interfaces, LOCAL, tell};
use quiver_wire::{InterfaceAddress, V4, V6};

use crate::family::Family;
use crate::room::Ip;

/// An interface that uses the addresses of another one, whatever addresses of its own it has.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "unnumbered-interfaces")]
pub struct UnnumberedInterface {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// The interface whose addresses it uses.
    pub lender: InterfaceName,
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check));
    let commands = control.commands();
    let set = "set interface unnumbered <interface> use <lender:interface>";
    let set = Command::new(set, "Let an interface use the addresses of another one.", |control, given| {
        control.put(UnnumberedInterface { interface: given.get("interface")?, lender: given.get("lender")? })?;
        Ok(Reply::done())
    });
    commands.add(set.argument("lender", "the interface whose addresses it uses"));
    let del = "set interface unnumbered del <interface>";
    commands.add(Command::new(del, "Let an interface use its own addresses only.", |control, given| {
        control.delete::<UnnumberedInterface>(&given.get("interface")?)?;
        Ok(Reply::done())
    }));
}

fn check(wanted: &UnnumberedInterface) -> Result<(), ObjectError> {
    if wanted.interface == wanted.lender {
        return Err(
            ObjectError::field("lender", "an interface has its own addresses anyway").remedy("name another one")
        );
    }
    Ok(())
}

fn apply(control: &Control, change: Change<'_, UnnumberedInterface>) -> Result<(), ObjectError> {
    let (wanted, lender) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, Some(&new.lender)),
        Change::Delete(old) => (old, None),
    };
    let id_of = |name: &InterfaceName| control.room::<Interfaces>().id_of(&name.0);
    let (id, lender) = (id_of(&wanted.interface)?, lender.map(id_of).transpose()?);
    if id == LOCAL {
        return Err(ObjectError::field("interface", "local0 neither sends nor receives").remedy("choose another one"));
    }
    borrow::<V4>(control, id, lender);
    borrow::<V6>(control, id, lender);
    Ok(())
}

/// Gives an interface the addresses of another one, or takes them away.
fn borrow<F: Family>(control: &Control, id: InterfaceId, lender: Option<InterfaceId>) {
    let own = |ip: &Ip<F>| -> Vec<F::Address> {
        ip.current().interfaces.get(id.index()).map_or(vec![], |interface| interface.own().collect())
    };
    let before = own(&control.room::<Ip<F>>());
    control.room_mut::<Ip<F>>().set_lender(id, lender);
    let after = own(&control.room::<Ip<F>>());
    if before.iter().any(|old| !after.contains(old)) {
        tell(control, InterfaceEvent::AddressRemoved(id));
    }
    let new = after.into_iter().filter(|new| !before.contains(new));
    new.for_each(|new| tell(control, InterfaceEvent::AddressAdded(id, new.into())));
}

impl<F: Family> Ip<F> {
    /// The interface whose addresses another one uses.
    pub fn lender(&self, id: InterfaceId) -> Option<InterfaceId> {
        self.configured(id)?.lender
    }
    /// Whether an address is on the subnet of another interface, whose addresses this one does not use.
    pub fn is_elsewhere(&self, id: InterfaceId, address: F::Address) -> bool {
        let contains = |own: &InterfaceAddress<F>| own.prefix().contains(address);
        let (here, other) = (self.current().addresses(id), self.subnet_of(self.table_of(id), address));
        !here.iter().any(contains) && other.is_some_and(|other| other != id)
    }
    /// Whether the route to an address leads out of an interface.
    pub fn leads_to(&self, id: InterfaceId, address: F::Address) -> bool {
        let group = self.fib.table(self.table_of(id)).and_then(|table| table.find(address));
        let group = group.and_then(|(_, group)| self.fib.groups.get(group));
        let leaves = |hop: &u32| self.fib.adjacencies.get(*hop).is_some_and(|adjacency| adjacency.interface == id);
        group.is_some_and(|group| group.hops.iter().any(leaves))
    }
    /// Whether the table of an interface takes packets for an address as ours, by a route for it alone.
    pub fn is_local_route(&self, id: InterfaceId, address: F::Address) -> bool {
        let found = self.fib.table(self.table_of(id)).and_then(|table| table.find(address));
        let of_host = found.filter(|(prefix, _)| prefix.length() == F::ADDRESS_BITS);
        let group = of_host.and_then(|(_, group)| self.fib.groups.get(group));
        group.is_some_and(|group| group.hops.iter().all(|hop| *hop == crate::fib::hop::LOCAL))
    }
}

pub(crate) fn add_messages(file: &mut Adding<'_>) {
    file.dump(|control, IpUnnumberedDump { sw_if_index }: IpUnnumberedDump| {
        let interfaces = control.room::<Interfaces>();
        let id_of = |name: &InterfaceName| interfaces.id_of(&name.0).ok();
        let all = control.objects().all::<UnnumberedInterface>();
        let ids = all.iter().filter_map(|object| Some((id_of(&object.interface)?, id_of(&object.lender)?)));
        let wanted = ids.filter(|(id, _)| sw_if_index.0 == NONE || sw_if_index.0 == id.0);
        let told = |(id, lender): (InterfaceId, InterfaceId)| IpUnnumberedDetails {
            sw_if_index: id.into(),
            ip_sw_if_index: lender.into(),
        };
        wanted.map(told).collect::<Vec<_>>()
    });
}

pub(crate) fn add_messages_of_interfaces(file: &mut Adding<'_>) {
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

/// The interfaces that use the addresses of others, one after the other.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpUnnumberedDetails)]
pub(crate) struct IpUnnumberedDump {
    #[default(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// An interface that uses the addresses of another one.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(crate) struct IpUnnumberedDetails {
    pub sw_if_index: InterfaceIndex,
    pub ip_sw_if_index: InterfaceIndex,
}

/// Let an interface use the addresses of `sw_if_index`, or its own only.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(crate) struct SwInterfaceSetUnnumbered {
    pub sw_if_index: InterfaceIndex,
    pub unnumbered_sw_if_index: InterfaceIndex,
    pub is_add: bool,
}
