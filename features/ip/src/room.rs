//! The control side: what is configured becomes the FIB, and what workers know of interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quiver_control::{Change, Control, Kind, ObjectError, Signal};
use quiver_engine::{
    Counter, Counters, Dataplane, DataplaneError, FeatureArcSpec, NodeSpec, Publisher, Seed, Side, Snapshot, StageNode,
};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, LOCAL, tell, watch};
use quiver_wire::{InterfaceAddress as Address, MacAddress, Prefix, V4, V6};

use crate::adjacency::Link;
use crate::api::Leaving;
use crate::crossing;
use crate::family::Family;
use crate::fib::kind::KindError;
use crate::fib::{Fib, FibError, Path, Shared, Size, Source, Special, TableId, Target, Way};
use crate::flows::{FlowField, Flows};
use crate::ingress::{ENABLED, Ingress, IpInterface, TableView};
use crate::near::Near;
use crate::next_hops;
use crate::node::again::{self, KindArcs, LookupAgain};
use crate::node::describe;
use crate::node::input::{Input, InputNode};
use crate::node::local::{self, Local, Protocols};
use crate::node::lookup::Lookup;
use crate::node::multicast::{self, Multicast};
use crate::node::punt::{Next as PuntNext, Punt};
use crate::node::rewrite::{Rewrite, RewriteNode};
use crate::objects::{
    InterfaceAddress, InterfaceTable, IpTable, LinkLayerBroadcast, NoRoute, Route, RouteAction, RoutePath,
    TableDefaults, TableSize,
};
use crate::recursion;
use crate::special::{SpecialAction, Specials};

/// A family's feature arcs, where each ends, and whose interface decides.
fn arcs<F: Family>() -> [(&'static str, &'static str, Side); 5] {
    let names = F::NAMES;
    [
        // Packets to be forwarded or for us, checked, and those for groups of hosts.
        (names.unicast, names.lookup, Side::Rx),
        (names.multicast, names.multicast, Side::Rx),
        // Packets for us, and those of them that control is to have.
        (names.local, names.local, Side::Rx),
        (names.punt, names.punt, Side::Rx),
        // Packets to be sent, with the link layer's header before them.
        (names.output, "interface-output", Side::Tx),
    ]
}

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum IpError {
    /// The data plane refuses a node.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// The default table cannot be made.
    #[error("IP table 0: {0}")]
    Fib(#[from] FibError),
    /// The table of neighbours without routes cannot be made.
    #[error("neighbours on links: {0}")]
    Near(#[from] quiver_table::ExactError),
    /// A kind of next hop is refused.
    #[error(transparent)]
    Kind(#[from] KindError),
}

/// What is configured of an interface.
#[derive(Clone)]
pub(crate) struct Configured<F: Family> {
    table: TableId,
    addresses: Vec<Address<F>>,
    routes: BTreeMap<Prefix<F>, Meaning>,
    /// Whether it is up: the routes of its addresses are there only then.
    up: bool,
    /// Whether packets for all on its subnets are forwarded there.
    directed_broadcast: bool,
    /// Whether it speaks the family without an address, too.
    enabled: bool,
    /// Its address for its link, if not the one that its MAC address makes.
    link_local: Option<F::Address>,
    /// The interface whose addresses it uses, too.
    pub(crate) lender: Option<InterfaceId>,
    /// The adjacency that stands for all on its link, where it has an address for that.
    link_hop: Option<u32>,
    /// The groups that it is in for others, by the room that wants it to be.
    joined: BTreeMap<&'static str, BTreeSet<F::Address>>,
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
    fn groups(&self) -> Arc<[F::Address]> {
        let all: BTreeSet<F::Address> = self.joined.values().flatten().copied().collect();
        all.into_iter().collect()
    }
    fn speaks(&self) -> bool {
        self.enabled || self.lender.is_some() || !self.addresses.is_empty()
    }
}

/// What an interface's addresses make of a prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Connected,
    Local,
    Broadcast,
    /// A subnet's last address, whose packets are sent to all on it.
    Directed,
}

/// Routes, and neighbours, whose counters clients see at most: the segment may have room for less.
const NUMBERS_MAX: u32 = 1 << 21;

/// A family's state.
pub struct Ip<F: Family> {
    /// Routes, groups and adjacencies.
    pub fib: Fib<F>,
    /// Neighbours without routes.
    pub near: Near<F>,
    /// The family's packets by receiving interface.
    pub received: Counters<Counter>,
    interfaces: BTreeMap<InterfaceId, Configured<F>>,
    /// What holds of tables that do not say so themselves.
    defaults: TableDefaults,
    /// The tables that forward packets for one host that came in frames for many.
    forwarding_broadcasts: BTreeSet<TableId>,
    /// By what flows are told apart in tables that say so, and the router's number.
    flow_fields: BTreeMap<TableId, Vec<FlowField>>,
    router: u32,
    /// What all tables do with special prefixes.
    specials: Specials<F>,
    /// Addresses that are not to be used, and those with which nothing new is to begin.
    unusable: BTreeSet<(InterfaceId, F::Address)>,
    usability: Signal,
    deprecated: BTreeSet<(InterfaceId, F::Address)>,
    /// What routers say that their links take.
    said_mtus: BTreeMap<InterfaceId, u16>,
    /// The prefixes of all addresses: whose they are, and how many addresses have them.
    connected: BTreeMap<(TableId, Prefix<F>), (InterfaceId, usize)>,
    ingress: Publisher<Ingress<F>>,
    pub(crate) protocols: Publisher<Protocols>,
    /// The arcs of kinds of next hops.
    pub(crate) kind_arcs: Publisher<KindArcs>,
    /// Interfaces that use the addresses of others, behind those.
    borrowers: BTreeSet<(InterfaceId, InterfaceId)>,
}

/// IPv4's state.
pub type Ip4 = Ip<V4>;
/// IPv6's state.
pub type Ip6 = Ip<V6>;

/// Registers nodes, objects and commands, and follows the interfaces.
pub fn register(control: &Control) -> Result<(), IpError> {
    let shared = {
        let dataplane = control.room::<Dataplane>();
        let shown = |name| Counters::shown(dataplane.statistics(), name, NUMBERS_MAX);
        let (adjacencies, routes) = (shown("/net/adjacency"), shown("/net/route/to"));
        Shared::new(dataplane.domain(), dataplane.settings().workers, adjacencies, routes)
    };
    register_family::<V4>(control, &shared)?;
    register_family::<V6>(control, &shared)?;
    crossing::register(control)?;
    crate::command::register(control);
    crate::show::register(control);
    crate::groups::register(control);
    crate::link_local::register(control);
    recursion::register(control);
    crate::broadcast::register(control);
    crate::path_mtu::register(control);
    crate::special::register(control);
    crate::sources::register(control);
    crate::flow_hash::register(control);
    crate::unnumbered::register(control);
    crate::api::register(control);
    Ok(())
}

fn register_family<F: Family>(control: &Control, shared: &Shared) -> Result<(), IpError> {
    let ip = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let domain = dataplane.domain().clone();
        let mut ip = Ip {
            fib: Fib::<F>::sharing(&domain, shared),
            near: Near::new(&domain)?,
            received: dataplane.add_simple_interface_counters(F::NAME),
            interfaces: BTreeMap::new(),
            defaults: TableDefaults::default(),
            forwarding_broadcasts: BTreeSet::new(),
            flow_fields: BTreeMap::new(),
            router: 0,
            specials: Specials::default(),
            unusable: BTreeSet::new(),
            usability: Signal::new(),
            deprecated: BTreeSet::new(),
            said_mtus: BTreeMap::new(),
            connected: BTreeMap::new(),
            ingress: Publisher::new(&domain, Ingress::default()),
            protocols: Publisher::new(&domain, local::UNCLAIMED),
            kind_arcs: Publisher::new(&domain, again::NO_KINDS),
            borrowers: BTreeSet::new(),
        };
        ip.add_table(&IpTable { size: TableSize::Large, ..IpTable::new(TableId::DEFAULT.0) })?;
        ip.nodes(&mut dataplane)?;
        // VPP counts those of IPv6 where packets come in.
        let counted = if F::VERSION == 6 { F::NAMES.input } else { F::NAMES.local };
        let unrouted = local::Next::arcs::<F>()[local::Next::Unrouted as usize].name;
        dataplane.also_called((F::NAMES.local, unrouted), &format!("{counted}/src_lookup_miss"))?;
        ip
    };
    control.insert_room(ip);
    quiver_ethernet::claim(control, F::ETHERTYPE, F::NAMES.input)?;
    crate::deciding::register::<F>(control);
    control.objects().add(Kind::new(apply_table::<F>).check(crate::objects::check_table::<F>));
    control.objects().add(Kind::new(apply_interface_table::<F>));
    control.objects().add(Kind::new(apply_address::<F>).check(check_address::<F>));
    control.objects().add(Kind::new(apply_route::<F>).check(crate::objects::check_route::<F>));
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
                ip.interfaces.contains_key(&id)
            }
        };
        if known {
            ip.publish_interface(id);
        }
    });
    Ok(())
}

/// What holds of an address whatever else is configured.
fn check_address<F: Family>(address: &InterfaceAddress<F>) -> Result<(), ObjectError> {
    F::check_address(&address.address)
}

/// Notes how many bytes of a packet routers on a link say that it takes (RFC 4861, 6.3.4): it takes no more, whatever is
/// configured. None forgets that.
pub fn say_mtu<F: Family>(control: &Control, id: InterfaceId, mtu: Option<u16>) {
    let changed = {
        let mut ip = control.room_mut::<Ip<F>>();
        match mtu {
            Some(mtu) => ip.said_mtus.insert(id, mtu) != Some(mtu),
            None => ip.said_mtus.remove(&id).is_some(),
        }
    };
    let link = link_of::<F>(control, id).filter(|_| changed);
    if let Some(link) = link {
        let mut ip = control.room_mut::<Ip<F>>();
        ip.fib.set_link(id, Some(link));
        ip.publish_interface(id);
    }
}

/// What adjacencies take from an interface.
fn link_of<F: Family>(control: &Control, id: InterfaceId) -> Option<Link> {
    let interfaces = control.room::<Interfaces>();
    let interface = interfaces.get(id)?;
    let up = interfaces.is_usable(id);
    Some(Link {
        up,
        mac: interface.mac.0,
        mtu: interface.mtu_of(F::VERSION).min(control.room::<Ip<F>>().said_mtu(id)),
        point_to_point: interface.point_to_point,
        peer: interface.peer,
    })
}

/// Sets what holds of tables that do not say so themselves; to be called before there are others than table 0.
pub fn set_table_defaults(control: &Control, defaults: TableDefaults) -> Result<(), IpError> {
    control.room_mut::<Ip4>().set_defaults(defaults)?;
    Ok(control.room_mut::<Ip6>().set_defaults(defaults)?)
}

impl<F: Family> Ip<F> {
    /// What workers know of interfaces.
    pub fn ingress(&self) -> Snapshot<Ingress<F>> {
        self.ingress.snapshot()
    }
    /// The same, as it was published last.
    pub fn current(&self) -> &Ingress<F> {
        self.ingress.current()
    }
    /// The table of an interface.
    pub fn table_of(&self, interface: InterfaceId) -> TableId {
        self.interfaces.get(&interface).map_or(TableId::DEFAULT, |configured| configured.table)
    }
    /// The interface whose address this is in a table.
    pub fn owner(&self, table: TableId, address: F::Address) -> Option<InterfaceId> {
        let has = |own: &Configured<F>| own.table == table && own.addresses.iter().any(|own| own.address() == address);
        self.interfaces.iter().find(|(_, configured)| has(configured)).map(|(id, _)| *id)
    }
    /// The addresses of an interface.
    pub fn addresses(&self, interface: InterfaceId) -> &[Address<F>] {
        self.interfaces.get(&interface).map_or(&[], |configured| &configured.addresses)
    }

    /// The stages of forwarding, as a worker has them.
    fn stages(&self) -> impl Fn(Seed) -> (Input<F>, Lookup<F>, Rewrite<F>) + Clone + Send + use<F> + 'static {
        let (ingress, groups, received) = (self.ingress.snapshot(), self.fib.groups.snapshot(), self.received.clone());
        let (adjacencies, sent) = (self.fib.adjacencies.snapshot(), self.fib.adjacencies.counters().clone());
        move |Seed { worker, .. }| {
            let input = Input { ingress: ingress.clone(), received: received.row(worker) };
            let lookup = Lookup::new(ingress.clone(), groups.clone(), worker);
            (input, lookup, Rewrite::new(adjacencies.clone(), sent.row(worker)))
        }
    }
    fn nodes(&self, dataplane: &mut Dataplane) -> Result<(), DataplaneError> {
        let graph = dataplane.blueprint();
        for (name, end, side) in arcs::<F>() {
            graph.feature_arc(FeatureArcSpec { name, end, side })?;
        }
        let of_local = (self.ingress.snapshot(), self.fib.groups.snapshot());
        let stages = self.stages();
        let input = move |seed| InputNode(StageNode(stages(seed).0));
        graph.node(NodeSpec::around::<Input<F>, _>(input).describe(describe::<F>))?;
        let stages = self.stages();
        graph.node(NodeSpec::stage(move |seed| stages(seed).1).describe(describe::<F>))?;
        let stages = self.stages();
        let ingress = self.ingress.snapshot();
        let rewrite = move |seed| RewriteNode::new(stages(seed).2, ingress.clone());
        graph.node(NodeSpec::around::<Rewrite<F>, _>(rewrite).describe(describe::<F>))?;
        let (ingress, groups, kinds) = (self.ingress.snapshot(), self.fib.groups.snapshot(), self.kind_arcs.snapshot());
        let again = move |Seed { worker, .. }: Seed| LookupAgain::<F> {
            ingress: ingress.clone(),
            groups: groups.clone(),
            kinds: kinds.clone(),
            worker,
        };
        graph.node(NodeSpec::new(F::NAMES.again, again::Next::arcs::<F>(), again).describe(describe::<F>))?;
        let ingress = self.ingress.snapshot();
        let multicast = move |_| Multicast::<F> { ingress: ingress.clone() };
        graph
            .node(NodeSpec::new(F::NAMES.multicast, multicast::Next::arcs::<F>(), multicast).describe(describe::<F>))?;
        let protocols = self.protocols.snapshot();
        let local = move |_| Local::<F> {
            protocols: protocols.clone(),
            ingress: of_local.0.clone(),
            groups: of_local.1.clone(),
        };
        graph.node(NodeSpec::with_slow_path(local).describe(describe::<F>))?;
        graph.node(NodeSpec::new(F::NAMES.punt, PuntNext::ARCS, |_| Punt).describe(describe::<F>))?;
        F::add_nodes(self, graph)
    }
    /// Sets what holds of tables that do not say so themselves.
    fn set_defaults(&mut self, defaults: TableDefaults) -> Result<(), FibError> {
        self.defaults = defaults;
        self.set_manners(&IpTable::new(TableId::DEFAULT.0))
    }
    fn add_table(&mut self, table: &IpTable<F>) -> Result<(), FibError> {
        let id = TableId(table.id);
        let size = match table.size {
            TableSize::Small => Size::Small,
            TableSize::Large => Size::Large,
        };
        self.fib.add_table(id, size, table.counters)?;
        let special = self.add_special_routes(id).and_then(|()| self.set_manners(table));
        if special.is_err()
            && let Ok(table) = self.fib.take_table(id)
        {
            // No worker has heard of it.
            self.fib.discard(table);
        }
        special
    }
    fn add_special_routes(&mut self, id: TableId) -> Result<(), FibError> {
        for (prefix, special) in self.specials.routes() {
            self.fib.insert(id, prefix, Source::Special, vec![Path::to(Target::Special(special))])?;
        }
        Ok(())
    }
    /// Changes what all tables do with a special prefix; None leaves it to them.
    pub(crate) fn set_special(&mut self, prefix: Prefix<F>, action: Option<SpecialAction>) -> Result<(), FibError> {
        let special = self.specials.set(prefix, action);
        let tables: Vec<TableId> = self.fib.tables().map(|table| table.id).collect();
        for table in tables {
            match special {
                Some(special) => {
                    self.fib.insert(table, prefix, Source::Special, vec![Path::to(Target::Special(special))])?;
                }
                None => drop(self.fib.remove(table, prefix, Source::Special)),
            }
        }
        self.publish_tables();
        Ok(())
    }
    /// Gives the router a number, by which it spreads flows otherwise than others.
    pub(crate) fn set_router(&mut self, router: u32) {
        self.router = router;
        self.publish_tables();
    }
    /// Has a table do with packets what it says, or what holds of those that say nothing.
    fn set_manners(&mut self, table: &IpTable<F>) -> Result<(), FibError> {
        let id = TableId(table.id);
        self.set_default_route(id, table.no_route.unwrap_or(self.defaults.no_route))?;
        match table.link_layer_broadcast.unwrap_or(self.defaults.link_layer_broadcast) {
            LinkLayerBroadcast::Forward => self.forwarding_broadcasts.insert(id),
            LinkLayerBroadcast::Drop => self.forwarding_broadcasts.remove(&id),
        };
        match table.flow_hash.is_empty() {
            true => self.flow_fields.remove(&id),
            false => self.flow_fields.insert(id, table.flow_hash.clone()),
        };
        self.publish_tables();
        Ok(())
    }
    /// Gives a table a route for what has no other, or takes it away: without it, senders are told.
    fn set_default_route(&mut self, id: TableId, no_route: NoRoute) -> Result<(), FibError> {
        match no_route {
            NoRoute::Drop => {
                let paths = vec![Path::to(Target::Special(Special::Drop))];
                self.fib.insert(id, Prefix::ALL, Source::Default, paths)
            }
            NoRoute::Unreachable => {
                self.fib.remove(id, Prefix::ALL, Source::Default);
                Ok(())
            }
        }
    }
    /// Whether an interface speaks the family without an address, too, and by which address on its link.
    pub(crate) fn set_enabled(&mut self, id: InterfaceId, enabled: bool, link_local: Option<F::Address>) {
        let configured = self.interfaces.entry(id).or_default();
        (configured.enabled, configured.link_local) = (enabled, link_local);
        self.publish_interface(id);
    }
    /// What is configured of an interface.
    pub(crate) fn configured(&self, id: InterfaceId) -> Option<&Configured<F>> {
        self.interfaces.get(&id)
    }
    /// The interface whose addresses another one uses, or none.
    pub(crate) fn set_lender(&mut self, id: InterfaceId, lender: Option<InterfaceId>) {
        let before = std::mem::replace(&mut self.interfaces.entry(id).or_default().lender, lender);
        before.map(|before| self.borrowers.remove(&(before, id)));
        lender.map(|lender| self.borrowers.insert((lender, id)));
        self.publish_interface(id);
    }
    /// Has an interface be in these groups besides its own, for a room of this name, in place of those that it was in for it.
    pub fn join(&mut self, id: InterfaceId, room: &'static str, groups: &BTreeSet<F::Address>) {
        let configured = self.interfaces.entry(id).or_default();
        if configured.joined.get(room).map_or(!groups.is_empty(), |joined| joined != groups) {
            configured.joined.insert(room, groups.clone());
            self.publish_interface(id);
        }
    }
    /// The interface on whose subnet an address is.
    pub fn subnet_of(&self, table: TableId, address: F::Address) -> Option<InterfaceId> {
        let covers = (0..=F::ADDRESS_BITS).rev().filter_map(|length| Prefix::new(address, length).ok());
        covers.filter_map(|cover| self.connected.get(&(table, cover))).map(|(id, _)| *id).next()
    }
    /// The address that an interface has for its link.
    pub fn link_local(&self, id: InterfaceId) -> Option<F::Address> {
        self.current().interfaces.get(id.index())?.link_local
    }
    /// The same, if it may be used.
    pub fn usable_link_local(&self, id: InterfaceId) -> Option<F::Address> {
        self.link_local(id).filter(|own| self.current().is_usable(id, *own))
    }
    /// Tells that an address may be used now, or may not any more.
    pub fn usability(&self) -> &Signal {
        &self.usability
    }
    /// Whether an interface speaks the family.
    pub fn speaks(&self, id: InterfaceId) -> bool {
        self.interfaces.get(&id).is_some_and(Configured::speaks)
    }
    /// Notes whether an address of an interface may be used: as its source, and by those who speak to it (RFC 4862, 5.4).
    pub fn set_usable(&mut self, id: InterfaceId, address: F::Address, usable: bool) {
        let changed = match usable {
            true => self.unusable.remove(&(id, address)),
            false => self.unusable.insert((id, address)),
        };
        if changed {
            let unusable = self.unusable.iter().copied().collect();
            self.ingress.update(|ingress| Ingress { unusable, ..ingress.clone() });
            self.usability.notify();
        }
    }
    /// Notes whether nothing new is to begin with an address of an interface (RFC 4862, 5.5.4).
    pub fn set_deprecated(&mut self, id: InterfaceId, address: F::Address, deprecated: bool) {
        let changed = match deprecated {
            true => self.deprecated.insert((id, address)),
            false => self.deprecated.remove(&(id, address)),
        };
        if changed {
            let deprecated = self.deprecated.iter().copied().collect();
            self.ingress.update(|ingress| Ingress { deprecated, ..ingress.clone() });
        }
    }
    /// Bytes of a packet at most that routers on a link have said, if they have.
    fn said_mtu(&self, id: InterfaceId) -> u16 {
        self.said_mtus.get(&id).copied().unwrap_or(u16::MAX)
    }
    /// Forgets an interface that is gone; whether it was known.
    fn forget(&mut self, id: InterfaceId) -> bool {
        self.said_mtus.remove(&id);
        let Some(gone) = self.interfaces.remove(&id) else { return false };
        gone.link_hop.into_iter().for_each(|hop| self.fib.adjacencies.release(hop));
        gone.lender.map(|lender| self.borrowers.remove(&(lender, id)));
        true
    }
    /// Has the adjacency that stands for all on a link, where the link is spoken to by an address of its own.
    fn hold_link(&mut self, id: InterfaceId, wanted: bool) -> u32 {
        let Some(configured) = self.interfaces.get_mut(&id) else { return 0 };
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
    /// Tells workers what has become of an interface, and of those that use its addresses.
    fn publish_interface(&mut self, id: InterfaceId) {
        self.publish_one(id);
        let borrowers = self.borrowers.range((id, InterfaceId(0))..=(id, InterfaceId(u32::MAX)));
        let borrowers: Vec<InterfaceId> = borrowers.map(|(_, borrower)| *borrower).collect();
        borrowers.into_iter().for_each(|borrower| self.publish_one(borrower));
    }
    /// The addresses that an interface has, and those that it may use.
    fn usable_addresses(&self, configured: &Configured<F>) -> Arc<[Address<F>]> {
        match configured.lender {
            Some(lender) => configured.addresses.iter().chain(self.addresses(lender)).copied().collect(),
            None => configured.addresses.as_slice().into(),
        }
    }
    fn publish_one(&mut self, id: InterfaceId) {
        let link = self.fib.adjacencies.link(id).copied().unwrap_or_default();
        let link_local = self.interfaces.get(&id).filter(|configured| configured.speaks());
        let link_local =
            link_local.and_then(|configured| configured.link_local.or_else(|| F::link_local(MacAddress(link.mac))));
        let link_hop = self.hold_link(id, link_local.is_some());
        let known = self.interfaces.get(&id).map(|configured| {
            let slot = self.fib.table(configured.table).map_or(0, |table| table.slot);
            // A link that takes less than every link of the family has to is none of its links (RFC 8200, 5).
            let enabled = if configured.speaks() && link.mtu >= F::LINK_MTU_MIN { ENABLED } else { 0 };
            IpInterface {
                word: u32::from(slot) | enabled,
                addresses: self.usable_addresses(configured),
                link_local,
                link_hop,
                link,
                joined: configured.groups(),
            }
        });
        let mut ingress = self.ingress.current().clone();
        *ingress.interfaces.get_mut(id.index()) = known.unwrap_or_default();
        self.ingress.publish(ingress);
    }
    /// Tells workers what tables there are.
    fn publish_tables(&mut self) {
        let (mut tables, mut counting, mut choosing) = (vec![], false, false);
        for table in self.fib.tables() {
            let place = usize::from(table.slot);
            tables.resize(tables.len().max(place + 1), None);
            let counted = table.counted();
            counting |= counted.is_some();
            let forwards_broadcasts = self.forwarding_broadcasts.contains(&table.id);
            let fields = self.flow_fields.get(&table.id).map_or(&[][..], Vec::as_slice);
            let flows = Flows::new::<F>(fields, self.router);
            choosing |= !flows.is_usual();
            let id = table.id;
            tables[place] = Some(TableView { id, lpm: table.reader(), counted, forwards_broadcasts, flows });
        }
        let (interfaces, ordinary) = (self.ingress.current().interfaces.clone(), self.specials.ordinary());
        let lenient = !ordinary.is_empty();
        let Ingress { unusable, deprecated, path_mtus, .. } = self.ingress.current().clone();
        let tables = tables.into();
        let ingress =
            Ingress { interfaces, tables, counting, choosing, ordinary, lenient, unusable, deprecated, path_mtus };
        self.ingress.publish(ingress);
    }
    /// Sets how many bytes of a packet a host of a table gets at most; None leaves that to the links that lead to it.
    pub(crate) fn set_path_mtu(&mut self, table: TableId, peer: F::Address, mtu: Option<u16>) {
        self.fib.adjacencies.set_path_mtu(table, peer, mtu);
        let path_mtus = self.fib.adjacencies.path_mtus().clone();
        self.ingress.update(|ingress| Ingress { path_mtus, ..ingress.clone() });
    }
    /// Another interface than `id` that has addresses on a part of `prefix`, or on more than it.
    fn overlap(&self, table: TableId, prefix: Prefix<F>, id: InterfaceId) -> Option<(InterfaceId, Prefix<F>)> {
        let above = (0..=prefix.length()).filter_map(|length| Prefix::new(prefix.address(), length).ok());
        let above = above.filter_map(|above| self.connected.get_key_value(&(table, above)));
        let (first, last) = ((table, prefix), (table, Prefix::host(prefix.last_address())));
        let overlapping = above.chain(self.connected.range(first..=last));
        overlapping.map(|((_, prefix), (other, _))| (*other, *prefix)).find(|(other, _)| *other != id)
    }
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
        let configured = self.interfaces.entry(id).or_default();
        let table = configured.table;
        let wanted = match configured.up {
            true => routes_of(&addresses, configured.directed_broadcast),
            false => BTreeMap::new(),
        };
        let old = std::mem::replace(&mut configured.routes, wanted.clone());
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
    fn set_up(&mut self, id: InterfaceId, up: bool) {
        let is_new = !self.interfaces.contains_key(&id);
        if is_new && !up {
            return;
        }
        let configured = self.interfaces.entry(id).or_default();
        if std::mem::replace(&mut configured.up, up) == up {
            return;
        }
        let addresses = configured.addresses.clone();
        if let Err(error) = self.replace_addresses(id, addresses) {
            tracing::error!("interface {}: the routes of its addresses found no room: {error}", id.0);
        }
    }
    /// Whether packets for all on an interface's subnets are forwarded there.
    pub(crate) fn set_directed_broadcast(&mut self, id: InterfaceId, wanted: bool) -> Result<(), FibError> {
        let configured = self.interfaces.entry(id).or_default();
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

pub(crate) fn refused(error: FibError) -> ObjectError {
    ObjectError::whole(error.to_string())
}

fn apply_table<F: Family>(control: &Control, change: Change<'_, IpTable<F>>) -> Result<(), ObjectError> {
    let mut ip = control.room_mut::<Ip<F>>();
    match change {
        Change::Create(table) if table.id == TableId::DEFAULT.0 => {
            if table.counters {
                return Err(
                    ObjectError::field("counters", "table 0 does not count by route").remedy("use another table")
                );
            }
            ip.set_manners(table).map_err(refused)?;
        }
        Change::Create(table) => {
            control.room_mut::<Leaving<F>>().keep(table.id);
            ip.add_table(table).map_err(refused)?;
        }
        Change::Update { new, .. } => {
            // Whoever configures it wants it.
            control.room_mut::<Leaving<F>>().keep(new.id);
            ip.set_manners(new).map_err(refused)?;
        }
        Change::Delete(table) if table.id == TableId::DEFAULT.0 => {
            ip.set_manners(&IpTable::new(table.id)).map_err(refused)?;
        }
        Change::Delete(table) => {
            let taken = ip.fib.take_table(TableId(table.id)).map_err(refused)?;
            ip.forwarding_broadcasts.remove(&TableId(table.id));
            ip.flow_fields.remove(&TableId(table.id));
            ip.publish_tables();
            ip.fib.discard(taken);
        }
    }
    Ok(())
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
    let configured = ip.interfaces.entry(id).or_default();
    // Addresses and neighbours stand on this object, so they are down while it changes: their routes are in the table.
    debug_assert!(configured.addresses.is_empty(), "{name} has addresses while its table changes");
    configured.table = table;
    ip.fib.adjacencies.set_table(id, table);
    ip.publish_interface(id);
    Ok(())
}

fn apply_address<F: Family>(control: &Control, change: Change<'_, InterfaceAddress<F>>) -> Result<(), ObjectError> {
    let (wanted, add) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = control.room::<Interfaces>().id_of(&wanted.interface.0)?;
    if id == LOCAL {
        return Err(ObjectError::field("interface", "local0 neither sends nor receives").remedy("choose another one"));
    }
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
        if let Some((other, prefix)) = ip.overlap(table, wanted.prefix(), id) {
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

fn apply_route<F: Family>(control: &Control, change: Change<'_, Route<F>>) -> Result<(), ObjectError> {
    let crosses = |route: &Route<F>| route.paths.iter().any(|path| path.other_via.is_some());
    match change {
        Change::Create(route) | Change::Update { new: route, .. } => {
            let paths = paths(control, &route.paths)?;
            recursion::note(control, (route, "paths"), (route.table.into(), route.prefix), &paths);
            let mut ip = control.room_mut::<Ip<F>>();
            ip.fib.insert(route.table.into(), route.prefix, Source::Static, paths).map_err(refused)?;
        }
        Change::Delete(route) => {
            control.room_mut::<Ip<F>>().fib.remove(route.table.into(), route.prefix, Source::Static);
        }
    }
    // What it led to before, perhaps nothing leads to now.
    if let Change::Update { old, .. } | Change::Delete(old) = change
        && crosses(old)
    {
        crossing::sweep::<F>(control);
    }
    Ok(())
}

/// Configured paths, as the FIB has them.
///
/// # Errors
/// If the interface of one is not there.
pub fn paths<F: Family>(control: &Control, configured: &[RoutePath<F>]) -> Result<Vec<Path<F>>, ObjectError> {
    if configured.iter().any(|path| path.other_via.is_some()) {
        crossing::sweep::<F>(control);
    }
    let path = |path: &RoutePath<F>| {
        let target = target(control, path)?;
        Ok(Path { weight: path.weight, preference: path.preference, ..Path::to(target) })
    };
    configured.iter().map(path).collect()
}

fn target<F: Family>(control: &Control, path: &RoutePath<F>) -> Result<Target<F>, ObjectError> {
    let id = |name: &str| control.room::<Interfaces>().id_of(name);
    if let Some(to) = &path.to {
        return next_hops::target(control, to, path.interface.as_ref());
    }
    if let Some(via) = path.other_via {
        let interface = path.interface.as_ref().map(|name| id(&name.0)).transpose()?;
        return crossing::target(control, Way { interface, via });
    }
    Ok(match (path.action, path.via, &path.interface) {
        (Some(RouteAction::Drop), ..) => Target::Special(Special::Drop),
        (Some(RouteAction::Unreachable), ..) => Target::Special(Special::Unreachable),
        (Some(RouteAction::Prohibit), ..) => Target::Special(Special::Prohibit),
        (Some(RouteAction::Local), ..) => Target::Special(Special::Local),
        (Some(RouteAction::Lookup), ..) => Target::Lookup(path.table.into()),
        (Some(RouteAction::SourceLookup), ..) => Target::SourceLookup(path.table.into()),
        (Some(RouteAction::Receive), _, Some(name)) => Target::Received(id(&name.0)?),
        (Some(RouteAction::Receive), _, None) => Target::Special(Special::Drop),
        (None, Some(via), Some(name)) => Target::NextHop(id(&name.0)?, via),
        (None, None, Some(name)) => Target::Link(id(&name.0)?),
        (None, via, None) => Target::Recursive(path.table.into(), via.unwrap_or(F::UNSPECIFIED)),
    })
}
