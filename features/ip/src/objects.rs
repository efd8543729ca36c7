//! What is configured of IP: tables, which interface looks up in which, addresses and routes.

use std::fmt;
use std::net::Ipv4Addr;

use quiver_control::object::{Field, ObjectRef, Place, Problems, Scalar};
use quiver_control::{Object, ObjectError, Record};
use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, Prefix, V4};

use crate::fib::TableId;

/// The number of a table in a configuration. Table 0 is always there, so nothing has to define it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableNumber(pub u32);

impl From<TableNumber> for TableId {
    fn from(table: TableNumber) -> TableId {
        TableId(table.0)
    }
}
impl fmt::Display for TableNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
impl Field for TableNumber {
    fn read(value: &quiver_control::serde_json::Value, problems: &mut Problems) -> Option<Self> {
        <u32 as Field>::read(value, problems).map(TableNumber)
    }
    fn write(&self) -> quiver_control::serde_json::Value {
        Scalar::to_value(&self.0)
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        if self.0 != TableId::DEFAULT.0 {
            found(at, ObjectRef::new(IpTable::KIND, self.0.to_string()));
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
    /// How many routes a table is made for.
    pub enum TableSize {
        /// Few: little memory.
        Small = "small",
        /// Millions: the fastest lookup, and 64 MB of address space.
        Large = "large",
    } as "table-size", "small or large";
}

quiver_control::choice! {
    /// What becomes of packets for which a table has no route.
    pub enum NoRoute {
        /// Their senders are told that the network is unreachable (RFC 1812, 5.2.7.1).
        Unreachable = "unreachable",
        /// They vanish.
        Drop = "drop",
    } as "no-route", "unreachable or drop";
}

quiver_control::choice! {
    /// What becomes of packets for one host that came in a frame for many.
    pub enum LinkLayerBroadcast {
        /// They vanish (RFC 1812, 5.3.4; RFC 1122, 3.3.6).
        Drop = "drop",
        /// They are forwarded, or taken, as if the frame had been for us alone.
        Forward = "forward",
    } as "link-layer-broadcast", "drop or forward";
}

/// What holds of tables that say nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDefaults {
    /// What becomes of packets without a route.
    pub no_route: NoRoute,
    /// What becomes of packets for one host in frames for many.
    pub link_layer_broadcast: LinkLayerBroadcast,
}

impl Default for TableDefaults {
    /// As RFC 1812 has it.
    fn default() -> TableDefaults {
        TableDefaults { no_route: NoRoute::Unreachable, link_layer_broadcast: LinkLayerBroadcast::Drop }
    }
}

/// A table of routes. Table 0 is always there; what is said of it here is its name, and what it does with packets that a router
/// need not forward.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "ip-tables")]
pub struct IpTable {
    /// The number by which interfaces and routes name it.
    #[key]
    pub id: u32,
    /// A name for people.
    pub name: Option<String>,
    /// Whether packets are counted by route, which costs a memory access for each.
    #[fixed]
    #[default(false)]
    pub counters: bool,
    /// How many routes it is made for.
    #[fixed]
    #[default(TableSize::Small)]
    pub size: TableSize,
    /// What becomes of packets for which it has no route: their senders are told, as of a router (RFC 1812, 5.2.7.1), or
    /// not. Without it, as quiverd's option --no-route says.
    pub no_route: Option<NoRoute>,
    /// What becomes of packets for one host that came in a frame for many: a router drops them (RFC 1812, 5.3.4), or forwards
    /// them all the same. Without it, as quiverd's option --link-layer-broadcast says.
    pub link_layer_broadcast: Option<LinkLayerBroadcast>,
}

/// The table in which an interface's packets are looked up, if that is not table 0.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "interface-tables")]
pub struct InterfaceTable {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// The table's number.
    #[default(TableNumber(0))]
    pub table: TableNumber,
}

/// An address of an interface, with the length of the prefix that is on its link.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "interface-addresses")]
pub struct InterfaceAddress {
    /// The interface.
    #[key]
    #[follows("interface-tables")]
    pub interface: InterfaceName,
    /// The address, such as 192.0.2.1/24.
    #[key]
    pub address: Address<V4>,
}

quiver_control::choice! {
    /// What becomes of packets that are not forwarded.
    pub enum RouteAction {
        /// They vanish.
        Drop = "drop",
        /// Their senders are told that the host is unreachable.
        Unreachable = "unreachable",
        /// Their senders are told that it is prohibited.
        Prohibit = "prohibit",
        /// They are taken as for us.
        Local = "local",
    } as "route-action", "drop, unreachable, prohibit or local";
}

/// One of the ways of a route: a next hop, an interface, or what becomes of packets otherwise.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct RoutePath {
    /// The next hop. Without an interface it is looked up in turn.
    pub via: Option<Ipv4Addr>,
    /// The interface that leads to the next hop; without one, to the destinations themselves.
    pub interface: Option<InterfaceName>,
    /// The table in which the next hop is looked up, if that is not table 0.
    #[default(TableNumber(0))]
    pub table: TableNumber,
    /// Its share of the flows, relative to the other paths' weights: 1 to 255.
    #[default(1)]
    pub weight: u8,
    /// What becomes of packets, in place of a way.
    pub action: Option<RouteAction>,
}

/// A route: a prefix, and the ways that packets for it take.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "routes")]
pub struct Route {
    /// The table that it is in.
    #[key]
    #[default(TableNumber(0))]
    pub table: TableNumber,
    /// The destinations.
    #[key]
    pub prefix: Prefix<V4>,
    /// The ways; flows are spread over several.
    pub paths: Vec<RoutePath>,
}

/// What holds of a route whatever else is configured.
pub(crate) fn check_route(route: &Route) -> Result<(), ObjectError> {
    check_paths(&route.paths)
}

/// What holds of paths, a route's or another object's, whatever else is configured.
pub fn check_paths(paths: &[RoutePath]) -> Result<(), ObjectError> {
    if paths.is_empty() {
        return Err(ObjectError::field("paths", "there is none").remedy("give one, such as via: 192.0.2.1"));
    }
    for (index, path) in paths.iter().enumerate() {
        let wrong = |field: &str, what: &str, remedy: &str| {
            Err(ObjectError::field(format!("paths[{index}]{field}"), what).remedy(remedy))
        };
        match (path.via, &path.interface, path.action) {
            (None, None, None) => return wrong("", "it leads nowhere", "give via, interface or action"),
            (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                return wrong(".action", "a path has a next hop or an action", "leave one of them out");
            }
            (_, Some(_), None) if path.table.0 != 0 => {
                return wrong(".table", "a next hop on an interface is not looked up", "leave table or interface out");
            }
            _ => {}
        }
        if path.weight == 0 {
            return wrong(".weight", "0 is too little", "give 1 to 255");
        }
        if path.via.is_some_and(|via| via.is_unspecified() || via.is_multicast() || via.is_broadcast()) {
            return wrong(".via", "this is no address of a single router", "give one");
        }
    }
    Ok(())
}

/// What holds of an address whatever else is configured.
pub(crate) fn check_address(address: &InterfaceAddress) -> Result<(), ObjectError> {
    let (own, prefix) = (address.address.address(), address.address.prefix());
    let reserved = own.is_unspecified() || own.is_loopback() || own.is_multicast() || own.octets()[0] >= 240;
    // RFC 3021: both addresses of a /31 are stations'.
    let of_subnet = prefix.length() < 31 && (own == prefix.address() || own == prefix.last_address());
    match (reserved, of_subnet) {
        (true, _) => Err(ObjectError::field("address", format!("{own} is no address of a station"))
            .remedy("choose one below 224.0.0.0 that is not 127.0.0.0/8")),
        (_, true) => Err(ObjectError::field("address", format!("{own} stands for the whole subnet {prefix}"))
            .remedy("choose one between its first and its last")),
        _ => Ok(()),
    }
}
