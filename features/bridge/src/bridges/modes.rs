//! Changes of an interface from one layer-2 mode to another.

use quiver_control::{Control, ObjectError};
use quiver_engine::Dataplane;
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, watch};

use super::{BVI_OUTPUT, Bridges, Mode};
use crate::loopback;
use crate::station::{Place, Station};

/// Sets the layer-2 mode of an interface, with the flags `own`, bits of [`Port`](crate::layer2::Port).
pub(crate) fn set(control: &Control, id: InterfaceId, mode: Mode, own: u32) -> Result<(), ObjectError> {
    let before = control.room_mut::<Bridges>().own.insert(id, own);
    let result = set_mode(control, id, Some(mode));
    if result.is_err() {
        let own = &mut control.room_mut::<Bridges>().own;
        match before {
            Some(before) => own.insert(id, before),
            None => own.remove(&id),
        };
    }
    result
}

/// Sets the layer-2 mode of an interface; None returns it to layer 3.
pub(crate) fn set_mode(control: &Control, id: InterfaceId, mode: Option<Mode>) -> Result<(), ObjectError> {
    let bvi = matches!(mode, Some(Mode::Member { bvi: true, .. }));
    let (kind, mac, up, tunnel) = {
        let interfaces = control.room::<Interfaces>();
        let Some(interface) = interfaces.get(id) else { return Ok(()) };
        (interface.kind, interface.mac, interface.up, interface.tunnel)
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
        if let Some(Mode::Member { domain, unknown: true, .. }) = mode
            && let Some(other) = bridges.unknown(domain).filter(|other| *other != id)
        {
            let what = format!("domain {domain} has {} already", control.room::<Interfaces>().name(other));
            return Err(ObjectError::field("uu-forward", what).remedy("a domain has one such interface"));
        }
        // What can fail comes first, so that an interface is never half of what it was.
        let own = match mode {
            Some(Mode::Member { domain, bvi: true, .. }) => bridges.domains.get(&domain).map(|state| state.index),
            _ => None,
        };
        let own = own.map(|domain| Station { mac, domain });
        if let Some(station) = own {
            bridges.macs.put(station, Place { interface: id, fixed: true, filter: false, bvi: true })?;
        }
        // What was learned behind the interface belongs to what it was; if it stays that, so does what was learned.
        let gone = |station, place: Place| {
            let stays = if place.bvi { own == Some(station) } else { place.fixed || was == mode };
            place.interface == id && !stays
        };
        bridges.macs.forget_behind(id, gone);
        match bvi && up {
            true => bridges.up.insert(id),
            false => bridges.up.remove(&id),
        };
        match tunnel.filter(|_| mode.is_some()) {
            Some(tunnel) => bridges.tunnels.insert(id, tunnel),
            None => bridges.tunnels.remove(&id),
        };
        if mode.is_none() {
            bridges.own.remove(&id);
        }
        bridges.set(id, mode);
    }
    quiver_ethernet::set_layer2(control, id, mode.is_some() && !bvi);
    let mut dataplane = control.room_mut::<Dataplane>();
    if let Err(error) = dataplane.enable("interface-output", BVI_OUTPUT, id.0, bvi && up) {
        // The feature was registered with the node, so its name is right.
        tracing::error!("the virtual interface cannot send: {error}");
    }
    Ok(())
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
