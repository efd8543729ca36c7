//! Interfaces: their links, the tables in which their packets are looked up, and their configuration besides addresses.

use std::collections::BTreeSet;

use quiver_control::{Change, Control, Kind, ObjectError};
use quiver_interface::{
    InterfaceEvent, InterfaceId, InterfaceName, Interfaces, LOCAL, check_addressable, warns, watch,
};

use super::objects::InterfaceTable;
use super::room::Ip;
use crate::adjacency::Link;
use crate::family::Family;
use crate::fib::TableId;

pub(super) fn register<F: Family>(control: &Control) {
    control.objects().add(Kind::new(apply_interface_table::<F>));
}

/// The interface of this name, which is to have an address.
///
/// # Errors
/// If there is none, it neither sends nor receives, or its room refuses addresses.
pub(super) fn speaking(control: &Control, name: &InterfaceName) -> Result<InterfaceId, ObjectError> {
    let interfaces = control.room::<Interfaces>();
    let id = interfaces.id_of(&name.0)?;
    if id == LOCAL {
        let what = "local0 neither sends nor receives";
        return Err(ObjectError::field("interface", what).remedy("choose another one"));
    }
    interfaces.get(id).map_or(Ok(()), |interface| check_addressable(control, interface))?;
    Ok(id)
}

/// Keeps the FIB and the workers' view in step with the interfaces.
pub(super) fn follow<F: Family>(control: &Control) {
    warns(control, link_too_small::<F>);
    watch(control, |control, event| {
        let (InterfaceEvent::Created(id)
        | InterfaceEvent::Removed(id)
        | InterfaceEvent::AdminState(id)
        | InterfaceEvent::Link(id)
        | InterfaceEvent::Mtu(id)
        | InterfaceEvent::Mac(id)
        | InterfaceEvent::AddressAdded(id, _)
        | InterfaceEvent::AddressRemoved(id)) = event;
        let gone = matches!(event, InterfaceEvent::Removed(_));
        let link = if gone { None } else { link_of::<F>(control, id) };
        let up = control.room::<Interfaces>().get(id).is_some_and(|interface| interface.up);
        let mut ip = control.room_mut::<Ip<F>>();
        ip.fib.set_link(id, link);
        let known = match gone {
            // Its addresses went before it.
            true => ip.forget(id),
            false => {
                ip.set_up(id, up);
                ip.interfaces.get(id).is_some()
            }
        };
        if known {
            ip.publish_interface(id);
        }
        drop(ip);
        if matches!(event, InterfaceEvent::Mtu(_) | InterfaceEvent::AddressAdded(..))
            && let Some(warning) = link_too_small::<F>(control, id)
        {
            tracing::warn!("{warning}");
        }
    });
}

/// That a link takes less than each link of the family has to, if an interface speaks it there.
fn link_too_small<F: Family>(control: &Control, id: InterfaceId) -> Option<String> {
    let ip = control.room::<Ip<F>>();
    let mtu = ip.fib.adjacencies.link(id)?.mtu;
    let is_small = mtu < F::LINK_MTU_MIN && ip.interfaces.get(id)?.speaks();
    let (name, title, least) = (control.room::<Interfaces>().name(id), F::TITLE, F::LINK_MTU_MIN);
    is_small.then(|| {
        format!(
            "{name}: {title} needs an MTU of {least} (RFC 8200, 5), it has {mtu}: packets of {title} that it receives \
             are dropped, and so are longer ones that would leave by it"
        )
    })
}

/// Notes how many bytes of a packet routers on a link say that it takes (RFC 4861, 6.3.4): it takes no more, whatever is
/// configured. None forgets that.
pub fn say_mtu<F: Family>(control: &Control, id: InterfaceId, mtu: Option<u16>) {
    let changed = control.room_mut::<Ip<F>>().interfaces.set_announced_mtu(id, mtu);
    let link = link_of::<F>(control, id).filter(|_| changed);
    if let Some(link) = link {
        let mut ip = control.room_mut::<Ip<F>>();
        ip.fib.set_link(id, Some(link));
        ip.publish_interface(id);
    }
}

/// State of an interface for its adjacencies.
fn link_of<F: Family>(control: &Control, id: InterfaceId) -> Option<Link> {
    let interfaces = control.room::<Interfaces>();
    let interface = interfaces.get(id)?;
    let up = interfaces.is_usable(id);
    Some(Link {
        up,
        mac: interface.mac.0,
        mtu: interface.mtu_of(F::VERSION).min(control.room::<Ip<F>>().interfaces.announced_mtu(id)),
        point_to_point: interface.point_to_point,
        peer: interface.peer,
    })
}

impl<F: Family> Ip<F> {
    /// Whether an interface speaks the family without an address, too, and by which address on its link.
    pub(super) fn set_enabled(&mut self, id: InterfaceId, enabled: bool, link_local: Option<F::Address>) {
        let configured = self.interfaces.entry(id);
        (configured.enabled, configured.link_local) = (enabled, link_local);
        self.publish_interface(id);
    }
    /// Sets the interface whose addresses another one uses, or none.
    pub(super) fn set_lender(&mut self, id: InterfaceId, lender: Option<InterfaceId>) {
        self.interfaces.set_lender(id, lender);
        self.publish_interface(id);
    }
    /// Has an interface be in these groups besides its own, for a room of this name, in place of those that it was in for it.
    pub fn join(&mut self, id: InterfaceId, room: &'static str, groups: &BTreeSet<F::Address>) {
        let configured = self.interfaces.entry(id);
        if configured.joined.get(room).map_or(!groups.is_empty(), |joined| joined != groups) {
            configured.joined.insert(room, groups.clone());
            self.publish_interface(id);
        }
    }
    /// Removes an interface that is gone. True if it was known.
    fn forget(&mut self, id: InterfaceId) -> bool {
        let Some(gone) = self.interfaces.forget(id) else { return false };
        gone.link_hop.into_iter().for_each(|hop| self.fib.adjacencies.release(hop));
        true
    }
}

fn apply_interface_table<F: Family>(
    control: &Control,
    change: Change<'_, InterfaceTable<F>>,
) -> Result<(), ObjectError> {
    let (name, table) = match change {
        Change::Create(new) | Change::Update { new, .. } => (&new.interface.0, new.table.into()),
        Change::Delete(old) => (&old.interface.0, TableId::DEFAULT),
    };
    let id = control.room::<Interfaces>().id_of(name)?;
    let mut ip = control.room_mut::<Ip<F>>();
    let configured = ip.interfaces.entry(id);
    // Addresses and neighbours stand on this object, so they are down while it changes: their routes are in the table.
    debug_assert!(configured.addresses.is_empty(), "{name} has addresses while its table changes");
    configured.table = table;
    ip.fib.adjacencies.set_table(id, table);
    ip.publish_interface(id);
    Ok(())
}
