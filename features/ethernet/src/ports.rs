//! State of each interface that `ethernet-input` reads.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use quiver_control::Control;
use quiver_engine::{Domain, Paged, Publisher, Snapshot};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_wire::MacAddress;

/// An interface as the node reads it: its address in the two words that it is compared with, and its mode.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Port {
    /// The first four octets of the address.
    pub(crate) high: u32,
    /// The other two in the lower half; the mode above.
    pub(crate) low: u32,
}

impl Port {
    /// Every frame goes to layer 2.
    pub(crate) const LAYER2: u32 = 1 << 16;
    /// Tagged frames go to `vlan-input`, whatever the mode is.
    pub(crate) const TAGS: u32 = 1 << 17;
    /// Frames without a tag go there, too.
    pub(crate) const UNTAGGED: u32 = 1 << 18;

    /// Whether the interface belongs to layer 2.
    #[inline(always)]
    pub fn is_layer2(self) -> bool {
        self.low & Port::LAYER2 != 0
    }

    fn set_mac(&mut self, mac: MacAddress) {
        let bits = mac.to_u64();
        self.high = (bits >> 16) as u32;
        self.low = self.low & !0xffff | (bits & 0xffff) as u32;
    }
    fn set(&mut self, mode: u32, on: bool) {
        self.low = if on { self.low | mode } else { self.low & !mode };
    }
}

/// All interfaces' ports, by number.
pub struct Ports {
    published: Publisher<Paged<Port>>,
    /// The interfaces of layer 2.
    layer2: Rc<RefCell<BTreeSet<u32>>>,
}

impl Ports {
    pub(crate) fn new(domain: &Domain) -> Ports {
        Ports { published: Publisher::new(domain, Paged::default()), layer2: Rc::default() }
    }
    /// The ports that workers read.
    pub fn snapshot(&self) -> Snapshot<Paged<Port>> {
        self.published.snapshot()
    }
    fn change(&mut self, interface: InterfaceId, change: impl FnOnce(&mut Port)) {
        let before = self.published.current().get(interface.index()).copied().unwrap_or_default();
        let mut port = before;
        change(&mut port);
        if port != before {
            match port.is_layer2() {
                true => self.layer2.borrow_mut().insert(interface.0),
                false => self.layer2.borrow_mut().remove(&interface.0),
            };
            self.published.edit(|ports| *ports.get_mut(interface.index()) = port);
        }
    }
}

/// Gives an interface to layer 2, or back to layer 3, where every interface begins.
pub fn set_layer2(control: &Control, interface: InterfaceId, on: bool) {
    control.room_mut::<Ports>().change(interface, |port| port.set(Port::LAYER2, on));
}

/// Says which frames of an interface `vlan-input` is to see: tagged ones of an interface in layer 2 (those of one in
/// layer 3 it sees always), and untagged ones.
pub fn set_tags(control: &Control, interface: InterfaceId, tagged: bool, untagged: bool) {
    control.room_mut::<Ports>().change(interface, |port| {
        port.set(Port::TAGS, tagged);
        port.set(Port::UNTAGGED, untagged);
    });
}

/// Whether an interface belongs to layer 2.
pub fn is_layer2(control: &Control, interface: InterfaceId) -> bool {
    control.room::<Ports>().layer2.borrow().contains(&interface.0)
}

pub(crate) fn follow_interfaces(control: &Control) {
    watch(control, |control, event| {
        let (id, gone) = match event {
            InterfaceEvent::Created(id) | InterfaceEvent::Mac(id) => (id, false),
            InterfaceEvent::Removed(id) => (id, true),
            InterfaceEvent::AdminState(_)
            | InterfaceEvent::Link(_)
            | InterfaceEvent::Mtu(_)
            | InterfaceEvent::AddressAdded(..)
            | InterfaceEvent::AddressRemoved(_) => return,
        };
        let mac = control.room::<Interfaces>().get(id).map_or(MacAddress::ZERO, |interface| interface.mac);
        control.room_mut::<Ports>().change(id, |port| match gone {
            true => *port = Port::default(),
            false => port.set_mac(mac),
        });
    });
}
