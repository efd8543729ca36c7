//! The objects of routes, and the paths that routes and other objects have.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use quiver_control::object::{Field, ObjectRef, Place, Problems};
use quiver_control::{Object, ObjectError, Record};
use quiver_interface::InterfaceName;
use quiver_wire::{IpFamily, Prefix};

use super::tables::TableNumber;
use crate::family::Family;

/// The space of names of next hops: what objects provide to which paths lead by number.
pub const NEXT_HOPS: &str = "next-hop";

/// A next hop of a kind that a room has registered: the kind's name, and a number where the path's interface does not say which.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHop {
    /// The kind.
    pub kind: Arc<str>,
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
    /// Action for packets that are not forwarded to a next hop.
    pub enum RouteAction {
        /// Packets are dropped.
        Drop = "drop",
        /// Senders receive an ICMP error: host unreachable.
        Unreachable = "unreachable",
        /// Senders receive an ICMP error: administratively prohibited.
        Prohibit = "prohibit",
        /// Packets are received locally.
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
    /// Address of the next hop. Without an interface it is resolved recursively.
    pub via: Option<F::Address>,
    /// Interface of the path. Without `via`, destinations are on its link.
    pub interface: Option<InterfaceName>,
    /// Table that resolves the next hop or, with action lookup or source-lookup, the table of the next lookup.
    /// Default: 0.
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// Weight of the path in load balancing, 1 to 255.
    #[default(1)]
    pub weight: u8,
    /// Preference, 0 to 255. Of the reachable paths, those with the lowest value are used.
    #[default(0)]
    pub preference: u8,
    /// Action in place of a next hop.
    pub action: Option<RouteAction>,
    /// Next hop of another kind: the kind's name and an id, or the kind's name with `interface`. `show next-hop
    /// kinds` lists them.
    pub to: Option<NextHop>,
    /// Address of a next hop of the other address family (RFC 8950), in place of `via`. Without an interface it is
    /// resolved in table 0 of that family.
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

/// Route: a prefix and its paths.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.routes)]
pub struct Route<F: Family> {
    /// Id of the route's table.
    #[key]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// Destination prefix of the route.
    #[key]
    pub prefix: Prefix<F>,
    /// Paths of the route. Flows are balanced over them.
    pub paths: Vec<RoutePath<F>>,
}

/// Checks a route on its own, regardless of other objects.
pub(in crate::config) fn check_route<F: Family>(route: &Route<F>) -> Result<(), ObjectError> {
    check_paths(&route.paths)
}

/// Checks the paths of a route or of another object, regardless of other objects.
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
                return wrong(".to", "a next hop of this kind has no address, table or action", "leave them out");
            }
            _ if path.other_via.is_some() => {
                let via = path.other_via.and_then(F::Other::from_ip);
                let is_alone = path.via.is_none() && path.action.is_none() && path.table == TableNumber::DEFAULT;
                match via {
                    Some(via) if F::Other::is_host(via) && is_alone => {}
                    Some(_) if is_alone => {
                        return wrong(".other-via", "this is not a unicast address", "give the address of one router");
                    }
                    None => return wrong(".other-via", "it is not of the other family", "set via"),
                    Some(_) => {
                        return wrong(".other-via", "it excludes via, table and action", "leave them out");
                    }
                }
                if path.interface.is_none() && via.is_some_and(F::Other::is_link_local) {
                    return wrong(".interface", "a link-local next hop needs its interface", "give the interface");
                }
            }
            (None, None, None) => return wrong("", "the path has no next hop", "give via, interface, action or to"),
            (None, None, Some(RouteAction::Receive)) => {
                return wrong(
                    ".interface",
                    "action receive needs an interface that receives the packets",
                    "give an interface",
                );
            }
            (None, Some(_), Some(RouteAction::Receive)) if path.table == TableNumber::DEFAULT => {}
            (None, None, Some(RouteAction::Lookup | RouteAction::SourceLookup)) => {}
            (None, _, Some(_)) if path.table != TableNumber::DEFAULT => {
                return wrong(".table", "this action does no lookup", "leave the table out");
            }
            (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                return wrong(".action", "a path has a next hop or an action", "leave one of them out");
            }
            (_, Some(_), None) if path.table != TableNumber::DEFAULT => {
                return wrong(
                    ".table",
                    "a next hop on an interface is not resolved in a table",
                    "leave table or interface out",
                );
            }
            _ => {}
        }
        if path.weight == 0 {
            return wrong(".weight", "0 is out of range", "give 1 to 255");
        }
        if path.via.is_some_and(|via| !F::is_host(via)) {
            return wrong(".via", "this is not a unicast address", "give the address of one router");
        }
    }
    Ok(())
}
