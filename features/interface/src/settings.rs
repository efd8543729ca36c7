//! Settings of an interface of any kind.

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::Dataplane;
use quiver_wire::UnicastMac;

use crate::interfaces::{Interface, InterfaceEvent, Interfaces, tell};
use crate::mtu::{Mtus, Wanted};

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

/// Settings of an interface of any kind.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "interfaces")]
pub struct InterfaceSettings {
    /// Name of the interface.
    #[key]
    pub name: InterfaceName,
    /// Admin state of the interface.
    #[default(AdminState::Down)]
    pub state: AdminState,
    /// MTU in bytes, from the layer-3 header on. Default: the driver's.
    pub mtu: Option<u16>,
    /// MTU of IPv4 packets in bytes. Default: `mtu`.
    pub mtu_ip4: Option<u16>,
    /// MTU of IPv6 packets in bytes, at least 1280. Default: `mtu`.
    pub mtu_ip6: Option<u16>,
    /// MTU of MPLS packets in bytes. Default: `mtu`.
    pub mtu_mpls: Option<u16>,
    /// MAC address of the interface. Default: the driver's.
    pub mac: Option<UnicastMac>,
    /// Tag for the owner of the interface, such as a VPP client's own name for it.
    pub tag: Option<String>,
    /// Description for people, such as "uplink to the office", in one line.
    pub description: Option<String>,
}

/// RFC 791, 3.2: what every link of an internet takes without further fragmentation.
const MTU_MIN: u16 = 68;

/// RFC 8200, 5: the same of IPv6.
const MTU_MIN_IP6: u16 = 1280;

/// Bytes of a tag at most: VPP's messages have room for 64, one of them a zero.
const TAG_MAX: usize = 63;

/// Bytes of a description at most (RFC 2863, ifAlias, and most routers' descriptions).
const DESCRIPTION_MAX: usize = 255;

/// Checks settings without the interface.
pub(crate) fn check(settings: &InterfaceSettings) -> Result<(), ObjectError> {
    for (field, mtu, least) in [
        ("mtu", settings.mtu, MTU_MIN),
        ("mtu-ip4", settings.mtu_ip4, MTU_MIN),
        ("mtu-ip6", settings.mtu_ip6, MTU_MIN_IP6),
        ("mtu-mpls", settings.mtu_mpls, MTU_MIN),
    ] {
        if let Some(mtu) = mtu.filter(|mtu| *mtu < least) {
            return Err(ObjectError::field(field, format!("{mtu} is too small")).remedy(format!("at least {least}")));
        }
    }
    if let Some(tag) = settings.tag.as_ref().filter(|tag| tag.is_empty() || tag.len() > TAG_MAX) {
        let what = format!("a tag of {} bytes", tag.len());
        return Err(ObjectError::field("tag", what).remedy(format!("1 to {TAG_MAX} bytes")));
    }
    if let Some(text) = &settings.description {
        let wrong = |what: &str, remedy: String| Err(ObjectError::field("description", what).remedy(remedy));
        if text.is_empty() || text.len() > DESCRIPTION_MAX {
            return wrong(&format!("a description of {} bytes", text.len()), format!("1 to {DESCRIPTION_MAX} bytes"));
        }
        if text.chars().any(char::is_control) {
            return wrong("it has line breaks or other control characters", "write it in one line".into());
        }
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
        let taken = take(interface, wanted)?;
        let mac = interface.mac;
        // Up comes last, so that watchers find an interface that is ready.
        let mut events = interfaces.settle_mtu(id);
        events.extend(taken);
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

/// Changes an interface to what is wanted, but for its MTUs, which are noted; says what that was.
fn take(interface: &mut Interface, wanted: &InterfaceSettings) -> Result<Vec<InterfaceEvent>, ObjectError> {
    let mac = match interface.parent {
        Some(_) if wanted.mac.is_some() => {
            return Err(ObjectError::field("mac", "a sub-interface has the address of its parent")
                .remedy("set the address of the parent"));
        }
        Some(_) => interface.mac,
        None => wanted.mac.map_or(interface.made_mac, UnicastMac::get),
    };
    let up = wanted.state == AdminState::Up;
    let (id, mut events) = (interface.id, vec![]);
    let mtus = Mtus { ip4: wanted.mtu_ip4, ip6: wanted.mtu_ip6, mpls: wanted.mtu_mpls };
    interface.wanted = Wanted { mtu: wanted.mtu, mtus };
    if std::mem::replace(&mut interface.mac, mac) != mac {
        events.push(InterfaceEvent::Mac(id));
    }
    if std::mem::replace(&mut interface.up, up) != up {
        events.push(InterfaceEvent::AdminState(id));
    }
    Ok(events)
}
