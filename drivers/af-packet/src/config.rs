//! The object `HostInterface`, and its effect: sockets on a Linux interface, and an interface of ours.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::{Interfaces, LinkMtu, NewInterface, check_name, create, remove};
use quiver_linux::{
    Link, LinkState, Linked, Links, LinuxError, Namespace, Watch, check_link_name, note_link, watch_links,
};
use quiver_wire::{MacAddress, UnicastMac};

use crate::queue::Rx;
use crate::send::Tx;
use crate::socket;

quiver_control::number! {
    /// How many receive queues a host interface has: each has a ring of 8 MB.
    pub struct HostQueues(u16) in 1..=16 as "host-queues";
}

/// Linux interface used through an AF_PACKET socket. Linux continues to use it, too.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "host-interfaces", provides = "interface")]
pub struct HostInterface {
    /// Name: host- and the Linux name, such as host-eth0, or one that you choose, such as wan.
    #[key]
    pub name: String,
    /// Name of the Linux interface. Default: what follows host- in the name.
    #[fixed]
    pub host_interface: Option<String>,
    /// Network namespace of the Linux interface, by name or path. Default: quiverd's own.
    #[fixed]
    pub namespace: Option<String>,
    /// MAC address of the interface. Default: that in Linux.
    #[fixed]
    pub mac: Option<UnicastMac>,
    /// Number of receive queues, which different workers may poll.
    #[fixed]
    #[default(HostQueues::MIN)]
    pub rx_queues: HostQueues,
}

/// MTU of a link whose MTU is unknown.
const MTU: u16 = 1500;

/// Prefix of the interfaces' names.
const PREFIX: &str = "host-";

impl HostInterface {
    /// The object that an interface of Linux has without a chosen name.
    pub fn of(linux: &str) -> HostInterface {
        HostInterface::new(format!("{PREFIX}{linux}"))
    }
    /// The name in Linux.
    pub fn linux(&self) -> &str {
        self.host_interface.as_deref().unwrap_or_else(|| self.named().unwrap_or_default())
    }
    /// The name in Linux that the name of the interface has in it.
    fn named(&self) -> Option<&str> {
        self.name.strip_prefix(PREFIX)
    }
    /// The field with the name in Linux.
    fn linux_field(&self) -> &'static str {
        if self.host_interface.is_some() { "host-interface" } else { "name" }
    }
    /// The object that uses an interface of Linux: the one that is named after it, or the first of those with chosen names.
    pub fn find(control: &Control, linux: &str) -> Option<Rc<HostInterface>> {
        let (objects, named) = (control.objects(), HostInterface::of(linux).name);
        let named = objects.get::<HostInterface>(&named).filter(|host| host.linux() == linux);
        named.or_else(|| objects.all::<HostInterface>().into_iter().find(|host| host.linux() == linux))
    }
}

/// The room's state.
pub(crate) struct HostInterfaces {
    /// The node that stands for the receive queues.
    input: NodeId,
    /// The links of each object, with Linux's settings as they were found.
    pub links: Links,
}

impl HostInterfaces {
    pub fn new(input: NodeId) -> HostInterfaces {
        // Linux sends no longer packets by its interface, whatever is configured of ours.
        HostInterfaces { input, links: Links::new(LinkMtu::limit, false) }
    }
}

/// Checks a host interface that needs no other object.
pub(crate) fn check(host: &HostInterface) -> Result<(), ObjectError> {
    match (&host.host_interface, host.named()) {
        (None, None | Some("")) => {
            let what = format!("'{}' says no name of a Linux interface", host.name);
            return Err(ObjectError::field("name", what)
                .remedy("host- and the name in Linux, such as host-eth0; or set host-interface to the name in Linux"));
        }
        (Some(linux), Some(named)) if linux == named => {}
        (Some(_), _) => check_name(&host.name, "host-eth0")?,
        (None, Some(_)) => {}
    }
    check_link_name(host.linux(), host.linux_field())
}

pub(crate) fn apply(control: &Control, change: Change<'_, HostInterface>) -> Result<(), ObjectError> {
    match change {
        Change::Create(host) => make(control, host),
        // All fields are fixed: a change opens new sockets.
        Change::Update { .. } => Ok(()),
        Change::Delete(host) => {
            let linked = control.room_mut::<HostInterfaces>().links.remove(&host.name);
            linked.into_iter().for_each(|linked| remove(control, linked.id));
            Ok(())
        }
    }
}

/// The same without Linux, where a link has the MTU that most have.
pub(crate) fn apply_inside(control: &Control, change: Change<'_, HostInterface>) -> Result<(), ObjectError> {
    match change {
        Change::Create(host) => {
            control.room::<Interfaces>().check_free(&host.name, "delete it first")?;
            let (input, workers) = (control.room::<HostInterfaces>().input, control.room::<Dataplane>().workers());
            let queues = Queues::of_nothing(input, host.rx_queues.get().into(), workers);
            let mac = host.mac.map_or(MacAddress::ZERO, UnicastMac::get);
            create(control, interface(host, mac, MTU, queues)).map(drop)
        }
        Change::Update { .. } => Ok(()),
        Change::Delete(host) => {
            let id = control.room::<Interfaces>().id_of(&host.name)?;
            remove(control, id);
            Ok(())
        }
    }
}

/// Checks that the namespace and the Linux interface exist.
pub(crate) fn needs(host: &HostInterface) -> Result<(), ObjectError> {
    let namespace = Namespace::find(host.namespace.as_deref()).map_err(|e| e.of_field("namespace"))?;
    Link::find(&namespace, host.linux()).map(drop).map_err(|e| e.of_field(host.linux_field()))
}

fn interface(host: &HostInterface, mac: MacAddress, mtu: u16, queues: Queues) -> NewInterface {
    NewInterface { name: host.name.clone(), kind: "af-packet", mac, mtu, parent: None, queues: Some(queues) }
}

fn make(control: &Control, host: &HostInterface) -> Result<(), ObjectError> {
    control.room::<Interfaces>().check_free(&host.name, "delete it first")?;
    let namespace = Namespace::find(host.namespace.as_deref()).map_err(|e| e.of_field("namespace"))?;
    let (watch, link) =
        Watch::start(&namespace, host.linux()).map_err(|e| e.within("namespace", host.linux_field()))?;
    let (input, workers) = (control.room::<HostInterfaces>().input, control.room::<Dataplane>().workers());
    let sockets = namespace.within(|| sockets(host, &link, workers)).and_then(|sockets| sockets);
    let (receivers, senders) = sockets.map_err(|e| e.within("namespace", host.linux_field()))?;
    let rx = receivers.into_iter().map(|(socket, ring)| Box::new(Rx::new(socket, ring)) as Box<dyn RxQueue>);
    let tx = senders.into_iter().map(|fd| Box::new(Tx::new(fd)) as Box<dyn TxQueue>);
    let mtu = u16::try_from(link.mtu).unwrap_or(u16::MAX);
    let queues = Queues { input, rx: rx.collect(), tx: tx.collect() };
    let new = interface(host, host.mac.map_or(link.mac, UnicastMac::get), mtu, queues);
    let state = if link.running { LinkState::Running } else { LinkState::Down };
    let id = create(control, new)?;
    let linked = Linked { id, link, state, watch, namespace: Some(namespace), is_lost: false };
    let seen = control.room_mut::<HostInterfaces>().links.insert(&host.name, linked);
    note_link(control, id, seen);
    Ok(())
}

type Sockets = (Vec<(OwnedFd, crate::ring::Ring)>, Vec<OwnedFd>);

/// Sockets for the receive queues, and one for sending for each worker.
fn sockets(host: &HostInterface, link: &Link, workers: usize) -> Result<Sockets, LinuxError> {
    let senders = (0..workers).map(|_| socket::sender(host.linux(), link.index)).collect::<Result<_, _>>()?;
    Ok((socket::receivers(host.linux(), link.index, host.rx_queues.get().into())?, senders))
}

/// Follows changes of Linux's interfaces from now on.
pub(crate) fn watch(control: &Control) {
    watch_links(control, "af-packet-links", HostInterface::KIND, |hosts: &mut HostInterfaces| &mut hosts.links);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_fields_are_named_with_what_would_be_right() {
        let host = || HostInterface::of("eth0");
        assert_eq!((check(&host()), host().name.as_str()), (Ok(()), "host-eth0"));
        let chosen =
            |name: &str| HostInterface { host_interface: Some("eth0".into()), ..HostInterface::new(name.into()) };
        for right in [chosen("wan"), chosen("host-eth0"), chosen("host-lan"), HostInterface::of("eth0.10")] {
            assert_eq!((check(&right), right.linux().starts_with("eth0")), (Ok(()), true), "{right:?}");
        }
        let wrong = [
            HostInterface { name: "eth0".into(), ..host() },
            HostInterface { name: "host-".into(), ..host() },
            HostInterface { host_interface: Some("a/b".into()), ..chosen("wan") },
            HostInterface::of("a-name-too-long-for-linux"),
            chosen("w.1"),
        ];
        for host in wrong {
            let error = check(&host).expect_err("it is wrong");
            assert!(!error.field.is_empty() && !error.remedy.is_empty(), "{error}");
        }
    }
}
