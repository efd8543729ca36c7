//! Asking for an address, or announcing one, again and again.

use std::cell::{Cell, RefCell};
use std::net::Ipv4Addr;
use std::rc::{Rc, Weak};
use std::time::Duration;

use quiver_control::{Control, Signal};
use quiver_interface::InterfaceId;
use quiver_neighbor::{ask, claim, look};
use quiver_wire::MacAddress;
use quiver_wire::arp::ArpOperation;

/// How long answers to the last question are waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Arping {
    /// The interface to send by.
    pub interface: InterfaceId,
    /// Who is asked for, or what is announced.
    pub address: Ipv4Addr,
    /// Whether it is announced.
    pub gratuitous: bool,
    /// How often.
    pub repeat: u32,
    /// The time in between.
    pub interval: Duration,
}

/// What was heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// How many.
    pub count: u32,
    /// Who sent the last one.
    pub from: Option<MacAddress>,
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the interface is down, or has no IPv4 address to ask with; `set interface state` and `set interface ip address` change that"
)]
pub struct Unsent;

/// An arping that waits for answers; it ends with whoever holds it.
#[derive(Default)]
struct Waiting {
    answers: Cell<Answers>,
    heard: Signal,
}

/// What an arping that waits has asked for, and where.
type Asked = (InterfaceId, Ipv4Addr, Weak<Waiting>);

/// The arpings that wait.
#[derive(Default, Clone)]
struct Running(Rc<RefCell<Vec<Asked>>>);

pub(crate) fn register(control: &Control) {
    let running = Running::default();
    control.insert_room(running.clone());
    look(control, move |interface, packet| {
        if packet.operation != ArpOperation::REPLY {
            return;
        }
        let running = running.0.borrow();
        let asked = running.iter().filter(|(on, address, _)| (*on, *address) == (interface, packet.sender()));
        for waiting in asked.filter_map(|(_, _, waiting)| waiting.upgrade()) {
            let count = waiting.answers.get().count + 1;
            waiting.answers.set(Answers { count, from: Some(packet.sender_mac) });
            waiting.heard.notify();
        }
    });
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
        let is_sent = match gratuitous {
            true => claim(control, (interface, address)),
            false => ask(control, (interface, address), None),
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
