//! The tunnels of a kind on the control thread: their settings, and the rows for the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;

use quiver_control::object::Moment;
use quiver_control::{Control, ObjectError};
use quiver_engine::{
    Counter, Counters, Dataplane, DataplaneError, Domain, FeatureSpec, NodeSpec, Paged, Phase, Publisher, Seed,
    Snapshot,
};
use quiver_interface::{
    InterfaceEvent, InterfaceId, Interfaces, TunnelTo, Undecided, decides, receiver, sender, set_tunnel, undecided,
    watch,
};
use quiver_ip::Ip;
use quiver_ip::fib::rows::GroupRows;
use quiver_ip::fib::{Path, TableId, Target};
use quiver_ip::node::describe;
use quiver_table::ExactError;
use quiver_wire::{EtherType, UdpPort, V4, V6, Vni};

use crate::directory::{Directory, Key, TunnelMatch};
use crate::encapsulate::{Encapsulate, Tunnel, TunnelRows};
use crate::ends::Ends;
use crate::groups;
use crate::input::{self, BY_VERSION, Bypass, Finder, Input};
use crate::kind::Kind;
use crate::outer::{Choice, Outer};
use crate::underlay::{Underlay, is_host};

/// Why a kind of tunnels cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    /// The data plane refuses a node.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// The table of tunnels cannot be made.
    #[error("the table of tunnels cannot be made: {0}")]
    Table(#[from] ExactError),
}

/// Settings of a tunnel.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Both ends; the destination may be a group.
    pub ends: Ends,
    /// The network.
    pub vni: Vni,
    /// The port by which datagrams come to us.
    pub port: UdpPort,
    /// The table in which the destination is looked up, and whose interfaces receive the datagrams.
    pub table: TableId,
    /// The interface by which datagrams for a group leave, and come.
    pub group_interface: Option<InterfaceId>,
    /// Whether packets go without an Ethernet header.
    pub is_layer3: bool,
    /// Where packets go that come out.
    pub next: After,
    /// Fields of the outer headers.
    pub choice: Choice,
}

quiver_control::choice! {
    /// Where packets go that come out of a tunnel.
    pub enum After {
        /// To where all go that an interface receives; without an Ethernet header, to IPv4 or IPv6.
        Interface = "interface",
        /// To the bridge domain or cross-connect of the interface.
        Bridge = "l2-input",
        /// To the node that looks at their Ethernet header.
        Ethernet = "ethernet-input",
        /// To IPv4, whatever they are.
        Ip4 = "ip4-input",
        /// To IPv6, whatever they are.
        Ip6 = "ip6-input",
        /// Nowhere.
        Drop = "drop",
    } as "after-tunnel", "interface, l2-input, ethernet-input, ip4-input, ip6-input or drop";
}

impl After {
    /// The ways that have an arc of their own.
    const CHOSEN: [(After, input::Next); 6] = [
        (After::Interface, input::Next::Device),
        (After::Bridge, input::Next::Bridge),
        (After::Ethernet, input::Next::Ethernet),
        (After::Ip4, input::Next::Ip4),
        (After::Ip6, input::Next::Ip6),
        (After::Drop, input::Next::Chosen),
    ];
    /// The way of an arc's number, by which VPP's clients name it.
    pub fn of_arc(arc: u32) -> Option<After> {
        Self::CHOSEN.iter().find(|(_, next)| *next as u32 == arc).map(|(after, _)| *after)
    }
    /// The number of its arc, by which VPP's clients name it.
    pub fn number(self) -> u32 {
        Self::CHOSEN.iter().find(|(after, _)| *after == self).map_or(0, |(_, next)| *next as u32)
    }
    fn arc(self, is_layer3: bool) -> u16 {
        if self == After::Interface && is_layer3 { BY_VERSION } else { self.number() as u16 }
    }
}

/// The tunnels of a kind over a family, and where its bypass is enabled.
struct Over<F: Underlay> {
    directory: Directory<F>,
    /// The number of tunnels that use a port.
    users: BTreeMap<UdpPort, u32>,
    /// The ports that tunnels use.
    ports: Publisher<Paged<bool>>,
}

impl<F: Underlay> Over<F> {
    fn new(domain: &Domain, seed: u64) -> Result<Over<F>, ExactError> {
        let ports = Publisher::new(domain, Paged::default());
        Ok(Over { directory: Directory::new(domain, seed)?, users: BTreeMap::new(), ports })
    }
    fn set_users(&mut self, port: UdpPort, users: u32) {
        let had = match users {
            0 => self.users.remove(&port),
            users => self.users.insert(port, users),
        };
        if had.is_some() != (users > 0) {
            let mut ports = self.ports.current().clone();
            *ports.get_mut(port.0.into()) = users > 0;
            self.ports.publish(ports);
        }
    }
}

/// The tunnels of a kind.
pub struct Tunnels<K: Kind> {
    held: BTreeMap<InterfaceId, Settings>,
    rows: Publisher<TunnelRows>,
    over4: Over<V4>,
    over6: Over<V6>,
    /// Tunnels that datagrams are to find up at the end of the turn, when workers know their interfaces' features.
    rising: BTreeSet<InterfaceId>,
    kind: PhantomData<fn() -> K>,
}

/// A family of which [`Tunnels`] has a part.
trait Part: Underlay {
    fn over<K: Kind>(tunnels: &mut Tunnels<K>) -> &mut Over<Self>;
}
impl Part for V4 {
    fn over<K: Kind>(tunnels: &mut Tunnels<K>) -> &mut Over<V4> {
        &mut tunnels.over4
    }
}
impl Part for V6 {
    fn over<K: Kind>(tunnels: &mut Tunnels<K>) -> &mut Over<V6> {
        &mut tunnels.over6
    }
}

impl<K: Kind> Tunnels<K> {
    /// Path group to the remote end of a tunnel, of the family of its ends.
    pub fn group(&self, id: InterfaceId) -> Option<u32> {
        Some(self.rows.current().get(id.index())?.as_ref()?.group)
    }
    fn publish(&mut self, id: InterfaceId, row: Option<Tunnel>) {
        self.rows.edit(|rows| *rows.get_mut(id.index()) = row);
    }
}

/// Registers a kind of tunnels: its nodes and features. The room of tunnels is registered before.
pub fn register<K: Kind>(control: &Control) -> Result<(), TunnelError> {
    let room: Tunnels<K> = {
        let dataplane = control.room::<Dataplane>();
        let (domain, seed) = (dataplane.domain(), dataplane.settings().secret);
        Tunnels {
            held: BTreeMap::new(),
            rows: Publisher::new(domain, TunnelRows::default()),
            over4: Over::new(domain, seed)?,
            over6: Over::new(domain, !seed)?,
            rising: BTreeSet::new(),
            kind: PhantomData,
        }
    };
    control.insert_room(room);
    let help = "Packets received from the tunnel with options that were skipped.";
    let with_options =
        K::HAS_OPTIONS.then(|| control.room_mut::<Dataplane>().add_simple_interface_counters("tunnel-options", help));
    register_family::<K, V4>(control, with_options.clone())?;
    register_family::<K, V6>(control, with_options)?;
    watch(control, |control, event| {
        if let InterfaceEvent::AdminState(id) = event {
            set_up::<K>(control, id);
        }
    });
    control.objects().around_turns(|control, moment| {
        // A turn may lie within another one.
        if moment == Moment::After && !control.room::<Dataplane>().domain().is_held() {
            let rising = std::mem::take(&mut control.room_mut::<Tunnels<K>>().rising);
            rising.into_iter().for_each(|id| set_found::<K>(control, id));
        }
    });
    Ok(())
}

fn register_family<K: Kind, F: Part>(
    control: &Control,
    with_options: Option<Counters<Counter>>,
) -> Result<(), TunnelError> {
    let (rows, reader, ports) = {
        let mut room = control.room_mut::<Tunnels<K>>();
        let rows = room.rows.snapshot();
        let over = F::over(&mut room);
        (rows, over.directory.reader(), over.ports.snapshot())
    };
    let (ingress, groups): (_, Snapshot<_>) = {
        let ip = control.room::<Ip<F>>();
        (ip.ingress(), ip.fib.groups.snapshot())
    };
    let finder = Finder::<K, F> { reader, rows: rows.clone(), ingress, kind: PhantomData };
    add_nodes(&mut control.room_mut::<Dataplane>(), &finder, ports, groups, with_options)?;
    let [encapsulate, input, bypass] = names::<K, F>();
    decides(control, encapsulate, sender);
    undecided(control, encapsulate, Undecided::Packet, &["too-long", "no-headroom", "not-ip"]);
    undecided(control, encapsulate, Undecided::Load, &["not-completed"]);
    decides(control, input, receiver);
    decides(control, bypass, receiver);
    let of_packet = ["malformed-tunnel-header", "wrong-udp-checksum", "no-such-tunnel", "congestion-unnoticed"];
    undecided(control, input, Undecided::Packet, &of_packet);
    if K::HAS_OPTIONS {
        undecided(control, input, Undecided::Packet, &["wrong-options-length", "unknown-critical-option"]);
    }
    quiver_udp::open::<F>(control, input)?;
    Ok(())
}

/// The nodes of a kind over a family: that puts packets into datagrams, that takes them out, and that finds them before the lookup.
fn names<K: Kind, F: Underlay>() -> [&'static str; 3] {
    [K::ENCAPSULATE, K::INPUT, K::BYPASS].map(|names| names[F::PLACE])
}

fn add_nodes<K: Kind, F: Part>(
    dataplane: &mut Dataplane,
    finder: &Finder<K, F>,
    ports: Snapshot<Paged<bool>>,
    groups: Snapshot<GroupRows>,
    with_options: Option<Counters<Counter>>,
) -> Result<(), DataplaneError> {
    let [encapsulate, _, bypass] = names::<K, F>();
    let (received, sent) = (dataplane.rx_counters().clone(), dataplane.tx_counters().clone());
    let graph = dataplane.blueprint();
    let (of_input, of_bypass, rows) = (finder.clone(), finder.clone(), finder.rows.clone());
    let make = move |Seed { worker, .. }: Seed| {
        let with_options = with_options.as_ref().map(|counters| counters.row(worker));
        Input::new(of_input.clone(), received.row(worker), with_options)
    };
    graph.node(NodeSpec::with_slow_path(make).describe(describe::<F>))?;
    let make = move |_| Bypass::new(of_bypass.clone(), ports.clone());
    graph.node(NodeSpec::new(bypass, Bypass::<K, F>::ARCS, make).describe(describe::<F>))?;
    graph.feature(FeatureSpec::new(F::NAMES.unicast, bypass, Phase::Tunnel))?;
    let make = move |Seed { worker, .. }: Seed| {
        Encapsulate::<K, F>::new(rows.clone(), groups.clone(), sent.row(worker), worker)
    };
    graph.node(NodeSpec::with_slow_path(make))?;
    // A feature behind it would never see a packet.
    graph.feature(FeatureSpec::new("interface-output", encapsulate, Phase::Forward))?;
    Ok(())
}

/// Makes an interface, which is down, a tunnel.
///
/// # Errors
/// If another tunnel has the same ends, port and network, another room has the port, or something is full. Nothing has changed then.
pub fn open<K: Kind>(control: &Control, id: InterfaceId, settings: &Settings) -> Result<(), ObjectError> {
    match settings.ends {
        Ends::V4(..) => open_over::<K, V4>(control, id, settings),
        Ends::V6(..) => open_over::<K, V6>(control, id, settings),
    }
}

fn open_over<K: Kind, F: Part>(control: &Control, id: InterfaceId, settings: &Settings) -> Result<(), ObjectError> {
    let key = key_of::<F>(control, settings)?;
    let users = {
        let mut room = control.room_mut::<Tunnels<K>>();
        let over = F::over(&mut room);
        if let Some(found) = over.directory.get(&key) {
            let name = control.room::<Interfaces>().name(interface_of(found));
            let what = format!("{name} has these ends, this port and this network already");
            return Err(ObjectError::field("vni", what).remedy("choose another network, or delete that one"));
        }
        over.users.get(&settings.port).copied().unwrap_or_default()
    };
    if users == 0 {
        let claimed = quiver_udp::claim::<F>(control, settings.port, K::INPUT[F::PLACE]);
        claimed.map_err(|error| ObjectError::field("port", error.to_string()).remedy("choose another port"))?;
    }
    let added = F::over(&mut control.room_mut::<Tunnels<K>>()).directory.insert(&key, found(id, settings, false));
    if let Err(error) = added {
        if users == 0 {
            quiver_udp::release::<F>(control, settings.port);
        }
        return Err(ObjectError::whole(error.to_string()).remedy("delete tunnels that are not needed"));
    }
    let target = match settings.group_interface {
        Some(interface) => Target::Link(interface),
        None => Target::Recursive(settings.table, key.remote),
    };
    let group = control.room_mut::<Ip<F>>().fib.hold(vec![Path::to(target)]);
    if let Some(interface) = settings.group_interface {
        groups::join(control, interface, settings.ends.destination());
    }
    let of = |protocol| Outer::new(&settings.ends, &settings.choice, &K::header(settings.vni, protocol));
    let (outer, layer3) = match settings.is_layer3 {
        true => (of(EtherType::IP4), Some(Arc::new(of(EtherType::IP6)))),
        false => (of(EtherType::TRANSPARENT_BRIDGING), None),
    };
    let is_ordinary = !settings.is_layer3 && !settings.ends.is_multicast() && !outer.sums();
    let tunnel = Tunnel { ends: settings.ends, outer, group, up: false, is_ordinary, layer3 };
    {
        let mut room = control.room_mut::<Tunnels<K>>();
        F::over(&mut room).set_users(settings.port, users + 1);
        room.held.insert(id, settings.clone());
        room.publish(id, Some(tunnel));
    }
    let to = match settings.ends.is_multicast() {
        true => TunnelTo::Group,
        false => TunnelTo::Host { table: settings.table.0, address: settings.ends.destination() },
    };
    set_tunnel(control, id, to);
    let encapsulate = K::ENCAPSULATE[F::PLACE];
    let enabled = control.room_mut::<Dataplane>().enable("interface-output", encapsulate, id.0, true);
    enabled.map_err(|error| ObjectError::whole(error.to_string()))
}

fn interface_of(found: TunnelMatch) -> InterfaceId {
    InterfaceId(found.interface())
}

/// The tunnel with the same ends, port, network and table.
pub fn find<K: Kind>(control: &Control, settings: &Settings) -> Option<InterfaceId> {
    match settings.ends {
        Ends::V4(..) => find_over::<K, V4>(control, settings),
        Ends::V6(..) => find_over::<K, V6>(control, settings),
    }
}

fn find_over<K: Kind, F: Part>(control: &Control, settings: &Settings) -> Option<InterfaceId> {
    let key = key_of::<F>(control, settings).ok()?;
    F::over(&mut control.room_mut::<Tunnels<K>>()).directory.get(&key).map(interface_of)
}

/// Checks the ends of a tunnel, without other objects.
///
/// # Errors
/// If they are of two families or the same, the source is no host's address, or a group has no interface, or a host one.
pub fn check_ends(source: IpAddr, destination: IpAddr, has_group_interface: bool) -> Result<(), ObjectError> {
    let wrong = |field: &str, what: String, remedy: &str| Err(ObjectError::field(field, what).remedy(remedy));
    let Some(ends) = Ends::new(source, destination) else {
        let what = format!("{destination} is not of the family of {source}");
        return wrong("destination", what, "give two addresses of one family");
    };
    if source == destination {
        return wrong("destination", format!("{destination} is the source, too"), "give the other end's address");
    }
    if !is_host(source) {
        return wrong("source", format!("{source} is no address of a single host"), "give one of this router's");
    }
    match (ends.is_multicast(), has_group_interface) {
        (true, false) => wrong(
            "group-interface",
            "it is missing".into(),
            "name the interface by which datagrams for the group leave",
        ),
        (false, true) => wrong("group-interface", format!("{destination} is no group"), "leave it out"),
        (false, false) if !is_host(destination) => {
            wrong("destination", format!("{destination} is no address of a single host"), "give one, or a group's")
        }
        _ => Ok(()),
    }
}

/// Undoes [`open`]. The interface is removed afterwards.
pub fn close<K: Kind>(control: &Control, id: InterfaceId) {
    let settings = {
        let mut room = control.room_mut::<Tunnels<K>>();
        room.rising.remove(&id);
        room.held.remove(&id)
    };
    let Some(settings) = settings else { return };
    match settings.ends {
        Ends::V4(..) => close_over::<K, V4>(control, id, &settings),
        Ends::V6(..) => close_over::<K, V6>(control, id, &settings),
    }
}

fn close_over<K: Kind, F: Part>(control: &Control, id: InterfaceId, settings: &Settings) {
    let key = key_of::<F>(control, settings);
    let (group, users) = {
        let mut room = control.room_mut::<Tunnels<K>>();
        let group = room.group(id);
        room.publish(id, None);
        let over = F::over(&mut room);
        key.into_iter().for_each(|key| over.directory.remove(&key));
        let users = over.users.get(&settings.port).copied().unwrap_or(1) - 1;
        over.set_users(settings.port, users);
        (group, users)
    };
    group.into_iter().for_each(|group| control.room_mut::<Ip<F>>().fib.let_go(group));
    if let Some(interface) = settings.group_interface {
        groups::leave(control, interface, settings.ends.destination());
    }
    if users == 0 {
        quiver_udp::release::<F>(control, settings.port);
    }
}

/// Lookup key of a tunnel's datagrams.
fn key_of<F: Underlay>(control: &Control, settings: &Settings) -> Result<Key<F::Address>, ObjectError> {
    let slot = control.room::<Ip<F>>().fib.table(settings.table).map(|table| table.slot);
    let table = settings.table;
    let missing = || ObjectError::field("table", format!("there is no table {table}")).remedy("add it first");
    let slot = slot.ok_or_else(missing)?;
    let address = |address: IpAddr| F::from_ip(address).unwrap_or(F::UNSPECIFIED);
    let (source, destination) = (address(settings.ends.source()), address(settings.ends.destination()));
    // A datagram for a group names the group as its destination, whoever has sent it.
    let local = if settings.ends.is_multicast() { F::UNSPECIFIED } else { source };
    Ok(Key { remote: destination, local, port: settings.port, vni: settings.vni, slot })
}

/// Notes whether a tunnel's interface is up.
fn set_up<K: Kind>(control: &Control, id: InterfaceId) {
    if !control.room::<Tunnels<K>>().held.contains_key(&id) {
        return;
    }
    let up = is_up(control, id);
    {
        let mut room = control.room_mut::<Tunnels<K>>();
        let mut tunnel = room.rows.current().get(id.index()).cloned().flatten();
        tunnel.iter_mut().for_each(|tunnel| tunnel.up = up);
        room.publish(id, tunnel);
        if up && control.room::<Dataplane>().domain().is_held() {
            room.rising.insert(id);
            return;
        }
        room.rising.remove(&id);
    }
    set_found::<K>(control, id);
}

fn is_up(control: &Control, id: InterfaceId) -> bool {
    control.room::<Interfaces>().get(id).is_some_and(|interface| interface.up)
}

/// Lets datagrams find a tunnel as it is now.
fn set_found<K: Kind>(control: &Control, id: InterfaceId) {
    let Some(settings) = control.room::<Tunnels<K>>().held.get(&id).cloned() else { return };
    match settings.ends {
        Ends::V4(..) => set_found_over::<K, V4>(control, id, &settings),
        Ends::V6(..) => set_found_over::<K, V6>(control, id, &settings),
    }
}

fn set_found_over<K: Kind, F: Part>(control: &Control, id: InterfaceId, settings: &Settings) {
    if let Ok(key) = key_of::<F>(control, settings) {
        let found = found(id, settings, is_up(control, id));
        F::over(&mut control.room_mut::<Tunnels<K>>()).directory.change(&key, found);
    }
}

/// A tunnel as datagrams find it.
fn found(id: InterfaceId, settings: &Settings, up: bool) -> TunnelMatch {
    TunnelMatch::new(id.0, up, settings.next.arc(settings.is_layer3))
}
