//! Asking for an address, or announcing one, again and again: by ARP, or by Neighbour Discovery.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::{Rc, Weak};
use std::time::Duration;

use quiver_control::{Control, Signal};
use quiver_interface::InterfaceId;
use quiver_neighbor::{Protocol, ask, claim, look};
use quiver_wire::arp::ArpOperation;
use quiver_wire::{Icmp6Type, MacAddress, V4, V6};

/// Time to wait for replies after the last request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Requests or announcements to send.
#[derive(Clone, Copy, Debug)]
pub struct Arping {
    /// The interface to send by.
    pub interface: InterfaceId,
    /// Target address of the requests, or the announced address.
    pub address: IpAddr,
    /// Whether the address is announced.
    pub gratuitous: bool,
    /// Number of packets.
    pub repeat: u32,
    /// Interval between packets.
    pub interval: Duration,
}

/// Replies received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Number of replies.
    pub count: u32,
    /// Sender of the last reply.
    pub from: Option<MacAddress>,
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the interface is down, or has no address to ask with; `set interface state` and `set interface ip address` change that"
)]
pub struct Unsent;

/// An arping that waits for answers; it ends with whoever holds it.
#[derive(Default)]
struct Waiting {
    answers: Cell<Answers>,
    heard: Signal,
}

/// Interface, address and replies of a running arping.
type Asked = (InterfaceId, IpAddr, Weak<Waiting>);

/// The arpings that wait.
#[derive(Default, Clone)]
struct Running(Rc<RefCell<Vec<Asked>>>);

pub(crate) fn register(control: &Control) {
    let running = Running::default();
    control.insert_room(running.clone());
    let of_ip6 = running.clone();
    look::<V4>(control, move |interface, packet| {
        if packet.operation == ArpOperation::REPLY {
            running.hear((interface, packet.sender().into()), packet.sender_mac);
        }
    });
    look::<V6>(control, move |interface, packet| {
        if let (Icmp6Type::NEIGHBOR_ADVERTISEMENT, Some(mac)) = (packet.kind, packet.mac) {
            of_ip6.hear((interface, packet.target.into()), mac);
        }
    });
}

impl Running {
    /// Somebody answers for an address on a link.
    fn hear(&self, answered: (InterfaceId, IpAddr), mac: MacAddress) {
        let running = self.0.borrow();
        let asked = running.iter().filter(|(on, address, _)| (*on, *address) == answered);
        for waiting in asked.filter_map(|(_, _, waiting)| waiting.upgrade()) {
            let count = waiting.answers.get().count + 1;
            waiting.answers.set(Answers { count, from: Some(mac) });
            waiting.heard.notify();
        }
    }
}

/// Announces an address, or asks for it. False if nothing could be sent.
fn say<F: Protocol>(control: &Control, interface: InterfaceId, address: F::Address, gratuitous: bool) -> bool {
    match gratuitous {
        true => claim::<F>(control, (interface, address)),
        false => ask::<F>(control, (interface, address)),
    }
}

/// Sends, and waits for answers. `sent` hears of each packet, by its number from 1 on.
///
/// # Errors
/// If the interface is down, or has no address to ask with; announcements need none.
pub async fn run(control: &Control, arping: Arping, sent: impl AsyncFn(u32)) -> Result<Answers, Unsent> {
    let Arping { interface, address, gratuitous, repeat, interval } = arping;
    let waiting = Rc::new(Waiting::default());
    {
        let running = control.room::<Running>();
        let mut running = running.0.borrow_mut();
        running.retain(|(_, _, other)| other.strong_count() > 0);
        if !gratuitous {
            running.push((interface, address, Rc::downgrade(&waiting)));
        }
    }
    for number in 1..=repeat {
        let is_sent = match address {
            IpAddr::V4(address) => say::<V4>(control, interface, address, gratuitous),
            IpAddr::V6(address) => say::<V6>(control, interface, address, gratuitous),
        };
        if !is_sent {
            return Err(Unsent);
        }
        sent(number).await;
        if number < repeat {
            control.sleep(interval).await;
        }
    }
    let end = control.now() + PATIENCE;
    while !gratuitous && waiting.answers.get().count < repeat {
        let (heard, left) = (waiting.heard.changed(), end.since(control.now()));
        if left.is_zero() || control.timeout(left, heard).await.is_none() {
            break;
        }
    }
    Ok(waiting.answers.get())
}
