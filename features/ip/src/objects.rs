//! What is configured of IP: tables, which interface looks up in which, addresses and routes.

use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::rc::Rc;

use quiver_control::object::{Field, ObjectRef, Place, Problems, Scalar};
use quiver_control::{Object, ObjectError, Record};
use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, IpFamily, Prefix};

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

/// The space of names of next hops: what objects provide to which paths lead by number.
pub const NEXT_HOPS: &str = "next-hop";

/// A next hop of a kind that a room has registered: the kind's name, and a number where the path's interface does not say which.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHop {
    /// The kind.
    pub kind: Rc<str>,
    /// Which of its next hops.
    pub number: Option<u32>,
}

impl NextHop {
    /// The object that a path needs which leads there, if it needs one.
    pub fn provider(&self) -> Option<ObjectRef> {
        self.number.map(|_| ObjectRef::new(NEXT_HOPS, self.to_string()))
    }
}
impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.number.map_or(Ok(()), |number| write!(f, " {number}"))
    }
}
impl Field for NextHop {
    fn read(value: &quiver_control::serde_json::Value, problems: &mut Problems) -> Option<Self> {
        let text = <String as Field>::read(value, problems)?;
        let (kind, number) = text.split_once(' ').map_or((&*text, None), |(kind, number)| (kind, Some(number)));
        let number = number.map(|number| number.parse().map_err(|_| number));
        match number.transpose() {
            Ok(number) => Some(NextHop { kind: kind.into(), number }),
            Err(wrong) => {
                problems.add(format!("`{wrong}` is no number"), "write a kind of next hop, and the number of one");
                None
            }
        }
    }
    fn write(&self) -> quiver_control::serde_json::Value {
        self.to_string().into()
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        self.provider().into_iter().for_each(|provider| found(at, provider));
    }
    fn expected() -> String {
        "a kind of next hop, and the number of one".into()
    }
    fn schema() -> quiver_control::serde_json::Value {
        <String as Field>::schema()
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
#[object(kind = F::NAMES.tables)]
pub struct IpTable<F: Family> {
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
    /// By what flows are told apart that are spread over several paths. Without fields: by addresses, ports,
    /// protocol and, of IPv6, the last 16 bits of the flow label.
    pub flow_hash: Vec<FlowField>,
    /// Whether it may have routes of groups as well.
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

/// The table in which an interface's packets are looked up, if that is not table 0.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.interface_tables)]
pub struct InterfaceTable<F: Family> {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// The table's number.
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
}

/// An address of an interface, with the length of the prefix that is on its link.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.addresses)]
pub struct InterfaceAddress<F: Family> {
    /// The interface.
    #[key]
    #[follows(F::NAMES.interface_tables)]
    pub interface: InterfaceName,
    /// The address, such as 192.0.2.1/24 or 2001:db8::1/64.
    #[key]
    pub address: Address<F>,
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
        /// They are looked up in the path's table.
        Lookup = "lookup",
        /// Their senders are looked up in the path's table, and they go where packets for those go.
        SourceLookup = "source-lookup",
        /// They go on as if the path's interface had received them, but past its features.
        Receive = "receive",
    } as "route-action", "drop, unreachable, prohibit, local, lookup, source-lookup or receive";
}

/// One of the ways of a route: a next hop, an interface, or what becomes of packets otherwise.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct RoutePath<F: Family> {
    /// The next hop. Without an interface it is looked up in turn.
    pub via: Option<F::Address>,
    /// The interface that leads to the next hop; without one, to the destinations themselves.
    pub interface: Option<InterfaceName>,
    /// The table in which the next hop is looked up, or, with action lookup or source-lookup, the packets; if that is not
    /// table 0.
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// Its share of the flows, relative to the other paths' weights: 1 to 255.
    #[default(1)]
    pub weight: u8,
    /// Of the paths that lead somewhere, those with the least preference are used: 0 to 255.
    #[default(0)]
    pub preference: u8,
    /// What becomes of packets, in place of a way to a next hop.
    pub action: Option<RouteAction>,
    /// A next hop of another kind, by the kind's name and a number, in place of all these; or of a kind whose next hops are told
    /// apart by interface, beside it. `show next-hop kinds` lists them.
    pub to: Option<NextHop>,
    /// The next hop, where it is of the other family (RFC 8950), in place of via. Without an interface it is looked up in that
    /// family's table 0.
    pub other_via: Option<IpAddr>,
}

impl<F: Family> Default for RoutePath<F> {
    /// One that leads nowhere yet.
    fn default() -> RoutePath<F> {
        RoutePath {
            via: None,
            interface: None,
            table: TableNumber::DEFAULT,
            weight: 1,
            preference: 0,
            action: None,
            to: None,
            other_via: None,
        }
    }
}

/// A route: a prefix, and the ways that packets for it take.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.routes)]
pub struct Route<F: Family> {
    /// The table that it is in.
    #[key]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// The destinations.
    #[key]
    pub prefix: Prefix<F>,
    /// The ways; flows are spread over several.
    pub paths: Vec<RoutePath<F>>,
}

/// What holds of a table whatever else is configured.
pub(crate) fn check_table<F: Family>(table: &IpTable<F>) -> Result<(), ObjectError> {
    let other = if F::VERSION == 6 { FlowField::Tunnel } else { FlowField::Label };
    match table.flow_hash.iter().position(|field| *field == other) {
        Some(place) => Err(ObjectError::field(format!("flow-hash[{place}]"), format!("{} has no {other}", F::TITLE))
            .remedy("leave it out")),
        None => Ok(()),
    }
}

/// What holds of a route whatever else is configured.
pub(crate) fn check_route<F: Family>(route: &Route<F>) -> Result<(), ObjectError> {
    check_paths(&route.paths)
}

/// What holds of paths, a route's or another object's, whatever else is configured.
pub fn check_paths<F: Family>(paths: &[RoutePath<F>]) -> Result<(), ObjectError> {
    if paths.is_empty() {
        return Err(
            ObjectError::field("paths", "there is none").remedy(format!("give one, such as via: {}", F::EXAMPLE))
        );
    }
    for (index, path) in paths.iter().enumerate() {
        let wrong = |field: &str, what: &str, remedy: &str| {
            Err(ObjectError::field(format!("paths[{index}]{field}"), what).remedy(remedy))
        };
        match (path.via, &path.interface, path.action) {
            (None, None, None) if path.to.is_some() && path.table == TableNumber::DEFAULT => {}
            (None, Some(_), None) if path.to.is_some() && path.table == TableNumber::DEFAULT => {}
            _ if path.to.is_some() => {
                return wrong(".to", "this next hop is no address, and nothing is looked up", "leave the rest out");
            }
            _ if path.other_via.is_some() => {
                let via = path.other_via.and_then(F::Other::from_ip);
                let is_alone = path.via.is_none() && path.action.is_none() && path.table == TableNumber::DEFAULT;
                match via {
                    Some(via) if F::Other::is_host(via) && is_alone => {}
                    Some(_) if is_alone => {
                        return wrong(".other-via", "this is no address of a single router", "give one");
                    }
                    None => return wrong(".other-via", "it is not of the other family", "set via"),
                    Some(_) => {
                        return wrong(".other-via", "it has a way of its own", "leave via, table and action out");
                    }
                }
                if path.interface.is_none() && via.is_some_and(F::Other::is_link_local) {
                    return wrong(".interface", "the next hop means something on one link only", "give it");
                }
            }
            (None, None, None) => return wrong("", "it leads nowhere", "give via, interface, action or to"),
            (None, None, Some(RouteAction::Receive)) => {
                return wrong(".interface", "nobody receives the packets", "give an interface");
            }
            (None, Some(_), Some(RouteAction::Receive)) if path.table == TableNumber::DEFAULT => {}
            (None, None, Some(RouteAction::Lookup | RouteAction::SourceLookup)) => {}
            (None, _, Some(_)) if path.table != TableNumber::DEFAULT => {
                return wrong(".table", "nothing is looked up", "leave it out");
            }
            (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                return wrong(".action", "a path has a next hop or an action", "leave one of them out");
            }
            (_, Some(_), None) if path.table != TableNumber::DEFAULT => {
                return wrong(".table", "a next hop on an interface is not looked up", "leave table or interface out");
            }
            _ => {}
        }
        if path.weight == 0 {
            return wrong(".weight", "0 is too little", "give 1 to 255");
        }
        if path.via.is_some_and(|via| !F::is_host(via)) {
            return wrong(".via", "this is no address of a single router", "give one");
        }
    }
    Ok(())
}
