//! Applies configuration changes.

use quiver_control::{Change, Control, Kind, ObjectError};
use quiver_interface::{InterfaceName, Interfaces};

use crate::bridges::{self, Bridges, Mode};
use crate::layer2::Port;
use crate::learning;
use crate::objects::{
    BridgeDefaults, BridgeDomain, BridgeHost, DomainId, Layer2Interface, StaticMac, check_defaults, check_domain,
    check_host, check_interface,
};

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply_domain).check(check_domain));
    // It is read when a domain is made.
    control.objects().add(Kind::new(|_, _: Change<'_, BridgeDefaults>| Ok(())).check(check_defaults));
    control.objects().add(Kind::new(apply_interface).check(check_interface));
    control.objects().add(Kind::new(apply_mac));
    control.objects().add(Kind::new(apply_host).check(check_host));
    control.commands().add_kind(quiver_control::cli::ArgumentKind::of::<DomainId>());
}

fn apply_domain(control: &Control, change: Change<'_, BridgeDomain>) -> Result<(), ObjectError> {
    // What was seen until now was seen under the rules until now.
    learning::settle(control);
    let mut bridges = control.room_mut::<Bridges>();
    match change {
        Change::Create(domain) => bridges.add_domain(domain),
        Change::Update { new, .. } => {
            bridges.change_domain(new);
            Ok(())
        }
        Change::Delete(domain) => {
            bridges.remove_domain(domain.id);
            Ok(())
        }
    }
}

fn apply_interface(control: &Control, change: Change<'_, Layer2Interface>) -> Result<(), ObjectError> {
    let id_of = |name: &InterfaceName| control.room::<Interfaces>().id_of(&name.0);
    match change {
        Change::Create(new) | Change::Update { new, .. } => {
            let mode = match (&new.connect, &new.domain) {
                (Some(peer), _) => Mode::Connected(id_of(peer)?),
                (None, Some(DomainId(domain))) => {
                    Mode::Member { domain: *domain, group: new.group, bvi: new.bvi, unknown: new.uu_forward }
                }
                (None, None) => return check_interface(new),
            };
            learning::settle(control);
            bridges::set(control, id_of(&new.interface)?, mode, own(new))
        }
        Change::Delete(old) => bridges::set_mode(control, id_of(&old.interface)?, None),
    }
}

/// Flags of an interface, as bits of [`Port`].
fn own(interface: &Layer2Interface) -> u32 {
    let bit = |on, bit| if on { bit } else { 0 };
    Port::ANSWER
        | bit(interface.learn, Port::LEARN)
        | bit(interface.forward, Port::FORWARD)
        | bit(interface.flood, Port::FLOOD)
        | bit(interface.uu_flood, Port::UNKNOWN)
        | bit(interface.stp_blocked || interface.line_down, Port::BLOCKED)
}

fn apply_host(control: &Control, change: Change<'_, BridgeHost>) -> Result<(), ObjectError> {
    let (host, mac) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, Some(new.mac.get())),
        Change::Delete(old) => (old, None),
    };
    control.room_mut::<Bridges>().set_host(host.domain.0, host.address, mac);
    Ok(())
}

fn apply_mac(control: &Control, change: Change<'_, StaticMac>) -> Result<(), ObjectError> {
    let interface = |mac: &StaticMac| {
        let name = mac.interface.as_ref();
        name.map(|name| control.room::<Interfaces>().id_of(&name.0)).transpose()
    };
    match change {
        Change::Create(new) | Change::Update { new, .. } => {
            let interface = interface(new)?;
            control.room_mut::<Bridges>().set_static(new.domain.0, new.mac.get(), interface)
        }
        Change::Delete(old) => {
            control.room_mut::<Bridges>().remove_mac(old.domain.0, old.mac.get());
            Ok(())
        }
    }
}
