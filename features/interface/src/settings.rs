//! What is configured of an interface, whoever made it.

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::Dataplane;
use quiver_wire::UnicastMac;

use crate::interfaces::{Interface, InterfaceEvent, Interfaces, Mtus, tell};

quiver_control::reference! {
    /// The name of an interface.
    pub struct InterfaceName(String) in "interface", "the name of an interface";
}

quiver_control::choice! {
    /// Whether an interface receives and sends.
    pub enum AdminState {
        /// It does.
        Up = "up",
        /// It does not.
        Down = "down",
    } as "admin-state", "up or down";
}

/// The settings of an interface, however it came into being.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "interfaces")]
pub struct InterfaceSettings {
    /// The interface.
    #[key]
    pub name: InterfaceName,
    /// Whether it receives and sends.
    #[default(AdminState::Down)]
    pub state: AdminState,
    /// Bytes of a packet at most, from the layer 3 header on; without it, as the driver says.
    pub mtu: Option<u16>,
    /// The same of packets of IPv4, in place of that.
    pub mtu_ip4: Option<u16>,
    /// The same of packets of IPv6, which takes 1280 at least.
    pub mtu_ip6: Option<u16>,
    /// The same of packets of MPLS.
    pub mtu_mpls: Option<u16>,
    /// Its address; without it, as the driver says.
    pub mac: Option<UnicastMac>,
    /// What its owner calls it; VPP's clients keep names of their own here.
    pub tag: Option<String>,
}

/// RFC 791, 3.2: what every link of an internet takes without further fragmentation.
const MTU_MIN: u16 = 68;

/// RFC 8200, 5: the same of IPv6.
const MTU_MIN_IP6: u16 = 1280;

/// Bytes of a tag at most: VPP's messages have room for 64, one of them a zero.
const TAG_MAX: usize = 63;

/// What holds of settings whatever the interface is.
pub(crate) fn check(settings: &InterfaceSettings) -> Result<(), ObjectError> {
    for (field, mtu, least) in [
        ("mtu", settings.mtu, MTU_MIN),
        ("mtu-ip4", settings.mtu_ip4, MTU_MIN),
        ("mtu-ip6", settings.mtu_ip6, MTU_MIN_IP6),
        ("mtu-mpls", settings.mtu_mpls, MTU_MIN),
    ] {
        if let Some(mtu) = mtu.filter(|mtu| *mtu < least) {
            return Err(ObjectError::field(field, format!("{mtu} is too little")).remedy(format!("at least {least}")));
        }
    }
    if let Some(tag) = settings.tag.as_ref().filter(|tag| tag.is_empty() || tag.len() > TAG_MAX) {
        let what = format!("a tag of {} bytes", tag.len());
        return Err(ObjectError::field("tag", what).remedy(format!("1 to {TAG_MAX} bytes")));
    }
    Ok(())
}

pub(crate) fn apply(control: &Control, change: Change<'_, InterfaceSettings>) -> Result<(), ObjectError> {
    let defaults;
    let wanted = match change {
        Change::Create(new) | Change::Update { new, .. } => new,
        Change::Delete(old) => {
            defaults = InterfaceSettings::new(old.name.clone());
            &defaults
        }
    };
    let (id, events) = {
        let mut interfaces = control.room_mut::<Interfaces>();
        let id = interfaces.id_of(&wanted.name.0)?;
        let children = interfaces.children(id);
        let Some(interface) = interfaces.get_mut(id) else { return Ok(()) };
        let mut events = take(interface, wanted)?;
        let mac = interface.mac;
        if events.contains(&InterfaceEvent::Mac(id)) {
            for child in &children {
                // A sub-interface has the address of what it is a part of.
                interfaces.get_mut(*child).into_iter().for_each(|child| child.mac = mac);
                events.push(InterfaceEvent::Mac(*child));
            }
        }
        if events.contains(&InterfaceEvent::AdminState(id)) {
            // And no other connection than that has.
            events.extend(children.into_iter().map(InterfaceEvent::Link));
        }
        (id, events)
    };
    if events.contains(&InterfaceEvent::AdminState(id)) {
        control.room_mut::<Dataplane>().set_up(id.0, wanted.state == AdminState::Up);
    }
    events.into_iter().for_each(|event| tell(control, event));
    Ok(())
}

/// Changes an interface to what is wanted; says what that was.
fn take(interface: &mut Interface, wanted: &InterfaceSettings) -> Result<Vec<InterfaceEvent>, ObjectError> {
    let (made_mac, made_mtu) = interface.made();
    let mac = match interface.parent {
        Some(_) if wanted.mac.is_some() => {
            return Err(ObjectError::field("mac", "a sub-interface has the address of its parent")
                .remedy("set the address of the parent"));
        }
        Some(_) => interface.mac,
        None => wanted.mac.map_or(made_mac, UnicastMac::get),
    };
    let (up, mtu) = (wanted.state == AdminState::Up, wanted.mtu.unwrap_or(made_mtu));
    let (id, mut events) = (interface.id, vec![]);
    // Up comes last, so that watchers find an interface that is ready.
    let mtus = Mtus { ip4: wanted.mtu_ip4, ip6: wanted.mtu_ip6, mpls: wanted.mtu_mpls };
    let before = (std::mem::replace(&mut interface.mtu, mtu), std::mem::replace(&mut interface.mtus, mtus));
    if before != (mtu, mtus) {
        events.push(InterfaceEvent::Mtu(id));
    }
    if std::mem::replace(&mut interface.mac, mac) != mac {
        events.push(InterfaceEvent::Mac(id));
    }
    if std::mem::replace(&mut interface.up, up) != up {
        events.push(InterfaceEvent::AdminState(id));
    }
    Ok(events)
}
