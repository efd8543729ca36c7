//! Derived state: the modes of interfaces, the domains and their members, published for the nodes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::{LowestFree, ObjectError, behind};
use quiver_engine::{Domain as Epochs, Publisher, Snapshot};
use quiver_interface::{InterfaceId, TunnelTo};
use quiver_wire::MacAddress;

use crate::layer2::{DomainIndex, Layer2, Member, Port};
use crate::macs::Macs;
use crate::objects::BridgeDomain;
use crate::station::{Place, Station};

mod modes;

pub(crate) use modes::{follow_interfaces, set, set_mode};

/// The feature through which a virtual interface sends.
pub(crate) const BVI_OUTPUT: &str = "bvi-output";

/// Layer-2 mode of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// An end of a cross-connect: all received frames leave by this interface.
    Connected(InterfaceId),
    /// A member of a domain.
    Member {
        /// The domain's number as configured.
        domain: u32,
        /// Its split-horizon group.
        group: u8,
        /// Whether it is the domain's virtual interface.
        bvi: bool,
        /// Whether it gets the frames to unknown addresses.
        unknown: bool,
    },
}

impl Mode {
    /// The interface by which a cross-connect sends.
    pub(crate) fn peer(self) -> Option<InterfaceId> {
        match self {
            Mode::Connected(peer) => Some(peer),
            Mode::Member { .. } => None,
        }
    }
    /// The domain of a member.
    fn domain(self) -> Option<u32> {
        match self {
            Mode::Member { domain, .. } => Some(domain),
            Mode::Connected(_) => None,
        }
    }
}

/// A bridge domain.
pub struct BridgeState {
    /// Its number in the data plane.
    pub index: DomainIndex,
    /// Its configuration.
    pub settings: BridgeDomain,
}

/// Layer-2 modes of all interfaces.
#[derive(Clone, Default)]
pub struct Functions(Rc<RefCell<Modes>>);

#[derive(Default)]
struct Modes {
    by_interface: BTreeMap<InterfaceId, Mode>,
    /// Domains and their members.
    members: BTreeSet<(u32, InterfaceId)>,
}

impl Functions {
    /// Sets the mode of an interface; returns the former one.
    fn set(&self, id: InterfaceId, mode: Option<Mode>) -> Option<Mode> {
        let Modes { by_interface, members } = &mut *self.0.borrow_mut();
        let was = match mode {
            Some(mode) => by_interface.insert(id, mode),
            None => by_interface.remove(&id),
        };
        was.and_then(Mode::domain).map(|domain| members.remove(&(domain, id)));
        mode.and_then(Mode::domain).map(|domain| members.insert((domain, id)));
        was
    }
    fn get(&self, id: InterfaceId) -> Option<Mode> {
        self.0.borrow().by_interface.get(&id).copied()
    }
    /// The interface by which a cross-connect sends.
    pub fn peer(&self, interface: u32) -> Option<u32> {
        self.get(InterfaceId(interface)).and_then(Mode::peer).map(|peer| peer.0)
    }
    /// Whether an interface is a member of a domain.
    pub fn is_bridged(&self, interface: u32) -> bool {
        self.domain(interface).is_some()
    }
    /// Whether some member of an interface's domain is like this.
    pub fn has_member(&self, interface: u32, like: impl Fn(u32) -> bool) -> bool {
        let Some(domain) = self.domain(interface) else { return false };
        self.0.borrow().members_of(domain).any(|member| like(member.0))
    }
    fn domain(&self, interface: u32) -> Option<u32> {
        self.get(InterfaceId(interface)).and_then(Mode::domain)
    }
}
impl Modes {
    fn members_of(&self, domain: u32) -> impl Iterator<Item = InterfaceId> + '_ {
        let members = self.members.range((domain, InterfaceId(0))..=(domain, InterfaceId(u32::MAX)));
        members.map(|(_, interface)| *interface)
    }
}

/// The room's state.
pub struct Bridges {
    domains: BTreeMap<u32, BridgeState>,
    /// Their configured numbers by index.
    by_index: BTreeMap<DomainIndex, u32>,
    free_index: LowestFree,
    /// The lowest number, from 1 on, that no domain has.
    free_number: LowestFree,
    functions: Functions,
    /// Flags of the interfaces themselves: bits of [`Port`].
    own: BTreeMap<InterfaceId, u32>,
    /// Virtual interfaces that are set up.
    up: BTreeSet<InterfaceId>,
    /// Members that are tunnels.
    tunnels: BTreeMap<InterfaceId, TunnelTo>,
    published: Publisher<Layer2>,
    /// The addresses of all domains.
    pub macs: Macs,
}

impl Bridges {
    pub(crate) fn new(epochs: &Epochs, macs: Macs) -> Bridges {
        Bridges {
            domains: BTreeMap::new(),
            by_index: BTreeMap::new(),
            free_index: LowestFree::default(),
            free_number: LowestFree::default(),
            functions: Functions::default(),
            own: BTreeMap::new(),
            up: BTreeSet::new(),
            tunnels: BTreeMap::new(),
            published: Publisher::new(epochs, Layer2::default()),
            macs,
        }
    }
    pub(crate) fn snapshot(&self) -> Snapshot<Layer2> {
        self.published.snapshot()
    }
    /// The domains by their configured numbers.
    pub fn domains(&self) -> &BTreeMap<u32, BridgeState> {
        &self.domains
    }
    /// The configured number of a domain.
    pub fn id_of(&self, index: DomainIndex) -> Option<u32> {
        self.by_index.get(&index).copied()
    }
    /// The lowest number that no domain has.
    pub(crate) fn free(&self) -> u32 {
        1 + self.free_number.find(|number| self.domains.contains_key(&(number + 1)))
    }
    /// The interface of layer 2 behind this one, or the first one.
    pub(crate) fn mode_behind(&self, last: Option<&InterfaceId>) -> Option<(InterfaceId, Mode)> {
        behind(&self.functions.0.borrow().by_interface, last).map(|(id, mode)| (*id, *mode))
    }
    /// Layer-2 mode of an interface, if it has one.
    pub fn mode(&self, interface: InterfaceId) -> Option<Mode> {
        self.functions.get(interface)
    }
    /// The interfaces of a domain, with that for frames to unknown addresses.
    pub(crate) fn interfaces(&self, id: u32) -> impl Iterator<Item = InterfaceId> + use<> {
        self.functions.0.borrow().members_of(id).collect::<Vec<_>>().into_iter()
    }
    /// The members of a domain, to which it floods: interface, split-horizon group, and whether it is the virtual one.
    pub fn members(&self, id: u32) -> impl Iterator<Item = Member> + '_ {
        self.interfaces(id).filter_map(|interface| match self.mode(interface)? {
            Mode::Member { group, bvi, unknown: false, .. } => Some(Member { interface, group, bvi }),
            Mode::Member { .. } | Mode::Connected(_) => None,
        })
    }
    /// The members to which a domain floods. A tunnel to a group reaches the other ends of tunnels to hosts, which would get a frame
    /// twice (RFC 7348, 4.2).
    fn flooded(&self, id: u32) -> Arc<[Member]> {
        let to = |member: &Member| self.tunnels.get(&member.interface);
        let has_group = self.members(id).any(|member| matches!(to(&member), Some(TunnelTo::Group)));
        self.members(id).filter(|member| !(has_group && matches!(to(member), Some(TunnelTo::Host { .. })))).collect()
    }
    /// The domain's interface for frames to unknown addresses.
    pub fn unknown(&self, id: u32) -> Option<InterfaceId> {
        let is_it = |id: &InterfaceId| matches!(self.mode(*id), Some(Mode::Member { unknown: true, .. }));
        self.interfaces(id).find(is_it)
    }
    /// The domain's virtual interface.
    pub fn bvi(&self, id: u32) -> Option<InterfaceId> {
        self.members(id).find(|member| member.bvi).map(|member| member.interface)
    }
    /// Whether an address may be learned behind an interface: it is a member of the domain, which learns.
    pub(crate) fn learns(&self, interface: InterfaceId, index: DomainIndex) -> Option<&BridgeDomain> {
        let Some(Mode::Member { domain, .. }) = self.mode(interface) else { return None };
        let state = self.domains.get(&domain)?;
        let own = self.own.get(&interface).is_none_or(|own| own & Port::LEARN != 0);
        (state.index == index && state.settings.learn && own).then_some(&state.settings)
    }

    pub(crate) fn add_domain(&mut self, settings: &BridgeDomain) -> Result<(), ObjectError> {
        // Index 0 is that of no domain.
        let is_taken = |index| u16::try_from(index).is_ok_and(|index| self.by_index.contains_key(&DomainIndex(index)));
        let free = 1 + self.free_index.find(|index| is_taken(index + 1));
        let Ok(index) = u16::try_from(free) else {
            return Err(
                ObjectError::whole("there are 65,535 bridge domains already").remedy("delete one that is unused")
            );
        };
        let state = BridgeState { index: DomainIndex(index), settings: settings.clone() };
        self.by_index.insert(state.index, settings.id);
        self.domains.insert(settings.id, state);
        Ok(())
    }
    pub(crate) fn change_domain(&mut self, settings: &BridgeDomain) {
        if let Some(domain) = self.domains.get_mut(&settings.id) {
            domain.settings = settings.clone();
            let members: Vec<_> = self.interfaces(settings.id).collect();
            self.publish(&members, &[]);
        }
    }
    pub(crate) fn remove_domain(&mut self, id: u32) {
        if let Some(domain) = self.domains.remove(&id) {
            self.by_index.remove(&domain.index);
            self.free_index.release(u32::from(domain.index.0).saturating_sub(1));
            self.free_number.release(id.saturating_sub(1));
            self.macs.forget(|station, _| station.domain == domain.index);
        }
    }
    /// Sets the MAC address of a host's IP address in a domain, or removes the host.
    pub(crate) fn set_host(&mut self, domain: u32, address: IpAddr, mac: Option<MacAddress>) {
        let Some(index) = self.domains.get(&domain).map(|state| state.index) else { return };
        let mut layer2 = self.published.current().clone();
        let hosts = Arc::make_mut(layer2.hosts.get_mut(index.0.into()));
        match mac {
            Some(mac) => hosts.insert(address, mac),
            None => hosts.remove(&address),
        };
        self.published.publish(layer2);
    }
    pub(crate) fn set_static(
        &mut self,
        domain: u32,
        mac: MacAddress,
        interface: Option<InterfaceId>,
    ) -> Result<(), ObjectError> {
        let Some(state) = self.domains.get(&domain) else { return Ok(()) };
        let station = Station { mac, domain: state.index };
        let member = interface.and_then(|interface| self.members(domain).find(|m| m.interface == interface));
        if interface.is_some() && member.is_none() {
            let what = format!("the interface is no member of bridge domain {domain}");
            return Err(ObjectError::field("interface", what).remedy("name a member"));
        }
        let place = Place {
            interface: interface.unwrap_or(quiver_interface::LOCAL),
            fixed: true,
            filter: interface.is_none(),
            bvi: member.is_some_and(|member| member.bvi),
        };
        self.macs.put(station, place)
    }
    pub(crate) fn remove_mac(&mut self, domain: u32, mac: MacAddress) {
        if let Some(state) = self.domains.get(&domain) {
            self.macs.remove(Station { mac, domain: state.index });
        }
    }
    /// Forgets an address unless it is configured. False if there was none to forget.
    pub(crate) fn remove_learned(&mut self, domain: u32, mac: MacAddress) -> bool {
        let Some(index) = self.domains.get(&domain).map(|state| state.index) else { return false };
        self.macs.remove_learned(Station { mac, domain: index })
    }

    /// Sets the mode of an interface, and publishes it.
    fn set(&mut self, id: InterfaceId, mode: Option<Mode>) {
        let was = self.functions.set(id, mode);
        let domain = |mode: Option<Mode>| mode.and_then(Mode::domain);
        let domains: Vec<u32> = [domain(was), domain(mode)].into_iter().flatten().collect();
        let diverts = |mode| matches!(mode, Some(Mode::Member { unknown: true, .. }));
        let mut concerned = vec![id];
        if diverts(was) || diverts(mode) {
            concerned.extend(domains.iter().flat_map(|domain| self.interfaces(*domain)));
        }
        self.publish(&concerned, &domains);
    }
    /// Publishes the state of these interfaces and domains; the rest is unchanged.
    fn publish(&mut self, interfaces: &[InterfaceId], domains: &[u32]) {
        let mut layer2 = self.published.current().clone();
        for id in interfaces {
            *layer2.ports.get_mut(id.index()) = self.port(*id);
        }
        for domain in domains {
            if let Some(state) = self.domains.get(domain) {
                *layer2.members.get_mut(state.index.0.into()) = self.flooded(*domain);
                *layer2.unknown.get_mut(state.index.0.into()) = self.unknown(*domain).map_or(0, |id| id.0);
            }
        }
        self.published.publish(layer2);
    }
    fn port(&self, id: InterfaceId) -> Port {
        let own = self.own.get(&id).copied().unwrap_or(ALL);
        match self.mode(id) {
            None => Port::default(),
            Some(Mode::Connected(peer)) => Port { word: Port::CONNECTED | own & Port::BLOCKED, target: peer.0 },
            Some(Mode::Member { domain, group, bvi, .. }) => {
                let Some(state) = self.domains.get(&domain) else { return Port::default() };
                let virtual_one = if bvi && self.up.contains(&id) { Port::VIRTUAL } else { 0 };
                let diverts = if self.unknown(domain).is_some() { Port::DIVERT } else { 0 };
                let rules = rules(&state.settings) & own | diverts | own & Port::BLOCKED;
                let word = virtual_one | u32::from(group) | rules;
                Port { word, target: state.index.0.into() }
            }
        }
    }
}

/// Flags of an interface that configures none.
const ALL: u32 = Port::LEARN | Port::FORWARD | Port::FLOOD | Port::UNKNOWN | Port::ANSWER;

fn rules(settings: &BridgeDomain) -> u32 {
    let rule = |on, flag| if on { flag } else { 0 };
    rule(settings.learn, Port::LEARN)
        | rule(settings.arp_term, Port::ANSWER)
        | rule(settings.forward, Port::FORWARD)
        | rule(settings.flood, Port::FLOOD)
        | rule(settings.uu_flood, Port::UNKNOWN)
}
