//! The workers' view of the configuration: interfaces, tables, usable addresses and path MTUs.

use quiver_interface::InterfaceId;
use quiver_wire::MacAddress;

use super::room::Ip;
use crate::family::Family;
use crate::fib::TableId;
use crate::ingress::{ENABLED, Ingress, IpInterface, TableView};

impl<F: Family> Ip<F> {
    /// Tells workers what has become of an interface, and of those that use its addresses.
    pub(super) fn publish_interface(&mut self, id: InterfaceId) {
        self.publish_one(id);
        let borrowers = self.interfaces.borrowers_of(id);
        borrowers.into_iter().for_each(|borrower| self.publish_one(borrower));
    }
    fn publish_one(&mut self, id: InterfaceId) {
        let link = self.fib.adjacencies.link(id).copied().unwrap_or_default();
        let link_local = self.interfaces.get(id).filter(|configured| configured.speaks());
        let link_local =
            link_local.and_then(|configured| configured.link_local.or_else(|| F::link_local(MacAddress(link.mac))));
        let link_hop = self.hold_link(id, link_local.is_some());
        let known = self.interfaces.get(id).map(|configured| {
            let slot = self.fib.table(configured.table).map_or(0, |table| table.slot);
            // A link that takes less than every link of the family has to is none of its links (RFC 8200, 5).
            let enabled = if configured.speaks() && link.mtu >= F::LINK_MTU_MIN { ENABLED } else { 0 };
            IpInterface {
                word: u32::from(slot) | enabled,
                addresses: self.interfaces.usable_addresses(configured),
                link_local,
                link_hop,
                link,
                joined: configured.groups(),
            }
        });
        let known = known.unwrap_or_default();
        if self.current().interfaces.get(id.index()) == Some(&known) {
            return;
        }
        self.published.ingress.edit(|ingress| *ingress.interfaces.get_mut(id.index()) = known);
    }
    /// Tells workers what tables there are.
    pub(super) fn publish_tables(&mut self) {
        let (mut tables, mut counting, mut choosing) = (vec![], false, false);
        for table in self.fib.tables() {
            let place = usize::from(table.slot);
            tables.resize(tables.len().max(place + 1), None);
            let counted = table.counted();
            counting |= counted.is_some();
            let forwards_broadcasts = self.tables.forwards_broadcasts(table.id);
            let flows = self.tables.flows(table.id);
            choosing |= !flows.is_usual();
            let id = table.id;
            tables[place] = Some(TableView { id, lpm: table.reader(), counted, forwards_broadcasts, flows });
        }
        let (interfaces, ordinary) = (self.current().interfaces.clone(), self.tables.specials.ordinary());
        let lenient = !ordinary.is_empty();
        let Ingress { unusable, deprecated, path_mtus, .. } = self.current().clone();
        let tables = tables.into();
        let ingress =
            Ingress { interfaces, tables, counting, choosing, ordinary, lenient, unusable, deprecated, path_mtus };
        self.published.ingress.publish(ingress);
    }
    /// Has the adjacency that stands for all on a link, where the link is spoken to by an address of its own.
    fn hold_link(&mut self, id: InterfaceId, wanted: bool) -> u32 {
        let Some(configured) = self.interfaces.get_mut(id) else { return 0 };
        match (configured.link_hop, wanted) {
            (None, true) => configured.link_hop = Some(self.fib.adjacencies.acquire(id, None)),
            (Some(hop), false) => {
                configured.link_hop = None;
                self.fib.adjacencies.release(hop);
            }
            _ => {}
        }
        configured.link_hop.unwrap_or(0)
    }
    /// Notes whether an address of an interface may be used: as its source, and by those who speak to it (RFC 4862, 5.4).
    pub fn set_usable(&mut self, id: InterfaceId, address: F::Address, usable: bool) {
        let changed = match usable {
            true => self.usability.unusable.remove(&(id, address)),
            false => self.usability.unusable.insert((id, address)),
        };
        if changed {
            let unusable = self.usability.unusable.iter().copied().collect();
            self.published.ingress.update(|ingress| Ingress { unusable, ..ingress.clone() });
            self.usability.changed.notify();
        }
    }
    /// Notes whether nothing new is to begin with an address of an interface (RFC 4862, 5.5.4).
    pub fn set_deprecated(&mut self, id: InterfaceId, address: F::Address, deprecated: bool) {
        let changed = match deprecated {
            true => self.usability.deprecated.insert((id, address)),
            false => self.usability.deprecated.remove(&(id, address)),
        };
        if changed {
            let deprecated = self.usability.deprecated.iter().copied().collect();
            self.published.ingress.update(|ingress| Ingress { deprecated, ..ingress.clone() });
        }
    }
    /// Sets how many bytes of a packet a host of a table gets at most; None leaves that to the links that lead to it.
    pub(super) fn set_path_mtu(&mut self, table: TableId, peer: F::Address, mtu: Option<u16>) {
        self.fib.adjacencies.set_path_mtu(table, peer, mtu);
        let path_mtus = self.fib.adjacencies.path_mtus().clone();
        self.published.ingress.update(|ingress| Ingress { path_mtus, ..ingress.clone() });
    }
}
