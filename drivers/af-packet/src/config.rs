//! The object `HostInterface`, and what becomes of it: sockets on an interface of Linux, and an interface of ours.

use std::os::fd::OwnedFd;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::{Interfaces, NewInterface, create, remove};
use quiver_linux::{Link, LinkState, Linked, Links, LinuxError, Namespace, Watch, note_link, watch_links};
use quiver_wire::UnicastMac;

use crate::queue::Rx;
use crate::send::Tx;
use crate::socket;

quiver_control::number! {
    /// How many receive queues a host interface has: each has a ring of 8 MB.
    pub struct HostQueues(u16) in 1..=16 as "host-queues";
}

/// An interface of Linux, used through an AF_PACKET socket. Linux goes on using it, too.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "host-interfaces", provides = "interface")]
pub struct HostInterface {
    /// The name of the interface: host- and its name in Linux, such as host-eth0.
    #[key]
    pub name: String,
    /// The network namespace in which Linux has it, by name or path; without it, the daemon's own.
    #[fixed]
    pub namespace: Option<String>,
    /// Our address; without it, that which Linux has.
    #[fixed]
    pub mac: Option<UnicastMac>,
    /// Queues for receiving, served by different workers.
    #[fixed]
    #[default(HostQueues::MIN)]
    pub rx_queues: HostQueues,
}

/// What a name begins with.
const PREFIX: &str = "host-";

impl HostInterface {
    /// The object for an interface of Linux.
    pub fn of(linux: &str) -> HostInterface {
        HostInterface::new(format!("{PREFIX}{linux}"))
    }
    /// The name in Linux.
    pub fn linux(&self) -> &str {
        self.name.strip_prefix(PREFIX).unwrap_or_default()
    }
}

/// What the room keeps.
pub(crate) struct HostInterfaces {
    /// The node that stands for the receive queues.
    input: NodeId,
    /// What was made for each object, with Linux's interface as it was found.
    pub links: Links<()>,
}

impl HostInterfaces {
    pub fn new(input: NodeId) -> HostInterfaces {
        HostInterfaces { input, links: Links::default() }
    }
}

/// What holds of a host interface by itself.
pub(crate) fn check(host: &HostInterface) -> Result<(), ObjectError> {
    if host.linux().is_empty() {
        let what = format!("'{}' is no name of a host interface", host.name);
        return Err(ObjectError::field("name", what).remedy("host- and the name in Linux, such as host-eth0"));
    }
    Ok(())
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

fn make(control: &Control, host: &HostInterface) -> Result<(), ObjectError> {
    if control.room::<Interfaces>().find(&host.name).is_some() {
        return Err(ObjectError::field("name", format!("there is an interface {} already", host.name))
            .remedy("delete it first"));
    }
    let namespace = Namespace::find(host.namespace.as_deref()).map_err(|e| e.of_field("namespace"))?;
    let (watch, link) = Watch::start(&namespace, host.linux()).map_err(|e| e.of_field("name"))?;
    let (input, workers) = (control.room::<HostInterfaces>().input, control.room::<Dataplane>().workers());
    let sockets = namespace.within(|| sockets(host, &link, workers)).and_then(|sockets| sockets);
    let (receivers, senders) = sockets.map_err(|e| e.of_field("name"))?;
    let rx = receivers.into_iter().map(|(socket, ring)| Box::new(Rx::new(socket, ring)) as Box<dyn RxQueue>);
    let tx = senders.into_iter().map(|fd| Box::new(Tx::new(fd)) as Box<dyn TxQueue>);
    let new = NewInterface {
        name: host.name.clone(),
        kind: "af-packet",
        mac: host.mac.map_or(link.mac, UnicastMac::get),
        mtu: u16::try_from(link.mtu).unwrap_or(u16::MAX),
        parent: None,
        queues: Some(Queues { input, rx: rx.collect(), tx: tx.collect() }),
    };
    let state = if link.running { LinkState::Running } else { LinkState::Down };
    let id = create(control, new)?;
    let linked = Linked { id, link, state, watch, kept: () };
    let seen = linked.seen();
    control.room_mut::<HostInterfaces>().links.insert(&host.name, linked);
    note_link(control, id, seen);
    Ok(())
}

type Sockets = (Vec<(OwnedFd, crate::ring::Ring)>, Vec<OwnedFd>);

/// Sockets for the receive queues, and one for sending for each worker.
fn sockets(host: &HostInterface, link: &Link, workers: usize) -> Result<Sockets, LinuxError> {
    let senders = (0..workers).map(|_| socket::sender(host.linux(), link.index)).collect::<Result<_, _>>()?;
    Ok((socket::receivers(host.linux(), link.index, host.rx_queues.get().into())?, senders))
}

/// Notes from now on what happens to Linux's interfaces.
pub(crate) fn watch(control: &Control) {
    watch_links(control, "af-packet-links", |hosts: &mut HostInterfaces| &mut hosts.links);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_fields_are_named_with_what_would_be_right() {
        let host = || HostInterface::of("eth0");
        assert_eq!((check(&host()), host().name.as_str()), (Ok(()), "host-eth0"));
        let wrong = [HostInterface { name: "eth0".into(), ..host() }, HostInterface { name: "host-".into(), ..host() }];
        for host in wrong {
            let error = check(&host).expect_err("it is wrong");
            assert!(!error.field.is_empty() && !error.remedy.is_empty(), "{error}");
        }
    }
}
