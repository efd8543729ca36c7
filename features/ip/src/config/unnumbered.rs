//! Unnumbered interfaces: those that speak by the addresses of another one, of both families. Nothing is on their link by a
//! subnet; routes and neighbours say what is.

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::{InterfaceEvent, InterfaceId, InterfaceName, Interfaces, tell};
use quiver_wire::{InterfaceAddress, V4, V6};

use crate::config::interfaces::speaking;
use crate::config::room::Ip;
use crate::family::Family;

/// Unnumbered interface: it uses the addresses of another interface.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "unnumbered-interfaces")]
pub struct UnnumberedInterface {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Interface whose addresses it uses.
    pub lender: InterfaceName,
}

pub(super) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check));
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
    let id = speaking(control, &wanted.interface)?;
    let lender = lender.map(|lender| control.room::<Interfaces>().id_of(&lender.0)).transpose()?;
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
