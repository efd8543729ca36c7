//! Addresses of interfaces, and the routes that follow from them.

use std::collections::BTreeMap;

use quiver_control::{Change, Control, Kind, ObjectError};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, tell};
use quiver_wire::{InterfaceAddress as Address, Prefix};

use super::configured::Meaning;
use super::error::refused;
use super::interfaces::speaking;
use super::objects::InterfaceAddress;
use super::recursion;
use super::room::Ip;
use crate::family::Family;
use crate::fib::{FibError, Path, Source, Special, Target};

pub(super) fn register<F: Family>(control: &Control) {
    control.objects().add(Kind::new(apply_address::<F>).check(check_address::<F>));
}

/// Checks an address on its own, regardless of other objects.
fn check_address<F: Family>(address: &InterfaceAddress<F>) -> Result<(), ObjectError> {
    F::check_address(&address.address)
}

fn apply_address<F: Family>(control: &Control, change: Change<'_, InterfaceAddress<F>>) -> Result<(), ObjectError> {
    let (wanted, add) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = speaking(control, &wanted.interface)?;
    if add {
        let (table, prefix) = (control.room::<Ip<F>>().table_of(id), wanted.address.prefix());
        recursion::note(control, (wanted, "address"), (table, prefix), &[Path::to(Target::Link(id))]);
    }
    change_address(control, id, wanted.address, add)
}

/// Gives an interface an address, or takes it away: one that is configured, or one that was learned from its link.
///
/// # Errors
/// If another interface is on a prefix that overlaps, or a route finds no room.
pub fn change_address<F: Family>(
    control: &Control,
    id: InterfaceId,
    wanted: Address<F>,
    add: bool,
) -> Result<(), ObjectError> {
    let mut ip = control.room_mut::<Ip<F>>();
    let mut addresses = ip.addresses(id).to_vec();
    addresses.retain(|address| *address != wanted);
    if add {
        let table = ip.table_of(id);
        if let Some((other, prefix)) = ip.interfaces.overlap(table, wanted.prefix(), id) {
            let other = control.room::<Interfaces>().name(other);
            return Err(ObjectError::field("address", format!("{other} is on {prefix}, which overlaps"))
                .remedy("choose another prefix, or another table for one of the interfaces"));
        }
        addresses.push(wanted);
    }
    let before = ip.link_local(id);
    ip.set_addresses(id, addresses).map_err(refused)?;
    // With the first address comes that of the link.
    let link_local = ip.link_local(id).filter(|_| before.is_none());
    drop(ip);
    tell(
        control,
        match add {
            true => InterfaceEvent::AddressAdded(id, wanted.address().into()),
            false => InterfaceEvent::AddressRemoved(id),
        },
    );
    if let Some(link_local) = link_local {
        tell(control, InterfaceEvent::AddressAdded(id, link_local.into()));
    }
    Ok(())
}

impl<F: Family> Ip<F> {
    /// Gives an interface its addresses, with their routes; if a route finds no room, it has those that it had.
    fn set_addresses(&mut self, id: InterfaceId, addresses: Vec<Address<F>>) -> Result<(), FibError> {
        let before = self.addresses(id).to_vec();
        let done = self.replace_addresses(id, addresses);
        if done.is_err()
            && let Err(error) = self.replace_addresses(id, before)
        {
            tracing::error!("an interface's addresses could not be given back: {error}");
        }
        done
    }
    /// Makes an interface's routes those of its addresses, as far as there is room.
    fn replace_addresses(&mut self, id: InterfaceId, addresses: Vec<Address<F>>) -> Result<(), FibError> {
        let configured = self.interfaces.entry(id);
        let table = configured.table;
        let wanted = match configured.up {
            true => routes_of(&addresses, configured.directed_broadcast),
            false => BTreeMap::new(),
        };
        let old = std::mem::replace(&mut configured.routes, wanted.clone());
        self.interfaces.set_addresses(id, addresses);
        // Workers know an address as ours before the first packet for it is led to `ip4-local`.
        self.publish_interface(id);
        // What comes may find no room, and then what went has to be there still.
        for (prefix, kind) in wanted.iter().filter(|(prefix, kind)| old.get(prefix) != Some(kind)) {
            let target = match kind {
                Meaning::Connected => Target::Link(id),
                Meaning::Local => Target::Special(Special::Local),
                Meaning::Broadcast => Target::Special(Special::Broadcast),
                Meaning::Directed => {
                    self.fib.adjacencies.set_broadcast(id, prefix.address(), true);
                    Target::NextHop(id, prefix.address())
                }
            };
            self.fib.insert(table, *prefix, Source::Interface, vec![Path::to(target)])?;
        }
        for prefix in old.keys().filter(|prefix| !wanted.contains_key(prefix)) {
            self.fib.remove(table, *prefix, Source::Interface);
        }
        for (prefix, _) in old.iter().filter(|(_, kind)| **kind == Meaning::Directed) {
            if wanted.get(prefix) != Some(&Meaning::Directed) {
                self.fib.adjacencies.set_broadcast(id, prefix.address(), false);
            }
        }
        Ok(())
    }
    /// An interface is up now, or down: then the routes of its addresses are gone.
    pub(super) fn set_up(&mut self, id: InterfaceId, up: bool) {
        let is_new = self.interfaces.get(id).is_none();
        if is_new && !up {
            return;
        }
        let configured = self.interfaces.entry(id);
        if std::mem::replace(&mut configured.up, up) == up {
            return;
        }
        let addresses = configured.addresses.clone();
        if addresses.is_empty() {
            return;
        }
        if let Err(error) = self.replace_addresses(id, addresses) {
            tracing::error!("interface {}: the routes of its addresses found no room: {error}", id.0);
        }
    }
    /// Whether packets for all on an interface's subnets are forwarded there.
    pub(super) fn set_directed_broadcast(&mut self, id: InterfaceId, wanted: bool) -> Result<(), FibError> {
        let configured = self.interfaces.entry(id);
        configured.directed_broadcast = wanted;
        let addresses = configured.addresses.clone();
        self.set_addresses(id, addresses)
    }
}

/// The routes that follow from an interface's addresses.
fn routes_of<F: Family>(addresses: &[Address<F>], directed_broadcast: bool) -> BTreeMap<Prefix<F>, Meaning> {
    let mut routes = BTreeMap::new();
    for address in addresses {
        let prefix = address.prefix();
        if prefix.length() < F::ADDRESS_BITS {
            routes.insert(prefix, Meaning::Connected);
        }
        // RFC 3021: a /31 has no broadcast addresses.
        if F::HAS_BROADCASTS && prefix.length() < F::ADDRESS_BITS - 1 {
            // RFC 1812, 4.2.3.1: the all-zeros form is a broadcast, too.
            routes.insert(Prefix::host(prefix.address()), Meaning::Broadcast);
            let meaning = if directed_broadcast { Meaning::Directed } else { Meaning::Broadcast };
            routes.insert(Prefix::host(prefix.last_address()), meaning);
        }
    }
    routes.extend(addresses.iter().map(|address| (Prefix::host(address.address()), Meaning::Local)));
    routes
}
