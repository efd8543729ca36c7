//! The interfaces that there are: hardware, software, and sub-interfaces of others.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

use quiver_control::{Control, ObjectError, one_by_one};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, INTERFACES_MAX, RxQueue, TxQueue};
use quiver_wire::MacAddress;

use crate::mtu::{LinkMtu, Mtus, Wanted};

/// An interface's number: what packets carry as `rx` and `tx`. It is used again only after no worker can refer to the
/// interface that had it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

impl InterfaceId {
    /// The number as an index of tables by interface.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The interface that is always there and never sends: packets of our own making have come from it.
pub const LOCAL: InterfaceId = InterfaceId(0);

/// An interface.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its number.
    pub id: InterfaceId,
    /// Its name.
    pub name: String,
    /// Kind of its creator: `tap`, `af-packet`, `sub-interface`.
    pub kind: &'static str,
    /// Its own address; that of its parent for a sub-interface.
    pub mac: MacAddress,
    /// Bytes of a packet at most, from the layer 3 header on: what is configured, as far as the link takes that.
    pub mtu: u16,
    /// The same of protocols that have their own.
    pub mtus: Mtus,
    /// The configured MTUs.
    pub(crate) wanted: Wanted,
    /// Limits of the link.
    pub(crate) link_mtu: LinkMtu,
    /// Whether it was set up: only then it receives and sends.
    pub up: bool,
    /// Whether there is a connection, as far as the driver knows.
    pub link: bool,
    /// Kilobits that its link carries a second, where the driver knows. That of a part is its parent's.
    pub speed: Option<u32>,
    /// The interface that it is a part of.
    pub parent: Option<InterfaceId>,
    /// Whether there is one neighbour at most, who is never asked for its address of hardware: whatever is sent reaches it.
    pub point_to_point: bool,
    /// The address of that neighbour; zeros where it needs none.
    pub peer: MacAddress,
    /// Destination of its frames, if it is a tunnel.
    pub tunnel: Option<TunnelTo>,
    /// The address that it was made with: it holds while no other is configured.
    pub(crate) made_mac: MacAddress,
}

/// Destination of a tunnel's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelTo {
    /// One other end, to whose address the table of this number has the way.
    Host {
        /// The table.
        table: u32,
        /// The address.
        address: IpAddr,
    },
    /// All other ends of its network, those of tunnels to hosts among them.
    Group,
}

/// Properties of an interface that a room creates.
pub struct NewInterface {
    /// Its name, which no other interface has.
    pub name: String,
    /// Kind of its creator: `tap`, `af-packet`, `sub-interface`.
    pub kind: &'static str,
    /// Its address.
    pub mac: MacAddress,
    /// Its MTU while none is configured.
    pub mtu: u16,
    /// The interface by which it sends, if it has no queues of its own.
    pub parent: Option<InterfaceId>,
    /// Its queues, if it has any.
    pub queues: Option<Queues>,
}

/// The queues of a driver.
pub struct Queues {
    /// The node that stands for the receive queues.
    pub input: NodeId,
    /// Receive queues, spread over the workers.
    pub rx: Vec<Box<dyn RxQueue>>,
    /// Transmit queues, one for each worker.
    pub tx: Vec<Box<dyn TxQueue>>,
}

/// Change of an interface. Watchers find the interface in [`Interfaces`] as it is now; a removed one for the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceEvent {
    /// It came into being, down.
    Created(InterfaceId),
    /// It goes; nothing of it may be left when the watcher returns.
    Removed(InterfaceId),
    /// It was set up or down.
    AdminState(InterfaceId),
    /// It gained or lost its connection; or what it is a part of did, or was set up or down.
    Link(InterfaceId),
    /// Its MTU changed.
    Mtu(InterfaceId),
    /// Its MAC address changed.
    Mac(InterfaceId),
    /// It got an address of layer 3.
    AddressAdded(InterfaceId, IpAddr),
    /// It lost an address of layer 3.
    AddressRemoved(InterfaceId),
}

type Watcher = Rc<dyn Fn(&Control, InterfaceEvent)>;

/// All interfaces, by number and name.
pub struct Interfaces {
    interfaces: Vec<Option<Interface>>,
    /// The numbers of those that are there: among a million, many may have gone.
    numbers: BTreeSet<InterfaceId>,
    names: HashMap<String, InterfaceId>,
    /// By what names begin with: no number below this one is free.
    taken: HashMap<String, u32>,
    /// Parts of interfaces, behind those.
    parts: BTreeSet<(InterfaceId, InterfaceId)>,
    /// The number of interfaces that are tunnels.
    tunnels: usize,
    watchers: Vec<Watcher>,
    /// Numbers that no worker can refer to any more arrive here.
    released: (Sender<InterfaceId>, Receiver<InterfaceId>),
    free: Vec<InterfaceId>,
}

impl Default for Interfaces {
    fn default() -> Interfaces {
        let mut interfaces = Interfaces {
            interfaces: vec![None],
            numbers: BTreeSet::new(),
            names: HashMap::new(),
            taken: HashMap::new(),
            parts: BTreeSet::new(),
            tunnels: 0,
            watchers: vec![],
            released: channel(),
            free: vec![],
        };
        let local = Interface {
            id: LOCAL,
            name: "local0".into(),
            kind: "local",
            mac: MacAddress::ZERO,
            mtu: 0,
            mtus: Mtus::default(),
            wanted: Wanted::default(),
            link_mtu: LinkMtu::usually(0),
            up: false,
            link: false,
            speed: None,
            parent: None,
            point_to_point: false,
            peer: MacAddress::ZERO,
            tunnel: None,
            made_mac: MacAddress::ZERO,
        };
        interfaces.insert(local);
        interfaces
    }
}

impl Interfaces {
    /// The interface of this name.
    pub fn find(&self, name: &str) -> Option<&Interface> {
        self.get(*self.names.get(name)?)
    }
    /// The interface of this number.
    pub fn get(&self, id: InterfaceId) -> Option<&Interface> {
        self.interfaces.get(id.index())?.as_ref()
    }
    /// Whether there are tunnels.
    pub fn has_tunnels(&self) -> bool {
        self.tunnels > 0
    }
    /// The name of an interface, for people; its number if it is gone.
    pub fn name(&self, id: InterfaceId) -> String {
        self.get(id).map_or_else(|| format!("interface {}", id.0), |interface| interface.name.clone())
    }
    /// All interfaces in the order of their numbers, `local0` first.
    pub fn iter(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.iter().flatten()
    }
    /// The interfaces of so many numbers from one on, and the number to go on from; None at the end.
    pub fn some(&self, from: usize, count: usize) -> (impl Iterator<Item = &Interface>, Option<usize>) {
        let end = from.saturating_add(count).min(self.interfaces.len());
        let some = self.interfaces.get(from..end).unwrap_or_default();
        (some.iter().flatten(), (end < self.interfaces.len()).then_some(end))
    }
    /// The interface with the next number behind this one, or the first one.
    pub fn behind(&self, last: Option<InterfaceId>) -> Option<&Interface> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        self.get(*self.numbers.range((from, Bound::Unbounded)).next()?)
    }
    /// An error with this remedy if there is an interface of this name.
    pub fn check_free(&self, name: &str, remedy: &str) -> Result<(), ObjectError> {
        match self.find(name) {
            None => Ok(()),
            Some(_) => Err(ObjectError::field("name", format!("there is an interface {name} already")).remedy(remedy)),
        }
    }
    /// The number of the interface of this name; an error that objects can give if there is none.
    pub fn id_of(&self, name: &str) -> Result<InterfaceId, ObjectError> {
        let missing = || ObjectError::whole(format!("the interface {name} is not there")).remedy("create it first");
        self.find(name).map(|interface| interface.id).ok_or_else(missing)
    }
    /// The first free name that is this word with a number behind it.
    pub fn free_name(&mut self, stem: &str) -> String {
        let first = self.taken.get(stem).copied().unwrap_or_default();
        let is_free = |number: &u32| !self.names.contains_key(&format!("{stem}{number}"));
        let number = (first..).find(is_free).unwrap_or_default();
        self.taken.insert(stem.to_owned(), number);
        format!("{stem}{number}")
    }
    /// A name is free again.
    fn release_name(&mut self, name: &str) {
        self.names.remove(name);
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        if let Some((taken, number)) = self.taken.get_mut(stem).zip(name[stem.len()..].parse::<u32>().ok()) {
            *taken = number.min(*taken);
        }
    }
    fn insert(&mut self, interface: Interface) {
        self.names.insert(interface.name.clone(), interface.id);
        self.numbers.insert(interface.id);
        self.parts.extend(interface.parent.map(|parent| (parent, interface.id)));
        let place = interface.id.index();
        self.interfaces[place] = Some(interface);
    }
    fn allocate(&mut self) -> Option<InterfaceId> {
        self.free.extend(self.released.1.try_iter());
        if let Some(id) = self.free.pop() {
            return Some(id);
        }
        let id = u32::try_from(self.interfaces.len()).ok().filter(|id| *id < INTERFACES_MAX)?;
        self.interfaces.push(None);
        Some(InterfaceId(id))
    }
    /// Whether packets can come and go by an interface: it is up and has a connection, and so is what it is a part of.
    pub fn is_usable(&self, id: InterfaceId) -> bool {
        let of = |id| self.get(id).filter(|interface| interface.up && interface.link);
        of(id).is_some_and(|interface| interface.parent.is_none_or(|parent| of(parent).is_some()))
    }
    pub(crate) fn get_mut(&mut self, id: InterfaceId) -> Option<&mut Interface> {
        self.interfaces.get_mut(id.index())?.as_mut()
    }
    /// The parts of an interface.
    pub fn children(&self, id: InterfaceId) -> Vec<InterfaceId> {
        let parts = self.parts.range((id, InterfaceId(0))..=(id, InterfaceId(u32::MAX)));
        parts.map(|(_, part)| *part).collect()
    }
}

impl Interface {
    /// Bytes of a packet of IPv4 or IPv6 at most.
    pub fn mtu_of(&self, version: u8) -> u16 {
        let own = if version == 6 { self.mtus.ip6 } else { self.mtus.ip4 };
        own.unwrap_or(self.mtu)
    }
}

/// Gives an interface's number back when the last worker has let go of it.
struct Release(InterfaceId, Sender<InterfaceId>);
impl Drop for Release {
    fn drop(&mut self) {
        // With the interfaces gone, their numbers need no owner.
        let _ = self.1.send(self.0);
    }
}

/// The numbers of all interfaces in their order, for answers that are made in parts: each is looked for when it is asked for.
pub fn walk(control: &Control) -> impl Iterator<Item = InterfaceId> + use<> {
    let control = control.clone();
    one_by_one(move |last: Option<&InterfaceId>| {
        let id = control.room::<Interfaces>().behind(last.copied())?.id;
        Some((id, id))
    })
}

/// Calls `watcher` after every change of an interface, and before its removal.
pub fn watch(control: &Control, watcher: impl Fn(&Control, InterfaceEvent) + 'static) {
    control.room_mut::<Interfaces>().watchers.push(Rc::new(watcher));
}

/// Calls the watchers after a change. The caller holds no borrow that a watcher could need.
pub fn tell(control: &Control, event: InterfaceEvent) {
    // Watchers look at the interfaces themselves, so no borrow may be held while they run.
    let watchers = control.room::<Interfaces>().watchers.clone();
    watchers.iter().for_each(|watcher| watcher(control, event));
}

/// Creates an interface: down, until its settings say otherwise.
pub fn create(control: &Control, new: NewInterface) -> Result<InterfaceId, ObjectError> {
    let id = {
        let mut interfaces = control.room_mut::<Interfaces>();
        interfaces.check_free(&new.name, "choose another name")?;
        interfaces.allocate().ok_or_else(|| {
            ObjectError::whole(format!("there are {INTERFACES_MAX} interfaces already"))
                .remedy("delete interfaces that are not needed")
        })?
    };
    let attached = {
        let mut dataplane = control.room_mut::<Dataplane>();
        match new.queues {
            Some(Queues { input, rx, tx }) => dataplane.attach(id.0, input, rx, tx).map(|_| ()),
            None => {
                dataplane.attach_via(id.0, new.parent.map(|parent| parent.0));
                Ok(())
            }
        }
    };
    let mut interfaces = control.room_mut::<Interfaces>();
    if let Err(error) = attached {
        interfaces.free.push(id);
        return Err(ObjectError::whole(error.to_string()));
    }
    let NewInterface { name, kind, mac, mtu, parent, .. } = new;
    let (up, link, speed, point_to_point, peer) = (false, true, None, false, MacAddress::ZERO);
    let whole = parent.and_then(|parent| interfaces.get(parent)).map(|whole| LinkMtu::limit(whole.mtu));
    let link_mtu = whole.unwrap_or(LinkMtu::usually(mtu));
    interfaces.insert(Interface {
        id,
        name,
        kind,
        mac,
        mtu: link_mtu.usual,
        mtus: Mtus::default(),
        wanted: Wanted::default(),
        link_mtu,
        up,
        link,
        speed,
        parent,
        point_to_point,
        peer,
        tunnel: None,
        made_mac: mac,
    });
    drop(interfaces);
    let dataplane = control.room::<Dataplane>();
    // The number may have had another owner, whose counts are not ours.
    dataplane.clear_interface_counters(id.0);
    drop(dataplane);
    tell(control, InterfaceEvent::Created(id));
    Ok(id)
}

/// Removes an interface. Its queues are dropped when no worker uses them any more.
pub fn remove(control: &Control, id: InterfaceId) {
    if id == LOCAL || control.room::<Interfaces>().get(id).is_none() {
        return;
    }
    tell(control, InterfaceEvent::Removed(id));
    let released = {
        let mut interfaces = control.room_mut::<Interfaces>();
        if let Some(interface) = interfaces.interfaces[id.index()].take() {
            interfaces.numbers.remove(&id);
            interfaces.release_name(&interface.name);
            interface.parent.map(|parent| interfaces.parts.remove(&(parent, id)));
            interfaces.tunnels -= usize::from(interface.tunnel.is_some());
        }
        interfaces.released.0.clone()
    };
    control.room_mut::<Dataplane>().detach(id.0, Release(id, released));
}

/// Notes that an interface has one neighbour at most, who needs no address of hardware. Called by its driver, once.
pub fn set_point_to_point(control: &Control, id: InterfaceId) {
    set_peer(control, id, MacAddress::ZERO);
}

/// The same of a neighbour that has an address of hardware.
pub fn set_peer(control: &Control, id: InterfaceId, peer: MacAddress) {
    let set = |interface: &mut Interface| (interface.point_to_point, interface.peer) = (true, peer);
    let found = control.room_mut::<Interfaces>().get_mut(id).map(set);
    if found.is_some() {
        tell(control, InterfaceEvent::Link(id));
    }
}

/// Notes that an interface is a tunnel. Called by the room that makes it, once.
pub fn set_tunnel(control: &Control, id: InterfaceId, to: TunnelTo) {
    let mut interfaces = control.room_mut::<Interfaces>();
    let before = interfaces.get_mut(id).map(|interface| interface.tunnel.replace(to));
    interfaces.tunnels += usize::from(before.is_some_and(|before| before.is_none()));
}
