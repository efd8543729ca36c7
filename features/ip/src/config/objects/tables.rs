//! The objects of tables, of the tables of interfaces, and of addresses.

use std::fmt;
use std::marker::PhantomData;

use quiver_control::object::{Field, ObjectRef, Place, Problems, Scalar};
use quiver_control::{Object, ObjectError};
use quiver_interface::InterfaceName;
use quiver_wire::InterfaceAddress as Address;

use crate::family::Family;
use crate::fib::TableId;
use crate::flows::FlowField;

/// The number of a family's table in a configuration. Table 0 is always there, so nothing has to define it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableNumber<F: Family>(pub u32, PhantomData<F>);

impl<F: Family> TableNumber<F> {
    /// Table 0.
    pub const DEFAULT: TableNumber<F> = TableNumber::new(0);
    /// The table of this number.
    pub const fn new(number: u32) -> TableNumber<F> {
        TableNumber(number, PhantomData)
    }
}
impl<F: Family> From<TableNumber<F>> for TableId {
    fn from(table: TableNumber<F>) -> TableId {
        TableId(table.0)
    }
}
impl<F: Family> From<TableId> for TableNumber<F> {
    fn from(table: TableId) -> TableNumber<F> {
        TableNumber::new(table.0)
    }
}
impl<F: Family> fmt::Display for TableNumber<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
impl<F: Family> Field for TableNumber<F> {
    fn read(value: &quiver_control::serde_json::Value, problems: &mut Problems) -> Option<Self> {
        <u32 as Field>::read(value, problems).map(TableNumber::new)
    }
    fn write(&self) -> quiver_control::serde_json::Value {
        Scalar::to_value(&self.0)
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        if *self != TableNumber::DEFAULT {
            found(at, ObjectRef::new(IpTable::<F>::KIND, self.0.to_string()));
        }
    }
    fn expected() -> String {
        "the number of an IP table".into()
    }
    fn schema() -> quiver_control::serde_json::Value {
        <u32 as Scalar>::schema()
    }
}

quiver_control::choice! {
    /// Number of routes that a table is built for.
    pub enum TableSize {
        /// Few: little memory.
        Small = "small",
        /// Millions: the fastest lookup, and 64 MB of address space.
        Large = "large",
    } as "table-size", "small or large";
}

quiver_control::choice! {
    /// Action for packets without a route in the table.
    pub enum NoRoute {
        /// Senders receive an ICMP error: network unreachable (RFC 1812, 5.2.7.1).
        Unreachable = "unreachable",
        /// Packets are dropped.
        Drop = "drop",
    } as "no-route", "unreachable or drop";
}

quiver_control::choice! {
    /// Action for unicast packets in link-layer broadcasts or multicasts.
    pub enum LinkLayerBroadcast {
        /// Packets are dropped (RFC 1812, 5.3.4; RFC 1122, 3.3.6).
        Drop = "drop",
        /// Packets are forwarded or received, like those in unicast frames.
        Forward = "forward",
    } as "link-layer-broadcast", "drop or forward";
}

/// Defaults of tables that do not set these fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDefaults {
    /// Action for packets without a route.
    pub no_route: NoRoute,
    /// Action for unicast packets in link-layer broadcasts or multicasts.
    pub link_layer_broadcast: LinkLayerBroadcast,
}

impl Default for TableDefaults {
    /// As RFC 1812 has it.
    fn default() -> TableDefaults {
        TableDefaults { no_route: NoRoute::Unreachable, link_layer_broadcast: LinkLayerBroadcast::Drop }
    }
}

/// IP table (VRF). Table 0 always exists; an object for it sets its name and its options.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.tables)]
pub struct IpTable<F: Family> {
    /// Table id by which interfaces and routes refer to it.
    #[key]
    pub id: u32,
    /// Name of the table for people.
    pub name: Option<String>,
    /// Whether each route has a packet counter, which costs one memory access per packet.
    #[fixed]
    #[default(false)]
    pub counters: bool,
    /// Number of routes that the table is built for.
    #[fixed]
    #[default(TableSize::Small)]
    pub size: TableSize,
    /// Action for packets without a route: report them to their sender (RFC 1812, 5.2.7.1), or drop them silently.
    /// Default: quiverd's option --no-route.
    pub no_route: Option<NoRoute>,
    /// Action for unicast packets in link-layer broadcasts: drop them (RFC 1812, 5.3.4), or forward them. Default:
    /// quiverd's option --link-layer-broadcast.
    pub link_layer_broadcast: Option<LinkLayerBroadcast>,
    /// Fields of the flow hash for load balancing. Default: addresses, ports, protocol and, for IPv6, the last 16
    /// bits of the flow label.
    pub flow_hash: Vec<FlowField>,
    /// Whether the table also has multicast routes.
    #[default(true)]
    pub multicast: bool,
    /// Tables of the same number of two families are two.
    pub family: PhantomData<F>,
}

impl<F: Family> IpTable<F> {
    /// A table for those who add it, who say whether it has groups: as by VPP, they take none from a table that is there already,
    /// as table 0 always is.
    pub(crate) fn before_it_is_added(id: u32) -> IpTable<F> {
        IpTable { multicast: id == TableNumber::<F>::DEFAULT.0, ..IpTable::new(id) }
    }
}

/// IP table of an interface, if other than table 0.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.interface_tables)]
pub struct InterfaceTable<F: Family> {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Id of the table.
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
}

/// Address of an interface, with the prefix length of its link.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.addresses)]
pub struct InterfaceAddress<F: Family> {
    /// Name of the interface.
    #[key]
    #[follows(F::NAMES.interface_tables)]
    pub interface: InterfaceName,
    /// Address with prefix length, such as 192.0.2.1/24 or 2001:db8::1/64.
    #[key]
    pub address: Address<F>,
}

/// Checks a table on its own, regardless of other objects.
pub(in crate::config) fn check_table<F: Family>(table: &IpTable<F>) -> Result<(), ObjectError> {
    let other = if F::VERSION == 6 { FlowField::Tunnel } else { FlowField::Label };
    match table.flow_hash.iter().position(|field| *field == other) {
        Some(place) => Err(ObjectError::field(format!("flow-hash[{place}]"), format!("{} has no {other}", F::TITLE))
            .remedy("leave it out")),
        None => Ok(()),
    }
}
