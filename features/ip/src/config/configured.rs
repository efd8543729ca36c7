//! Configuration of a family's interfaces and tables. This file keeps it; `tables`, `interfaces`, `addresses` and `publish` pass it on to the
//! FIB and to workers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quiver_interface::InterfaceId;
use quiver_wire::{InterfaceAddress as Address, Prefix};

use super::objects::{IpTable, LinkLayerBroadcast, NoRoute, TableDefaults};
use super::special::Specials;
use crate::family::Family;
use crate::fib::TableId;
use crate::flows::{FlowField, Flows};

/// Configuration of an interface.
#[derive(Clone)]
pub(crate) struct Configured<F: Family> {
    pub table: TableId,
    pub addresses: Vec<Address<F>>,
    /// The routes that follow from its addresses.
    pub routes: BTreeMap<Prefix<F>, Meaning>,
    /// Whether it is up: the routes of its addresses are there only then.
    pub up: bool,
    /// Whether packets for all on its subnets are forwarded there.
    pub directed_broadcast: bool,
    /// Whether it speaks the family without an address, too.
    pub enabled: bool,
    /// Its address for its link, if not the one that its MAC address makes.
    pub link_local: Option<F::Address>,
    /// The interface whose addresses it uses, too.
    pub lender: Option<InterfaceId>,
    /// The adjacency that stands for all on its link, where it has an address for that.
    pub link_hop: Option<u32>,
    /// The groups that it is in for others, by the room that wants it to be.
    pub joined: BTreeMap<&'static str, BTreeSet<F::Address>>,
}

impl<F: Family> Default for Configured<F> {
    fn default() -> Configured<F> {
        Configured {
            table: TableId::DEFAULT,
            addresses: vec![],
            routes: BTreeMap::new(),
            up: false,
            directed_broadcast: false,
            enabled: false,
            link_local: None,
            lender: None,
            link_hop: None,
            joined: BTreeMap::new(),
        }
    }
}

impl<F: Family> Configured<F> {
    /// The groups that it is in for others, each once.
    pub fn groups(&self) -> Arc<[F::Address]> {
        let all: BTreeSet<F::Address> = self.joined.values().flatten().copied().collect();
        all.into_iter().collect()
    }
    /// Whether it speaks the family.
    pub fn speaks(&self) -> bool {
        self.enabled || self.lender.is_some() || !self.addresses.is_empty()
    }
}

/// Role of a prefix that follows from an interface's addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Connected,
    Local,
    Broadcast,
    /// A subnet's last address, whose packets are broadcast on the link.
    Directed,
}

/// Configuration of all interfaces.
pub(super) struct ConfiguredInterfaces<F: Family> {
    by_id: BTreeMap<InterfaceId, Configured<F>>,
    /// The prefixes of all addresses: whose they are, and how many addresses have them.
    connected: BTreeMap<(TableId, Prefix<F>), (InterfaceId, usize)>,
    /// Interfaces that use the addresses of others, each behind its lender.
    borrowers: BTreeSet<(InterfaceId, InterfaceId)>,
    /// The MTUs that routers announce for their links.
    announced_mtus: BTreeMap<InterfaceId, u16>,
}

impl<F: Family> Default for ConfiguredInterfaces<F> {
    fn default() -> ConfiguredInterfaces<F> {
        ConfiguredInterfaces {
            by_id: BTreeMap::new(),
            connected: BTreeMap::new(),
            borrowers: BTreeSet::new(),
            announced_mtus: BTreeMap::new(),
        }
    }
}

impl<F: Family> ConfiguredInterfaces<F> {
    /// The configuration of an interface.
    pub fn get(&self, id: InterfaceId) -> Option<&Configured<F>> {
        self.by_id.get(&id)
    }
    /// The same, to be changed.
    pub fn get_mut(&mut self, id: InterfaceId) -> Option<&mut Configured<F>> {
        self.by_id.get_mut(&id)
    }
    /// The same; an interface that is new begins with the default.
    pub fn entry(&mut self, id: InterfaceId) -> &mut Configured<F> {
        self.by_id.entry(id).or_default()
    }
    /// The table of an interface.
    pub fn table_of(&self, id: InterfaceId) -> TableId {
        self.get(id).map_or(TableId::DEFAULT, |configured| configured.table)
    }
    /// The addresses of an interface.
    pub fn addresses(&self, id: InterfaceId) -> &[Address<F>] {
        self.get(id).map_or(&[], |configured| &configured.addresses)
    }
    /// The addresses that an interface has, and those that it may use.
    pub fn usable_addresses(&self, configured: &Configured<F>) -> Arc<[Address<F>]> {
        match configured.lender {
            Some(lender) => configured.addresses.iter().chain(self.addresses(lender)).copied().collect(),
            None => configured.addresses.as_slice().into(),
        }
    }
    /// Gives an interface these addresses in place of those that it had.
    pub fn set_addresses(&mut self, id: InterfaceId, addresses: Vec<Address<F>>) {
        let configured = self.by_id.entry(id).or_default();
        let table = configured.table;
        for address in std::mem::replace(&mut configured.addresses, addresses.clone()) {
            let key = (table, address.prefix());
            if let Some((_, count)) = self.connected.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.connected.remove(&key);
                }
            }
        }
        for address in addresses {
            self.connected.entry((table, address.prefix())).or_insert((id, 0)).1 += 1;
        }
    }
    /// The interface whose address this is in a table.
    pub fn owner(&self, table: TableId, address: F::Address) -> Option<InterfaceId> {
        let has = |own: &Configured<F>| own.table == table && own.addresses.iter().any(|own| own.address() == address);
        self.by_id.iter().find(|(_, configured)| has(configured)).map(|(id, _)| *id)
    }
    /// The interface on whose subnet an address is.
    pub fn subnet_of(&self, table: TableId, address: F::Address) -> Option<InterfaceId> {
        let covers = (0..=F::ADDRESS_BITS).rev().filter_map(|length| Prefix::new(address, length).ok());
        covers.filter_map(|cover| self.connected.get(&(table, cover))).map(|(id, _)| *id).next()
    }
    /// Another interface than `id` that has addresses on a part of `prefix`, or on more than it.
    pub fn overlap(&self, table: TableId, prefix: Prefix<F>, id: InterfaceId) -> Option<(InterfaceId, Prefix<F>)> {
        let above = (0..=prefix.length()).filter_map(|length| Prefix::new(prefix.address(), length).ok());
        let above = above.filter_map(|above| self.connected.get_key_value(&(table, above)));
        let (first, last) = ((table, prefix), (table, Prefix::host(prefix.last_address())));
        let overlapping = above.chain(self.connected.range(first..=last));
        overlapping.map(|((_, prefix), (other, _))| (*other, *prefix)).find(|(other, _)| *other != id)
    }
    /// Sets the interface whose addresses another one uses, or none.
    pub fn set_lender(&mut self, id: InterfaceId, lender: Option<InterfaceId>) {
        let before = std::mem::replace(&mut self.entry(id).lender, lender);
        before.map(|before| self.borrowers.remove(&(before, id)));
        lender.map(|lender| self.borrowers.insert((lender, id)));
    }
    /// The interfaces that use the addresses of this one.
    pub fn borrowers_of(&self, id: InterfaceId) -> Vec<InterfaceId> {
        let borrowers = self.borrowers.range((id, InterfaceId(0))..=(id, InterfaceId(u32::MAX)));
        borrowers.map(|(_, borrower)| *borrower).collect()
    }
    /// The MTU that routers announce for a link; the largest if none does.
    pub fn announced_mtu(&self, id: InterfaceId) -> u16 {
        self.announced_mtus.get(&id).copied().unwrap_or(u16::MAX)
    }
    /// Sets that MTU. True if it has changed.
    pub fn set_announced_mtu(&mut self, id: InterfaceId, mtu: Option<u16>) -> bool {
        match mtu {
            Some(mtu) => self.announced_mtus.insert(id, mtu) != Some(mtu),
            None => self.announced_mtus.remove(&id).is_some(),
        }
    }
    /// Removes an interface that is gone, and returns its configuration.
    pub fn forget(&mut self, id: InterfaceId) -> Option<Configured<F>> {
        self.announced_mtus.remove(&id);
        let gone = self.by_id.remove(&id)?;
        gone.lender.map(|lender| self.borrowers.remove(&(lender, id)));
        Some(gone)
    }
}

/// Configuration of all tables.
pub(super) struct ConfiguredTables<F: Family> {
    /// Options of tables that leave them out.
    pub defaults: TableDefaults,
    /// Actions for special prefixes, in all tables.
    pub specials: Specials<F>,
    /// The router's number, which is part of each flow hash.
    pub router: u32,
    /// Tables that forward unicast packets of broadcast and multicast frames.
    forwarding_broadcasts: BTreeSet<TableId>,
    /// Fields of the flow hash, in tables that choose them.
    flow_fields: BTreeMap<TableId, Vec<FlowField>>,
}

impl<F: Family> Default for ConfiguredTables<F> {
    fn default() -> ConfiguredTables<F> {
        ConfiguredTables {
            defaults: TableDefaults::default(),
            specials: Specials::default(),
            router: 0,
            forwarding_broadcasts: BTreeSet::new(),
            flow_fields: BTreeMap::new(),
        }
    }
}

impl<F: Family> ConfiguredTables<F> {
    /// The action for packets without a route in a table.
    pub fn no_route(&self, table: &IpTable<F>) -> NoRoute {
        table.no_route.unwrap_or(self.defaults.no_route)
    }
    /// Sets a table's handling of link-layer broadcasts, and its flow hash.
    pub fn set(&mut self, table: &IpTable<F>) {
        let id = TableId(table.id);
        match table.link_layer_broadcast.unwrap_or(self.defaults.link_layer_broadcast) {
            LinkLayerBroadcast::Forward => self.forwarding_broadcasts.insert(id),
            LinkLayerBroadcast::Drop => self.forwarding_broadcasts.remove(&id),
        };
        match table.flow_hash.is_empty() {
            true => self.flow_fields.remove(&id),
            false => self.flow_fields.insert(id, table.flow_hash.clone()),
        };
    }
    /// Removes a table that is gone.
    pub fn forget(&mut self, id: TableId) {
        self.forwarding_broadcasts.remove(&id);
        self.flow_fields.remove(&id);
    }
    /// Whether a table forwards unicast packets of broadcast and multicast frames.
    pub fn forwards_broadcasts(&self, id: TableId) -> bool {
        self.forwarding_broadcasts.contains(&id)
    }
    /// The flow hash of a table.
    pub fn flows(&self, id: TableId) -> Flows {
        let fields = self.flow_fields.get(&id).map_or(&[][..], Vec::as_slice);
        Flows::new::<F>(fields, self.router)
    }
}
