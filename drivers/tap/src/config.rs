//! The object `Tap`, and what becomes of it: a device of Linux, its settings there, and an interface of ours.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::{Interfaces, NewInterface, create, remove};
use quiver_linux::{
    HostSide, LinkState, Linked, Links, LinuxError, Namespace, Watch, WriteQueue, note_link, random_mac, watch_links,
};
use quiver_wire::{InterfaceAddress, MacAddress, UnicastMac, V4, V6};

use crate::device::{self, Request};
use crate::queue::Rx;

quiver_control::number! {
    /// How many queues a TAP device has; 256 are the most that Linux gives one.
    pub struct TapQueues(u16) in 1..=256 as "tap-queues";
}

quiver_control::number! {
    /// The MTU of a TAP device, within Linux's limits; below 1280 there is no IPv6, which is Linux's business.
    pub struct TapMtu(u16) in 68..=65521 as "tap-mtu";
}

/// A TAP interface: an Ethernet device of Linux whose other end is the daemon. Its Linux side disappears with it.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "taps", provides = "interface")]
pub struct Tap {
    /// The name of the interface: tap0, tap1 and so on.
    #[key]
    pub name: String,
    /// Our address; without it, one is made up.
    #[fixed]
    pub mac: Option<UnicastMac>,
    /// Queues for receiving, served by different workers.
    #[fixed]
    #[default(TapQueues::MIN)]
    pub rx_queues: TapQueues,
    /// Whether long packets to be cut later and packets without checksums pass, which is much faster for TCP.
    #[fixed]
    #[default(true)]
    pub gso: bool,
    /// The network namespace of the Linux side, by name or path; without it, the daemon's own.
    #[fixed]
    pub host_namespace: Option<String>,
    /// The name in Linux; without it, that of the interface.
    #[fixed]
    pub host_interface: Option<String>,
    /// The address of the Linux side.
    #[fixed]
    pub host_mac: Option<UnicastMac>,
    /// The MTU of both sides; without it, 1500.
    #[fixed]
    pub host_mtu: Option<TapMtu>,
    /// The Linux bridge to make the Linux side a port of.
    #[fixed]
    pub host_bridge: Option<String>,
    /// The IPv4 address of the Linux side.
    #[fixed]
    pub host_ip4_address: Option<InterfaceAddress<V4>>,
    /// The gateway of the default route in the namespace.
    #[fixed]
    pub host_ip4_gateway: Option<Ipv4Addr>,
    /// The IPv6 address of the Linux side.
    #[fixed]
    pub host_ip6_address: Option<InterfaceAddress<V6>>,
    /// The gateway of the default route for IPv6 in the namespace.
    #[fixed]
    pub host_ip6_gateway: Option<Ipv6Addr>,
}

/// What the room keeps.
pub(crate) struct Taps {
    /// The node that stands for the receive queues.
    input: NodeId,
    /// What was made for each object, with Linux's side; in which namespace that is.
    pub links: Links<Namespace>,
    /// Addresses that were made up, by interface: one that goes and comes back keeps its own, so that its neighbours
    /// need not learn a new one when a change is undone or replaces it.
    made_up: BTreeMap<String, MacAddress>,
}

impl Taps {
    pub fn new(input: NodeId) -> Taps {
        Taps { input, links: Links::default(), made_up: BTreeMap::new() }
    }
}

impl Tap {
    /// The name of the Linux side.
    pub fn host_name(&self) -> &str {
        self.host_interface.as_deref().unwrap_or(&self.name)
    }
    fn host_side(&self) -> HostSide {
        HostSide {
            mac: self.host_mac.map(UnicastMac::get),
            mtu: self.host_mtu.map(TapMtu::get),
            queue_length: Some(QUEUE_LENGTH),
            bridge: self.host_bridge.clone(),
            ip4: self.host_ip4_address,
            ip4_gateway: self.host_ip4_gateway,
            ip6: self.host_ip6_address,
            ip6_gateway: self.host_ip6_gateway,
        }
    }
}

/// Packets that Linux keeps for us in each queue. Its default of 500 is full after some milliseconds of small packets in
/// which the worker had no core.
const QUEUE_LENGTH: u32 = 2048;

/// What holds of a TAP by itself.
pub(crate) fn check(tap: &Tap) -> Result<(), ObjectError> {
    let number = tap.name.strip_prefix("tap").unwrap_or_default();
    if number.is_empty() || number.len() > 9 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        let what = format!("'{}' is no name of a TAP interface", tap.name);
        return Err(ObjectError::field("name", what).remedy("tap and a number, such as tap0"));
    }
    if let Some(name) = tap.host_interface.as_deref() {
        // What Linux takes (dev_valid_name).
        let is_wrong = |byte: u8| byte == b'/' || byte == b':' || byte.is_ascii_whitespace();
        if name.is_empty() || name.len() > 15 || name == "." || name == ".." || name.bytes().any(is_wrong) {
            let what = format!("'{name}' is no name of a Linux interface");
            return Err(ObjectError::field("host-interface", what)
                .remedy("1 to 15 characters without spaces, slashes and colons"));
        }
    }
    Ok(())
}

pub(crate) fn apply(control: &Control, change: Change<'_, Tap>) -> Result<(), ObjectError> {
    match change {
        Change::Create(tap) => make(control, tap),
        // All fields are fixed: a change makes a new device.
        Change::Update { .. } => Ok(()),
        Change::Delete(tap) => {
            let Some(linked) = control.room_mut::<Taps>().links.remove(&tap.name) else { return Ok(()) };
            remove(control, linked.id);
            // Workers let go of its queues a moment later, and another device may need the name at once.
            if let Err(error) = linked.link.delete(&linked.kept) {
                tracing::warn!("{}: {error}; Linux deletes it when no worker uses it any more", tap.name);
            }
            Ok(())
        }
    }
}

fn make(control: &Control, tap: &Tap) -> Result<(), ObjectError> {
    if control.room::<Interfaces>().find(&tap.name).is_some() {
        return Err(ObjectError::field("name", format!("there is an interface {} already", tap.name))
            .remedy("choose another number"));
    }
    let namespace = Namespace::find(tap.host_namespace.as_deref()).map_err(|e| e.of_field("host-namespace"))?;
    let request = Request { name: tap.host_name(), queues: tap.rx_queues.get().into(), offload: tap.gso };
    let descriptors = device::create(&namespace, &request).map_err(|e| e.of_field("host-interface"))?;
    // On an error the descriptors are closed, and the device is gone with them.
    tap.host_side().apply(&namespace, request.name).map_err(|e| e.of_field(field_of(&e)))?;
    let (watch, link) = Watch::start(&namespace, request.name).map_err(|e| e.of_field(""))?;
    let made_up = control.room::<Taps>().made_up.get(&tap.name).copied();
    let mac = match tap.mac.map(UnicastMac::get).or(made_up) {
        Some(mac) => mac,
        None => random_mac().map_err(|e| e.of_field("mac"))?,
    };
    let (input, workers) = (control.room::<Taps>().input, control.room::<Dataplane>().workers());
    let queues = shared(descriptors, tap.gso, input, workers);
    let id = create(
        control,
        NewInterface {
            name: tap.name.clone(),
            kind: "tap",
            mac,
            mtu: u16::try_from(link.mtu).unwrap_or(u16::MAX),
            parent: None,
            queues: Some(queues),
        },
    )?;
    let mut taps = control.room_mut::<Taps>();
    if tap.mac.is_none() {
        taps.made_up.insert(tap.name.clone(), mac);
    }
    let linked = Linked { id, link, state: LinkState::Running, watch, kept: namespace };
    let seen = linked.seen();
    taps.links.insert(&tap.name, linked);
    drop(taps);
    note_link(control, id, seen);
    Ok(())
}

/// The field that asked for what Linux refused.
fn field_of(error: &LinuxError) -> &'static str {
    match error {
        LinuxError::NoLink { .. } => "host-bridge",
        _ => "",
    }
}

/// A receive queue for each descriptor, and a transmit queue for each worker.
fn shared(descriptors: Vec<OwnedFd>, gso: bool, input: NodeId, workers: usize) -> Queues {
    let descriptors: Vec<_> = descriptors.into_iter().map(Arc::new).collect();
    let rx = |fd: &Arc<OwnedFd>| Box::new(Rx::new(fd.clone())) as Box<dyn RxQueue>;
    let tx = |fd: &Arc<OwnedFd>| Box::new(WriteQueue::new(fd.clone(), gso)) as Box<dyn TxQueue>;
    let tx = descriptors.iter().cycle().take(workers).map(tx).collect();
    Queues { input, rx: descriptors.iter().map(rx).collect(), tx }
}

/// Notes from now on what happens to Linux's sides.
pub(crate) fn watch(control: &Control) {
    watch_links(control, "tap-links", |taps: &mut Taps| &mut taps.links);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_fields_are_named_with_what_would_be_right() {
        let tap = || Tap::new("tap0".into());
        assert_eq!(check(&tap()), Ok(()));
        let wrong = [
            Tap { host_interface: Some("a-name-too-long-for-it".into()), ..tap() },
            Tap { host_interface: Some("a/b".into()), ..tap() },
            Tap { name: "tap".into(), ..tap() },
            Tap { name: "eth0".into(), ..tap() },
        ];
        for tap in wrong {
            let error = check(&tap).expect_err("it is wrong");
            assert!(!error.field.is_empty() && !error.remedy.is_empty(), "{error}");
        }
    }
}
