//! Interfaces whose datagrams for tunnels go to these at once, without a lookup of their destination.

use std::collections::BTreeMap;

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::Dataplane;
use quiver_interface::{InterfaceName, Interfaces};
use quiver_ip::Family;
use quiver_wire::{V4, V6};

/// Tunnel bypass: tunnel packets that an interface receives are decapsulated without a FIB lookup.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "tunnel-bypasses")]
pub struct TunnelBypass {
    /// Interface that receives the packets.
    #[key]
    pub interface: InterfaceName,
    /// Kind of tunnels: vxlan or geneve.
    #[key]
    pub tunnels: String,
    /// Whether it applies to tunnels over IPv4.
    #[default(false)]
    pub ip4: bool,
    /// Whether it applies to tunnels over IPv6.
    #[default(false)]
    pub ip6: bool,
}

/// The features of each kind of tunnels, for datagrams of IPv4 and IPv6.
#[derive(Default)]
struct Kinds(BTreeMap<&'static str, [&'static str; 2]>);

pub(crate) fn register(control: &Control) {
    control.insert_room(Kinds::default());
    control.objects().add(Kind::new(apply));
}

/// Notes the features of a kind of tunnels.
pub(crate) fn add_kind(control: &Control, name: &'static str, features: [&'static str; 2]) {
    control.room_mut::<Kinds>().0.insert(name, features);
}

fn apply(control: &Control, change: Change<'_, TunnelBypass>) -> Result<(), ObjectError> {
    let (bypass, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, [new.ip4, new.ip6]),
        Change::Delete(old) => (old, [false; 2]),
    };
    let id = control.room::<Interfaces>().id_of(&bypass.interface.0)?;
    let Some(features) = control.room::<Kinds>().0.get(&*bypass.tunnels).copied() else {
        let names: Vec<_> = control.room::<Kinds>().0.keys().copied().collect();
        let what = format!("there are no tunnels of the kind '{}'", bypass.tunnels);
        return Err(ObjectError::field("tunnels", what).remedy(format!("choose one of {}", names.join(", "))));
    };
    let mut dataplane = control.room_mut::<Dataplane>();
    for ((arc, feature), wanted) in [V4::NAMES.unicast, V6::NAMES.unicast].into_iter().zip(features).zip(wanted) {
        dataplane.enable(arc, feature, id.0, wanted).map_err(|error| ObjectError::whole(error.to_string()))?;
    }
    Ok(())
}

/// Sets it for one family; nothing is kept of an interface where it is set for none.
///
/// # Errors
/// If there is no such interface.
pub fn set_bypass(
    control: &Control,
    interface: InterfaceName,
    tunnels: &str,
    is_ip6: bool,
    wanted: bool,
) -> Result<(), ObjectError> {
    let key = (interface, tunnels.to_owned());
    let had = control.objects().get::<TunnelBypass>(&key);
    let mut bypass = had.as_deref().cloned().unwrap_or_else(|| TunnelBypass::new(key.0.clone(), key.1.clone()));
    *(if is_ip6 { &mut bypass.ip6 } else { &mut bypass.ip4 }) = wanted;
    control.assign(&key, Some(bypass).filter(|bypass| bypass.ip4 || bypass.ip6))
}
