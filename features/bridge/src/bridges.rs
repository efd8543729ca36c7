//! What follows from the configuration: the modes of interfaces, the domains and their members, published for the nodes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use quiver_control::{Control, ObjectError};
use quiver_engine::{Dataplane, Domain as Epochs, Publisher, Snapshot};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_wire::MacAddress;

use crate::layer2::{DomainIndex, Layer2, Member, Port};
use crate::loopback;
use crate::macs::Macs;
use crate::objects::BridgeDomain;
use crate::station::{Place, Station};

/// The feature through which a virtual interface sends.
pub(crate) const BVI_OUTPUT: &str = "bvi-output";

/// What an interface of layer 2 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// An end of a cross-connect: whatever it receives leaves by this one.
    Connected(InterfaceId),
    /// A member of a domain.
    Member {
        /// The domain's number as configured.
        domain: u32,
        /// Its split-horizon group.
        group: u8,
        /// Whether it is the domain's virtual interface.
        bvi: bool,
    },
}

/// A bridge domain.
pub struct BridgeState {
    /// Its number in the data plane.
    pub index: DomainIndex,
    /// What is configured.
    pub settings: BridgeDomain,
}

/// Set of interfaces that a product asks for.
type Chosen = Rc<RefCell<BTreeSet<u16>>>;

/// The room's state.
pub struct Bridges {
    domains: BTreeMap<u32, BridgeState>,
    modes: BTreeMap<InterfaceId, Mode>,
    /// Virtual interfaces that are set up.
    up: BTreeSet<InterfaceId>,
    published: Publisher<Layer2>,
    /// The addresses of all domains.
    pub macs: Macs,
    connected: Chosen,
    bridged: Chosen,
}

impl Bridges {
    pub(crate) fn new(epochs: &Epochs, macs: Macs) -> Bridges {
        Bridges {
            domains: BTreeMap::new(),
            modes: BTreeMap::new(),
            up: BTreeSet::new(),
            published: Publisher::new(epochs, Layer2::default()),
            macs,
            connected: Chosen::default(),
            bridged: Chosen::default(),
        }
    }
    pub(crate) fn snapshot(&self) -> Snapshot<Layer2> {
        self.published.snapshot()
    }
    pub(crate) fn connected(&self) -> Chosen {
        self.connected.clone()
    }
    pub(crate) fn bridged(&self) -> Chosen {
        self.bridged.clone()
    }
    /// The domains by their configured numbers.
    pub fn domains(&self) -> &BTreeMap<u32, BridgeState> {
        &self.domains
    }
    /// The configured number of a domain.
    pub fn id_of(&self, index: DomainIndex) -> Option<u32> {
        self.domains.iter().find(|(_, domain)| domain.index == index).map(|(id, _)| *id)
    }
    /// What an interface is in layer 2.
    pub fn mode(&self, interface: InterfaceId) -> Option<Mode> {
        self.modes.get(&interface).copied()
    }
    /// The members of a domain: interface, split-horizon group, and whether it is the virtual one.
    pub fn members(&self, id: u32) -> impl Iterator<Item = Member> + '_ {
        self.modes.iter().filter_map(move |(interface, mode)| match *mode {
            Mode::Member { domain, group, bvi } if domain == id => Some(Member { interface: *interface, group, bvi }),
            _ => None,
        })
    }
    /// The domain's virtual interface.
    pub fn bvi(&self, id: u32) -> Option<InterfaceId> {
        self.members(id).find(|member| member.bvi).map(|member| member.interface)
    }
    /// Whether an address may be learned behind an interface: it is a member of the domain, which learns.
    pub(crate) fn learns(&self, interface: InterfaceId, index: DomainIndex) -> Option<&BridgeDomain> {
        let Some(Mode::Member { domain, .. }) = self.mode(interface) else { return None };
        let state = self.domains.get(&domain)?;
        (state.index == index && state.settings.learn).then_some(&state.settings)
    }

    pub(crate) fn add_domain(&mut self, settings: &BridgeDomain) -> Result<(), ObjectError> {
        let used: BTreeSet<u16> = self.domains.values().map(|domain| domain.index.0).collect();
        let Some(index) = (1..=u16::MAX).find(|index| !used.contains(index)) else {
            return Err(
                ObjectError::whole("there are 65,535 bridge domains already").remedy("delete one that is unused")
            );
        };
        let state = BridgeState { index: DomainIndex(index), settings: settings.clone() };
        self.domains.insert(settings.id, state);
        Ok(())
    }
    pub(crate) fn change_domain(&mut self, settings: &BridgeDomain) {
        if let Some(domain) = self.domains.get_mut(&settings.id) {
            domain.settings = settings.clone();
            self.publish();
        }
    }
    pub(crate) fn remove_domain(&mut self, id: u32) {
        if let Some(domain) = self.domains.remove(&id) {
            self.macs.forget(|station, _| station.domain == domain.index);
        }
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
        self.macs.forget(|station, place| station == Station { mac, domain: index } && !place.fixed) > 0
    }

    /// Computes what the nodes read, and publishes it.
    fn publish(&mut self) {
        let mut members: BTreeMap<DomainIndex, Vec<Member>> = BTreeMap::new();
        let mut layer2 = Layer2::default();
        let ports = self.modes.keys().next_back().map_or(0, |last| last.index() + 1);
        layer2.ports.resize(ports, Port::default());
        for (interface, mode) in &self.modes {
            let port = match *mode {
                Mode::Connected(peer) => Port { word: Port::CONNECTED, target: peer.0.into() },
                Mode::Member { domain, group, bvi } => {
                    let Some(state) = self.domains.get(&domain) else { continue };
                    members.entry(state.index).or_default().push(Member { interface: *interface, group, bvi });
                    let virtual_one = if bvi && self.up.contains(interface) { Port::VIRTUAL } else { 0 };
                    let word = virtual_one | u32::from(group) | rules(&state.settings);
                    Port { word, target: state.index.0.into() }
                }
            };
            layer2.ports[interface.index()] = port;
        }
        let domains = members.keys().next_back().map_or(0, |last| usize::from(last.0) + 1);
        layer2.members.resize(domains, [].into());
        for (index, members) in members {
            layer2.members[usize::from(index.0)] = members.into();
        }
        self.published.publish(layer2);
        let choose = |wanted: fn(&Mode) -> bool| {
            self.modes.iter().filter(move |(_, mode)| wanted(mode)).map(|(interface, _)| interface.0).collect()
        };
        *self.connected.borrow_mut() = choose(|mode| matches!(mode, Mode::Connected(_)));
        *self.bridged.borrow_mut() = choose(|mode| matches!(mode, Mode::Member { .. }));
    }
}

fn rules(settings: &BridgeDomain) -> u32 {
    let rule = |on, flag| if on { flag } else { 0 };
    rule(settings.learn, Port::LEARN)
        | rule(settings.forward, Port::FORWARD)
        | rule(settings.flood, Port::FLOOD)
        | rule(settings.uu_flood, Port::UNKNOWN)
}

/// Makes an interface what is wanted of it in layer 2, or (None) gives it back to layer 3.
pub(crate) fn set_mode(control: &Control, id: InterfaceId, mode: Option<Mode>) -> Result<(), ObjectError> {
    let bvi = matches!(mode, Some(Mode::Member { bvi: true, .. }));
    let (kind, mac, up) = {
        let interfaces = control.room::<Interfaces>();
        let Some(interface) = interfaces.get(id) else { return Ok(()) };
        (interface.kind, interface.mac, interface.up)
    };
    match mode {
        Some(_) if (kind == loopback::KIND) != bvi => {
            return Err(match bvi {
                true => ObjectError::field("bvi", "only a loopback can be the virtual interface of a domain")
                    .remedy("create one: create loopback interface"),
                false => ObjectError::field("interface", "a loopback can only be the virtual interface of a domain")
                    .remedy("add bvi"),
            });
        }
        _ => {}
    }
    {
        let mut bridges = control.room_mut::<Bridges>();
        let was = bridges.mode(id);
        if let (Some(Mode::Member { domain, bvi: true, .. }), true) = (mode, was != mode)
            && let Some(other) = bridges.bvi(domain).filter(|other| *other != id)
        {
            let what = format!("domain {domain} has {} already", control.room::<Interfaces>().name(other));
            return Err(ObjectError::field("bvi", what).remedy("a domain has one virtual interface"));
        }
        // What was learned behind the interface belongs to what it was.
        bridges.macs.forget(|_, place| place.interface == id && (!place.fixed || place.bvi));
        match mode {
            Some(mode) => bridges.modes.insert(id, mode),
            None => bridges.modes.remove(&id),
        };
        match bvi && up {
            true => bridges.up.insert(id),
            false => bridges.up.remove(&id),
        };
        if let (Some(Mode::Member { domain, bvi: true, .. }), Some(state)) = (mode, bridge_of(&bridges, mode)) {
            debug_assert_eq!(state.settings.id, domain);
            let station = Station { mac, domain: state.index };
            bridges.macs.put(station, Place { interface: id, fixed: true, filter: false, bvi: true })?;
        }
        bridges.publish();
    }
    quiver_ethernet::set_layer2(control, id, mode.is_some() && !bvi);
    let mut dataplane = control.room_mut::<Dataplane>();
    // The feature was registered with the node, so its name is right.
    let enabled = dataplane.enable("interface-output", BVI_OUTPUT, id.0, bvi && up);
    enabled.map_err(|error| ObjectError::whole(error.to_string()))?;
    dataplane.plan();
    Ok(())
}

fn bridge_of(bridges: &Bridges, mode: Option<Mode>) -> Option<&BridgeState> {
    match mode {
        Some(Mode::Member { domain, .. }) => bridges.domains.get(&domain),
        _ => None,
    }
}

/// A virtual interface's state and address are its domain's business.
pub(crate) fn follow_interfaces(control: &Control) {
    watch(control, |control, event| {
        let (InterfaceEvent::AdminState(id) | InterfaceEvent::Mac(id)) = event else { return };
        let mode = control.room::<Bridges>().mode(id);
        if let Some(Mode::Member { bvi: true, .. }) = mode
            && let Err(error) = set_mode(control, id, mode)
        {
            tracing::error!("the virtual interface could not follow: {error}");
        }
    });
}
