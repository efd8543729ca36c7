//! Makes, changes and deletes TAP interfaces: a device of Linux, its settings there, and an interface of ours.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::{Interfaces, LinkMtu, NewInterface, check_name, create, remove, set_link_mtu};
use quiver_linux::{
    HostSide, Link, LinkState, Linked, Links, LinuxError, Namespace, Passed, Watch, WriteQueue, check_link_name,
    note_link, random_mac, watch_links,
};
use quiver_wire::{MacAddress, UnicastMac};

use crate::device::{self, Request};
use crate::object::{Tap, TapMtu};
use crate::passed;
use crate::queue::Rx;

/// State of the room.
pub(crate) struct Taps {
    /// The node that stands for the receive queues.
    input: NodeId,
    /// Devices by object, with their Linux sides.
    pub links: Links,
    /// Addresses that were made up, by interface: one that goes and comes back keeps its own, so that its neighbours
    /// need not learn a new one when a change is undone or replaces it.
    made_up: BTreeMap<String, MacAddress>,
}

impl Taps {
    pub fn new(input: NodeId) -> Taps {
        // Linux takes longer packets from a TAP device than it sends by it.
        Taps { input, links: Links::new(LinkMtu::usually, true), made_up: BTreeMap::new() }
    }
}

/// The MTU that Linux gives a device.
const MTU: u16 = 1500;
/// RFC 8200, 5: what a link has to take of IPv6.
const MTU_MIN_IP6: u16 = 1280;

/// Checks a TAP without other objects.
pub(crate) fn check(tap: &Tap) -> Result<(), ObjectError> {
    check_name(&tap.name, "tap0")?;
    match tap.descriptor {
        Some(_) => passed::check(tap),
        None => check_link_name(tap.host_name(), "host-interface"),
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, Tap>) -> Result<(), ObjectError> {
    match change {
        Change::Create(tap) => make(control, tap),
        Change::Update { old, new } => set_mtu(control, old, new),
        Change::Delete(tap) => {
            let Some(linked) = control.room_mut::<Taps>().links.remove(&tap.name) else { return Ok(()) };
            remove(control, linked.id);
            if let Some(device) = linked.watch.device() {
                passed::show_use(device, false);
            }
            let Some(namespace) = &linked.namespace else { return Ok(()) };
            // Workers let go of its queues a moment later, and another device may need the name at once.
            if let Err(error) = linked.link.delete(namespace) {
                tracing::warn!("{}: {error}; Linux deletes it when no worker uses it any more", tap.name);
            }
            Ok(())
        }
    }
}

/// The same without Linux.
pub(crate) fn apply_inside(control: &Control, change: Change<'_, Tap>) -> Result<(), ObjectError> {
    match change {
        Change::Create(tap) => {
            control.room::<Interfaces>().check_free(&tap.name, "choose another number")?;
            passed::check_free(control, tap)?;
            let (input, workers) = (control.room::<Taps>().input, control.room::<Dataplane>().workers());
            let queues = Queues::of_nothing(input, tap.rx_queues.get().into(), workers);
            let mac = tap.mac.map_or(MacAddress::ZERO, UnicastMac::get);
            create(control, interface(tap, mac, mtu_of(tap), queues)).map(drop)
        }
        Change::Update { new, .. } => {
            let (id, mtu) = (control.room::<Interfaces>().id_of(&new.name)?, mtu_of(new));
            let mtu = control.room::<Taps>().links.mtu_of(mtu);
            set_link_mtu(control, id, mtu);
            Ok(())
        }
        Change::Delete(tap) => {
            let id = control.room::<Interfaces>().id_of(&tap.name)?;
            remove(control, id);
            Ok(())
        }
    }
}

/// Checks that the namespace exists, or that the descriptor was passed.
pub(crate) fn needs(passed: &Passed, tap: &Tap) -> Result<(), ObjectError> {
    if let Some(name) = &tap.descriptor {
        return passed::needs(passed, tap, name);
    }
    Namespace::find(tap.host_namespace.as_deref()).map(drop).map_err(|e| e.of_field("host-namespace"))
}

/// The outside resource that a TAP occupies: its name in Linux, or its descriptor.
pub(crate) fn takes(tap: &Tap) -> Vec<String> {
    if let Some(name) = &tap.descriptor {
        return vec![format!("descriptor {name}")];
    }
    vec![format!("Linux interface {} in {}", tap.host_name(), tap.host_namespace.as_deref().unwrap_or_default())]
}

fn interface(tap: &Tap, mac: MacAddress, mtu: u16, queues: Queues) -> NewInterface {
    NewInterface { name: tap.name.clone(), kind: "tap", mac, mtu, parent: None, queues: Some(queues) }
}

/// The MTU of both sides.
fn mtu_of(tap: &Tap) -> u16 {
    tap.host_mtu.map_or(MTU, TapMtu::get)
}

/// A device that is there, with a descriptor for each queue.
struct Opened {
    queues: Vec<Arc<OwnedFd>>,
    link: Link,
    watch: Watch,
    /// Its namespace; unknown of one that was passed.
    namespace: Option<Namespace>,
}

/// Makes the device in its namespace.
fn make_device(tap: &Tap) -> Result<Opened, ObjectError> {
    let namespace = Namespace::find(tap.host_namespace.as_deref()).map_err(|e| e.of_field("host-namespace"))?;
    let request = Request { name: tap.host_name(), queues: tap.rx_queues.get().into(), offload: tap.gso };
    let queues = device::create(&namespace, &request).map_err(|e| e.within("host-namespace", "host-interface"))?;
    // On an error the descriptors are closed, and the device is gone with them.
    tap.host_side().apply(&namespace, request.name).map_err(|e| e.within("host-namespace", field_of(&e)))?;
    let (watch, link) = Watch::start(&namespace, request.name).map_err(|e| e.within("host-namespace", ""))?;
    Ok(Opened { queues: shared(queues), link, watch, namespace: Some(namespace) })
}

/// Takes a device that was passed.
fn take_device(control: &Control, tap: &Tap, descriptor: &str) -> Result<Opened, ObjectError> {
    let passed::Device { about, queues } = passed::open(control, tap, descriptor)?;
    let queues = shared(queues);
    let Some(first) = queues.first() else { return Err(ObjectError::field("descriptor", "there is no descriptor")) };
    let watch = Watch::of_device(first.clone(), &about.name, MTU.into());
    // Its number is that of a namespace which is not known.
    let link = Link { index: 0, mac: about.mac, mtu: MTU.into(), running: true };
    Ok(Opened { queues, link, watch, namespace: None })
}

fn make(control: &Control, tap: &Tap) -> Result<(), ObjectError> {
    control.room::<Interfaces>().check_free(&tap.name, "choose another number")?;
    let Opened { queues, link, watch, namespace } = match &tap.descriptor {
        Some(descriptor) => take_device(control, tap, descriptor)?,
        None => make_device(tap)?,
    };
    let made_up = control.room::<Taps>().made_up.get(&tap.name).copied();
    let mac = match tap.mac.map(UnicastMac::get).or(made_up) {
        Some(mac) => mac,
        None => random_mac().map_err(|e| e.of_field("mac"))?,
    };
    let (input, workers) = (control.room::<Taps>().input, control.room::<Dataplane>().workers());
    let queues = queues_of(&queues, tap.gso, input, workers);
    let mtu = u16::try_from(link.mtu).unwrap_or(u16::MAX);
    let id = create(control, interface(tap, mac, mtu, queues))?;
    let mut taps = control.room_mut::<Taps>();
    if tap.mac.is_none() {
        taps.made_up.insert(tap.name.clone(), mac);
    }
    let linked = Linked { id, link, state: LinkState::Running, watch, namespace, is_lost: false };
    let seen = taps.links.insert(&tap.name, linked);
    drop(taps);
    note_link(control, id, seen);
    Ok(())
}

/// Changes the MTU of both sides. A change of any other field makes a new device.
fn set_mtu(control: &Control, old: &Tap, new: &Tap) -> Result<(), ObjectError> {
    let (before, after) = (mtu_of(old), mtu_of(new));
    // Linux forgets what an interface has of IPv6 while its MTU is too small for that.
    let is_ip6_lost = before < MTU_MIN_IP6 && after >= MTU_MIN_IP6;
    let side = HostSide {
        mtu: Some(after),
        ip6: new.host_ip6_address.filter(|_| is_ip6_lost),
        ip6_gateway: new.host_ip6_gateway.filter(|_| is_ip6_lost),
        ..HostSide::default()
    };
    let (id, mtu) = {
        let mut taps = control.room_mut::<Taps>();
        let mtu = taps.links.mtu_of(after);
        let Some(linked) = taps.links.get_mut(&new.name) else { return Ok(()) };
        let Some(namespace) = &linked.namespace else { return Ok(()) };
        linked.link = side.apply(namespace, new.host_name()).map_err(|e| e.within("host-namespace", "host-mtu"))?;
        (linked.id, mtu)
    };
    set_link_mtu(control, id, mtu);
    Ok(())
}

/// The field that asked for what Linux refused.
fn field_of(error: &LinuxError) -> &'static str {
    match error {
        LinuxError::NoLink { .. } => "host-bridge",
        _ => "",
    }
}

/// Descriptors as several workers hold them.
fn shared(descriptors: Vec<OwnedFd>) -> Vec<Arc<OwnedFd>> {
    descriptors.into_iter().map(Arc::new).collect()
}

/// A receive queue for each descriptor, and a transmit queue for each worker.
fn queues_of(descriptors: &[Arc<OwnedFd>], gso: bool, input: NodeId, workers: usize) -> Queues {
    let rx = |fd: &Arc<OwnedFd>| Box::new(Rx::new(fd.clone())) as Box<dyn RxQueue>;
    let tx = |fd: &Arc<OwnedFd>| Box::new(WriteQueue::new(fd.clone(), gso)) as Box<dyn TxQueue>;
    let tx = descriptors.iter().cycle().take(workers).map(tx).collect();
    Queues { input, rx: descriptors.iter().map(rx).collect(), tx }
}

/// Notes from now on what happens to Linux's sides.
pub(crate) fn watch(control: &Control) {
    watch_links(control, "tap-links", Tap::KIND, |taps: &mut Taps| &mut taps.links);
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use quiver_wire::InterfaceAddress;

    use super::*;

    #[test]
    fn wrong_fields_are_named_with_what_would_be_right() {
        let tap = || Tap::new("tap0".into());
        assert_eq!(check(&tap()), Ok(()));
        assert_eq!(check(&Tap { name: "wan".into(), ..tap() }), Ok(()));
        let (name, host_interface) = ("a-name-too-long-for-linux".into(), Some("short".into()));
        assert_eq!(check(&Tap { name, host_interface, ..tap() }), Ok(()));
        let wrong = [
            Tap { host_interface: Some("a-name-too-long-for-it".into()), ..tap() },
            Tap { host_interface: Some("a/b".into()), ..tap() },
            Tap { name: "a-name-too-long-for-linux".into(), ..tap() },
            Tap { name: "wan.1".into(), ..tap() },
        ];
        for tap in wrong {
            let error = check(&tap).expect_err("it is wrong");
            assert!(!error.field.is_empty() && !error.remedy.is_empty(), "{error}");
        }
        let passed = || Tap { descriptor: Some("wan".into()), ..tap() };
        assert_eq!(check(&passed()), Ok(()));
        let mac = UnicastMac::new(MacAddress([2, 0, 0, 0, 0, 1])).ok();
        let wrong = [
            ("descriptor", Tap { descriptor: Some("a:b".into()), ..tap() }),
            ("descriptor", Tap { descriptor: Some(String::new()), ..tap() }),
            ("host-namespace", Tap { host_namespace: Some("red".into()), ..passed() }),
            ("host-interface", Tap { host_interface: Some("eth0".into()), ..passed() }),
            ("host-mac", Tap { host_mac: mac, ..passed() }),
            ("host-mtu", Tap { host_mtu: TapMtu::new(1400), ..passed() }),
            ("host-bridge", Tap { host_bridge: Some("br0".into()), ..passed() }),
            ("host-ip4-gateway", Tap { host_ip4_gateway: Some(Ipv4Addr::LOCALHOST), ..passed() }),
            ("host-ip6-gateway", Tap { host_ip6_gateway: Some(Ipv6Addr::LOCALHOST), ..passed() }),
            ("host-ip4-address", Tap { host_ip4_address: Some(InterfaceAddress::UNSPECIFIED), ..passed() }),
            ("host-ip6-address", Tap { host_ip6_address: Some(InterfaceAddress::UNSPECIFIED), ..passed() }),
        ];
        for (field, tap) in wrong {
            let error = check(&tap).expect_err(field);
            assert_eq!(error.field, field);
            assert!(!error.remedy.is_empty(), "{error}");
        }
    }
}
