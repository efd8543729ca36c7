//! Services, which process the packets of sessions; and chains of them.
//!
//! A service is a node. Rooms register services; a tenant has a chain of them for each direction. A node that passes packets on along
//! a chain has an arc to each service, behind its own arcs, so that a service's number is the number of its arc.

use quiver_control::Control;
use quiver_engine::{ArcSpec, Dataplane, GraphError, To};

/// Services there can be: VPP's API has a bit for each.
pub const SERVICES_MAX: usize = 64;
/// Services of a chain.
pub const CHAIN_MAX: usize = 15;

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Name, which is that of its node.
    pub name: &'static str,
    /// Arc to it.
    pub arc: ArcSpec,
    /// Whether a chain ends with it.
    pub is_terminal: bool,
    /// Whether it judges packets without a session, of tenants whose policy comes first.
    pub judges: bool,
    /// Whether packets bypass it that leave the state of their session as it is: it only follows states.
    pub follows: bool,
    /// Whether its node reads the marks of packets.
    pub reads_marks: bool,
}

impl Service {
    /// A service whose node passes packets on along the chain.
    pub const fn new(name: &'static str) -> Service {
        Service {
            name,
            arc: ArcSpec::to_node(name),
            is_terminal: false,
            judges: false,
            follows: false,
            reads_marks: true,
        }
    }
    /// A service whose node also judges packets without a session ([`Reads::each_judged`](crate::node::pass::Reads::each_judged)).
    pub const fn judge(name: &'static str) -> Service {
        Service { judges: true, ..Service::new(name) }
    }
    /// A judge that otherwise only follows the states of sessions.
    pub const fn follower(name: &'static str) -> Service {
        Service { follows: true, ..Service::judge(name) }
    }
    /// A node at which chains end, and which reads the marks of packets.
    pub const fn last(name: &'static str) -> Service {
        Service { is_terminal: true, ..Service::new(name) }
    }
    /// A node at which chains end, and which knows nothing of sessions.
    pub const fn terminal(name: &'static str) -> Service {
        Service { reads_marks: false, ..Service::last(name) }
    }
    /// The service that drops packets.
    pub const fn drop(name: &'static str) -> Service {
        Service { arc: ArcSpec { name, to: To::Drop }, ..Service::terminal(name) }
    }
}

/// The services, by number, and the nodes that pass packets on: a room of the control side.
#[derive(Default)]
pub struct Services {
    services: Vec<Service>,
    /// Nodes, each with the number of its arc to the first service.
    passing: Vec<(&'static str, u16)>,
}

/// The number of the service that drops packets: that of an empty place of a chain.
pub const DROP: u8 = 0;
/// The number of the node at which a session begins whose packet has been judged. It is in no chain that people name.
pub const CREATE: u8 = 1;
/// The number of the node that answers SYNs by cookies, which is in no such chain either.
pub const COOKIE: u8 = 6;
/// The number of the node that joins both halves of a connection behind a cookie.
pub const PROXY: u8 = 7;

impl Services {
    /// All, by number.
    pub fn all(&self) -> &[Service] {
        &self.services
    }
    /// Those of which chains can consist, with their numbers.
    pub fn named(&self) -> impl Iterator<Item = (u8, &Service)> {
        (0..).zip(&self.services).filter(|(number, _)| ![CREATE, COOKIE, PROXY].contains(number))
    }
    /// The number of a service.
    pub fn number(&self, name: &str) -> Option<u8> {
        self.named().find(|(_, service)| service.name == name).map(|(number, _)| number)
    }
    /// A chain of services by their numbers. Where checks of TCP are strict, packets bypass none of them.
    pub fn chain(&self, numbers: &[u8], is_strict: bool) -> Chain {
        let follows = |number: &u8| self.services.get(usize::from(*number)).is_some_and(|service| service.follows);
        let followers = numbers.iter().take_while(|number| follows(number)).count();
        let chain = Chain::new(numbers);
        let reads_marks =
            |number: &u8| self.services.get(usize::from(*number)).is_none_or(|service| service.reads_marks);
        let unmarked = chain.length.checked_sub(1).filter(|_| !reads_marks(&chain.last()));
        let bypassed = if is_strict { 0 } else { chain.length.min(followers as u8) };
        Chain { bypassed, unmarked: unmarked.unwrap_or(u8::MAX), ..chain }
    }
    /// The services that a packet passes before a session begins, of a tenant with this chain of initiators: those of the chain that
    /// judge; then the session begins, unless the chain drops all packets. Where SYNs may be answered by cookies, returned cookies are
    /// looked at first, so that what they stand for is judged; and SYNs are answered that all judges let pass.
    pub(crate) fn judges(&self, forward: &Chain, has_cookies: bool) -> Chain {
        let known = |number: &u8| self.services.get(usize::from(*number));
        let judges = forward.services().iter().filter(|number| known(number).is_some_and(|service| service.judges));
        let forwards = forward.last() != DROP && known(&forward.last()).is_some_and(|service| service.is_terminal);
        let cookie = Some(COOKIE).filter(|_| has_cookies && forwards);
        let last = if forwards { CREATE } else { DROP };
        let judges: Vec<_> = cookie.into_iter().chain(judges.copied()).chain(cookie).chain([last]).collect();
        debug_assert!(judges.len() <= CHAIN_MAX, "few services judge");
        Chain::new(&judges)
    }
}

/// Gives a node an arc to each service. Its first arc to a service is behind its own arcs, none of which leads to a service.
///
/// # Errors
/// If there is no such node.
pub fn add_passing(control: &Control, node: &'static str) -> Result<(), GraphError> {
    let mut services = control.room_mut::<Services>();
    let mut dataplane = control.room_mut::<Dataplane>();
    let first = match services.services.first() {
        Some(drop) => dataplane.blueprint().add_arc(node, drop.arc)?,
        None => 0,
    };
    for (number, service) in services.services.iter().enumerate() {
        add_arc(&mut dataplane, (node, first), (number, service))?;
    }
    services.passing.push((node, first));
    Ok(())
}

/// Adds the arc to a service to a node whose arcs to services begin with the first one.
fn add_arc(
    dataplane: &mut Dataplane,
    (node, first): (&'static str, u16),
    (number, service): (usize, &Service),
) -> Result<(), GraphError> {
    let arc = dataplane.blueprint().add_arc(node, service.arc)?;
    let expected = usize::from(first) + number;
    debug_assert_eq!(usize::from(arc), expected, "an arc of `{node}` itself leads to `{}`", service.name);
    Ok(())
}

/// Why a service cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Another one has its name.
    #[error("there is a service `{0}` already; choose another name")]
    Taken(&'static str),
    /// There are [`SERVICES_MAX`].
    #[error("`{0}` would be one service too many: there can be {SERVICES_MAX}")]
    Full(&'static str),
    /// The graph refuses an arc.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Registers a service. Its node, if it passes packets on, is registered before, and has arcs of its own that are no arcs to services.
///
/// # Errors
/// If the name is taken, no number is left, or there is no such node.
pub fn register_service(control: &Control, service: Service) -> Result<(), ServiceError> {
    {
        let mut services = control.room_mut::<Services>();
        if services.services.iter().any(|known| known.name == service.name) {
            return Err(ServiceError::Taken(service.name));
        }
        if services.services.len() == SERVICES_MAX {
            return Err(ServiceError::Full(service.name));
        }
        services.services.push(service);
        let mut dataplane = control.room_mut::<Dataplane>();
        let number = services.services.len() - 1;
        services.passing.iter().try_for_each(|place| add_arc(&mut dataplane, *place, (number, &service)))?;
    }
    if !service.is_terminal {
        add_passing(control, service.name)?;
    }
    Ok(())
}

/// The services of one direction, as workers follow them. Without services packets are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Behind the last service packets are dropped.
    services: [u8; CHAIN_MAX + 1],
    length: u8,
    /// The first so many services only follow states: packets bypass them that leave the state of their session as it is.
    bypassed: u8,
    /// The position of a last service that reads no marks; `u8::MAX` if it reads them.
    unmarked: u8,
}

impl Chain {
    /// A chain of services by their numbers, of which the last one is terminal; at most [`CHAIN_MAX`]. Packets bypass none of them.
    pub fn new(numbers: &[u8]) -> Chain {
        let mut chain = Chain { length: numbers.len().min(CHAIN_MAX) as u8, unmarked: u8::MAX, ..Chain::default() };
        chain.services.iter_mut().take(CHAIN_MAX).zip(numbers).for_each(|(service, number)| *service = *number);
        chain
    }
    /// The number of the service at a position, [`CHAIN_MAX`] at most; behind the last one, packets are dropped.
    #[inline(always)]
    pub fn service(&self, position: u8) -> u8 {
        self.services[usize::from(position) % self.services.len()]
    }
    /// The position of the first service that packets do not bypass.
    #[inline(always)]
    pub(crate) fn bypassed(&self) -> u8 {
        self.bypassed
    }
    /// Whether packets need no mark for the service at a position.
    #[inline(always)]
    pub(crate) fn is_unmarked(&self, position: u8) -> bool {
        self.unmarked == position
    }
    /// The number of the last service.
    pub fn last(&self) -> u8 {
        self.services().last().copied().unwrap_or(DROP)
    }
    /// A bit for each service, by its number.
    pub fn bitmap(&self) -> u64 {
        self.services().iter().fold(0, |bits, service| bits | 1 << service)
    }
    /// The numbers of its services.
    pub fn services(&self) -> &[u8] {
        &self.services[..usize::from(self.length)]
    }
    /// Whether it has no service.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
    /// Whether it has a service.
    pub fn has(&self, service: u8) -> bool {
        self.services().contains(&service)
    }
}

/// Services by their names, those that end a chain last: VPP orders the services of a chain itself.
pub(crate) fn in_order(control: &Control, mut names: Vec<String>) -> Vec<String> {
    let services = control.room::<Services>();
    let is_terminal = |name: &String| services.all().iter().any(|known| known.name == name && known.is_terminal);
    names.sort_by_key(is_terminal);
    names
}
