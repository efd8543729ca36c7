//! Properties of an interface's link that its driver reports: connection, speed, and longest packets.

use quiver_control::Control;

use crate::interfaces::{InterfaceEvent, InterfaceId, Interfaces, tell};
use crate::mtu::LinkMtu;

/// Notes that an interface gained or lost its connection. Called by its driver.
pub fn set_link(control: &Control, id: InterfaceId, link: bool) {
    let concerned = {
        let mut interfaces = control.room_mut::<Interfaces>();
        let Some(interface) = interfaces.get_mut(id) else { return };
        if std::mem::replace(&mut interface.link, link) == link {
            return;
        }
        [vec![id], interfaces.children(id)].concat()
    };
    concerned.into_iter().for_each(|id| tell(control, InterfaceEvent::Link(id)));
}

/// Sets the speed of an interface's link in kilobits a second; None where it is unknown. Called by its driver.
pub fn set_speed(control: &Control, id: InterfaceId, speed: Option<u32>) {
    let mut interfaces = control.room_mut::<Interfaces>();
    interfaces.get_mut(id).into_iter().for_each(|interface| interface.speed = speed);
}

/// Notes how long packets are that the link of an interface takes. Called by its driver.
pub fn set_link_mtu(control: &Control, id: InterfaceId, mtu: LinkMtu) {
    let events = {
        let mut interfaces = control.room_mut::<Interfaces>();
        let Some(interface) = interfaces.get_mut(id) else { return };
        interface.link_mtu = mtu;
        interfaces.settle_mtu(id)
    };
    events.into_iter().for_each(|event| tell(control, event));
}

impl Interfaces {
    /// Makes the MTUs of an interface what is wanted, as far as its link takes that, and those of its parts. What is to be told then.
    pub(crate) fn settle_mtu(&mut self, id: InterfaceId) -> Vec<InterfaceEvent> {
        let Some(interface) = self.get_mut(id) else { return vec![] };
        let (mtu, mtus) = interface.link_mtu.of(interface.wanted);
        if (mtu, mtus) == (interface.mtu, interface.mtus) {
            return vec![];
        }
        (interface.mtu, interface.mtus) = (mtu, mtus);
        let mut events = vec![InterfaceEvent::Mtu(id)];
        for part in self.children(id) {
            self.get_mut(part).into_iter().for_each(|part| part.link_mtu = LinkMtu::limit(mtu));
            events.extend(self.settle_mtu(part));
        }
        events
    }
}
