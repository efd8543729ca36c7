//! Announcements: update the caches of a link's hosts when the interface comes up, and when it gets an address (RFC
//! 5227, 2.3; RFC 4861, 7.2.6). Where the protocol requires it, the address is probed before.

use std::time::Duration;

use quiver_control::{Control, Signal, Time};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_ip::Ip;
use quiver_wire::{V4, V6};

use crate::deadlines::Deadlines;
use crate::messages;
use crate::protocol::{Announcement, Protocol};
use crate::rate::Rate;
use crate::resolve::NeighborKey;

/// Announcements at most in a window, over all addresses: an interface may have thousands, and its link's hosts listen to
/// each.
const BURST: u32 = 100;
const WINDOW: Duration = Duration::from_millis(100);

/// Announcements that wait to be sent.
pub(crate) struct Announcements<F: Protocol> {
    /// Each address of an interface, once for every one of [`Protocol::SAYINGS`].
    waiting: Deadlines<(NeighborKey<F>, usize)>,
    rate: Rate,
    more: Signal,
    /// Whether there are to be any.
    wanted: bool,
}

impl<F: Protocol> Announcements<F> {
    /// Whether there are to be any.
    pub fn are_wanted(&self) -> bool {
        self.wanted
    }
}

/// Sets whether addresses are announced from now on.
pub fn set_announcing(control: &Control, wanted: bool) {
    set_announcing_of::<V4>(control, wanted);
    set_announcing_of::<V6>(control, wanted);
}

fn set_announcing_of<F: Protocol>(control: &Control, wanted: bool) {
    let mut room = control.room_mut::<Announcements<F>>();
    room.wanted = wanted;
    if !wanted {
        room.waiting.cancel_if(|_| true);
    }
}

pub(crate) fn register<F: Protocol>(control: &Control) {
    control.insert_room(Announcements::<F> {
        waiting: Deadlines::default(),
        rate: Rate::new(BURST, WINDOW),
        more: Signal::new(),
        wanted: true,
    });
    control.spawn("announcements", announce::<F>(control.clone()));
    watch(control, |control, event| match event {
        InterfaceEvent::Removed(id) => {
            control.room_mut::<Announcements<F>>().waiting.cancel_if(|((on, _), _)| *on == id)
        }
        InterfaceEvent::AddressAdded(id, address) => begin::<F>(control, id, F::from_ip(address)),
        InterfaceEvent::AdminState(id) | InterfaceEvent::Link(id) | InterfaceEvent::Mac(id) => {
            // A part is not told when the interface that it is a part of comes up.
            let parts = control.room::<Interfaces>().children(id);
            for id in std::iter::once(id).chain(parts) {
                let own = |ip: &Ip<F>| Some(ip.current().interfaces.get(id.index())?.own().collect::<Vec<_>>());
                let addresses = own(&control.room::<Ip<F>>()).unwrap_or_default();
                begin::<F>(control, id, addresses);
            }
        }
        _ => {}
    });
}

/// Announces on a link an address that was probed there and is ours now. Nothing else is announced: duplicate address
/// detection decides when the address may be used, which [`Protocol::SAYINGS`] do not know.
pub fn announce_asked<F: Protocol>(control: &Control, address: NeighborKey<F>) {
    {
        let mut room = control.room_mut::<Announcements<F>>();
        if !room.wanted {
            return;
        }
        (0..F::SAYINGS.len()).for_each(|number| room.waiting.cancel((address, number)));
    }
    messages::claim::<F>(control, address);
}

/// Announces addresses of an interface, if its link hears of them; anew, where that has begun.
fn begin<F: Protocol>(control: &Control, id: InterfaceId, addresses: impl IntoIterator<Item = F::Address>) {
    if !control.room::<Announcements<F>>().wanted || !hears::<F>(control, id) {
        return;
    }
    let (now, mut room) = (control.now(), control.room_mut::<Announcements<F>>());
    for address in addresses {
        for (number, (after, _)) in F::SAYINGS.iter().enumerate() {
            room.waiting.set(((id, address), number), now + *after);
        }
    }
    let more = room.more.clone();
    drop(room);
    more.notify();
}

/// Whether hosts on an interface's link receive announcements, and have a cache to update.
fn hears<F: Protocol>(control: &Control, id: InterfaceId) -> bool {
    control.room::<Ip<F>>().fib.adjacencies.link(id).is_some_and(|link| link.up && !link.point_to_point)
}

async fn announce<F: Protocol>(control: Control) {
    loop {
        let more = control.room::<Announcements<F>>().more.changed();
        let now = control.now();
        let wait = loop {
            let ((id, address), saying) = match next::<F>(&control, now) {
                Ok(due) => due,
                Err(wait) => break wait,
            };
            // Meanwhile the address or the interface may have gone.
            let may_be_said = |ip: &Ip<F>| ip.current().is_own(id, address) && ip.current().is_usable(id, address);
            let is_own = may_be_said(&control.room::<Ip<F>>());
            match saying {
                _ if !is_own || !hears::<F>(&control, id) => {}
                Announcement::Claim => drop(messages::claim::<F>(&control, (id, address))),
                Announcement::Probe => drop(messages::probe::<F>(&control, (id, address))),
            }
        };
        match wait {
            Some(at) => _ = control.timeout(at.since(now), more).await,
            None => more.await,
        }
    }
}

/// The next announcement that is due, or the time of the next look, if there is one.
fn next<F: Protocol>(control: &Control, now: Time) -> Result<(NeighborKey<F>, Announcement), Option<Time>> {
    let mut room = control.room_mut::<Announcements<F>>();
    let key = room.waiting.due(now).ok_or_else(|| room.waiting.first().map(|(at, _)| at))?;
    if !room.rate.allows(now) {
        return Err(Some(room.rate.again()));
    }
    room.waiting.cancel(key);
    Ok((key.0, F::SAYINGS[key.1].1))
}
