//! Configuration of multicast routes.

use quiver_control::{Object, ObjectError, Record};
use quiver_interface::InterfaceName;
use quiver_ip::objects::TableNumber;
use quiver_wire::Prefix;

use crate::family::Multicast;
use crate::view::{entry, port};

quiver_control::choice! {
    /// Flag of a multicast route.
    pub enum RouteFlag {
        /// Packets are signaled to clients of VPP's API.
        Signal = "signal",
        /// Packets are dropped.
        Drop = "drop",
        /// Packets of senders on the receiving link are signaled to clients.
        Connected = "connected",
        /// Packets are accepted from every interface.
        AcceptAll = "accept-all",
    } as "multicast-route-flag", "signal, drop, connected or accept-all";
}

impl RouteFlag {
    /// All of them.
    pub const ALL: [RouteFlag; 4] = [RouteFlag::Signal, RouteFlag::Drop, RouteFlag::Connected, RouteFlag::AcceptAll];

    /// Its bit.
    pub fn bit(self) -> u8 {
        match self {
            RouteFlag::Signal => entry::SIGNAL,
            RouteFlag::Drop => entry::DROP,
            RouteFlag::Connected => entry::CONNECTED,
            RouteFlag::AcceptAll => entry::ACCEPT_ALL,
        }
    }
}

quiver_control::choice! {
    /// Flag of a path of a multicast route.
    pub enum PathFlag {
        /// Packets are accepted from the interface.
        Accept = "accept",
        /// Packets are forwarded to the interface.
        Forward = "forward",
        /// The route's signal flag is inverted for packets from the interface.
        NegateSignal = "negate-signal",
        /// Signals do not include the packet.
        DontPreserve = "dont-preserve",
    } as "multicast-path-flag", "accept, forward, negate-signal or dont-preserve";
}

impl PathFlag {
    /// All of them.
    pub const ALL: [PathFlag; 4] =
        [PathFlag::Accept, PathFlag::Forward, PathFlag::NegateSignal, PathFlag::DontPreserve];

    /// Its bit.
    pub fn bit(self) -> u8 {
        match self {
            PathFlag::Accept => port::ACCEPT,
            PathFlag::Forward => port::FORWARD,
            PathFlag::NegateSignal => port::NEGATE_SIGNAL,
            PathFlag::DontPreserve => port::DONT_PRESERVE,
        }
    }
}

/// One of the paths of a route of groups: an interface, or we ourselves.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct MulticastPath<F: Multicast> {
    /// Name of the interface.
    pub interface: Option<InterfaceName>,
    /// Router to which packets are sent in place of the group's link-layer address.
    pub via: Option<F::Address>,
    /// Whether packets are delivered locally, in place of an interface. Needs the flag forward.
    #[default(false)]
    pub local: bool,
    /// Path flags: accept, forward, negate-signal, dont-preserve.
    pub flags: Vec<PathFlag>,
}

impl<F: Multicast> MulticastPath<F> {
    /// Whether it is the same way, whatever holds there.
    pub fn is_way_of(&self, other: &MulticastPath<F>) -> bool {
        (&self.interface, self.via, self.local) == (&other.interface, other.via, other.local)
    }
    /// Its flags' bits.
    pub fn bits(&self) -> u8 {
        self.flags.iter().fold(0, |bits, flag| bits | flag.bit())
    }
}

/// Multicast route: accepting and forwarding interfaces of a group. A route with a source precedes one without; then
/// the longest group prefix wins.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::ROUTES)]
pub struct MulticastRoute<F: Multicast> {
    /// Id of the route's table.
    #[key]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// Group prefix, such as 232.1.1.1/32 or ff3e::/16.
    #[key]
    pub group: Prefix<F>,
    /// Source address of the packets. Default: any source.
    #[key]
    #[default(F::UNSPECIFIED)]
    pub source: F::Address,
    /// Route flags: signal, drop, connected, accept-all.
    pub flags: Vec<RouteFlag>,
    /// Interfaces from which packets are accepted or to which they are forwarded.
    pub paths: Vec<MulticastPath<F>>,
}

impl<F: Multicast> MulticastRoute<F> {
    /// The route's (S, G) or (*, G) in words: `(*, 232.1.1.1/32)`.
    pub fn whose(&self) -> String {
        whose::<F>(self.source, &self.group)
    }
    /// Its flags' bits.
    pub fn bits(&self) -> u8 {
        self.flags.iter().fold(0, |bits, flag| bits | flag.bit())
    }
}

/// The sender and the groups of a route, in words.
pub(crate) fn whose<F: Multicast>(source: F::Address, group: &Prefix<F>) -> String {
    match source == F::UNSPECIFIED {
        true => format!("(*, {group})"),
        false => format!("({source}, {group})"),
    }
}

/// Checks the fields of a route that need no other object.
pub(crate) fn check<F: Multicast>(route: &MulticastRoute<F>) -> Result<(), ObjectError> {
    let wrong = |field: &str, what: String, remedy: &str| Err(ObjectError::field(field, what).remedy(remedy));
    let (group, source) = (route.group, route.source);
    if !F::is_group(group.address()) || !F::is_group(group.last_address()) {
        let what = format!("{group} are not groups");
        return wrong("group", what, &format!("give one such as {}/{}", F::EXAMPLE_GROUP, F::ADDRESS_BITS));
    }
    if source != F::UNSPECIFIED && !F::is_host(source) {
        return wrong("source", format!("{source} is no sender's address"), "give that of a host, or none");
    }
    if source != F::UNSPECIFIED && group.length() < F::ADDRESS_BITS {
        let what = format!("{group} are several groups, and one sender");
        return wrong("group", what, &format!("give one group, such as {}/{}", group.address(), F::ADDRESS_BITS));
    }
    for (index, path) in route.paths.iter().enumerate() {
        let field = |name: &str| format!("paths[{index}]{name}");
        let forwards = path.flags.contains(&PathFlag::Forward);
        if path.local == path.interface.is_some() {
            return wrong(&field(""), "a path is an interface, or local".into(), "give one of the two");
        }
        if path.via.is_some() && path.local {
            return wrong(&field(".via"), "a local path has no next hop".into(), "leave it out");
        }
        if path.via.is_some_and(|via| !F::is_host(via)) {
            return wrong(&field(".via"), "this is not a unicast address".into(), "give the address of one router");
        }
        if forwards && !path.local && F::is_of_link(group.address()) && F::is_of_link(group.last_address()) {
            let what = format!("{group} are groups of one link, which their packets do not leave");
            return wrong(&field(".flags"), what, "leave forward out, or choose groups beyond the link");
        }
        if route.paths.iter().take(index).any(|before| before.is_way_of(path)) {
            return wrong(&field(""), "the path is there twice".into(), "give all its flags to one of them");
        }
    }
    Ok(())
}
