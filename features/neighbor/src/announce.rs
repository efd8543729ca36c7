//! Announcements: what a link's hosts hold for the owner of our address is put right when we come to the link, and when an
//! address comes to us (RFC 5227, 2.3).

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use quiver_control::{Control, Signal, Time};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_ip::Ip4;

use crate::deadlines::Deadlines;
use crate::keeper;
use crate::rate::Rate;
use crate::resolve::Wanted;

/// ANNOUNCE_NUM of RFC 5227, 1.1.
const TIMES: u32 = 2;
/// ANNOUNCE_INTERVAL of RFC 5227, 1.1.
const INTERVAL: Duration = Duration::from_secs(2);
/// Announcements at most in a window, over all addresses: an interface may have thousands, and its link's hosts listen to
/// each.
const BURST: u32 = 100;
const WINDOW: Duration = Duration::from_millis(100);

/// What is to be announced.
pub(crate) struct Announcements {
    /// Each address of an interface, once for every time that it is announced.
    waiting: Deadlines<(Wanted, u32)>,
    rate: Rate,
    more: Signal,
    /// Whether there are to be any.
    wanted: bool,
}

/// Sets whether addresses are announced from now on.
pub fn set_announcing(control: &Control, wanted: bool) {
    let mut room = control.room_mut::<Announcements>();
    room.wanted = wanted;
    if !wanted {
        room.waiting.cancel_if(|_| true);
    }
}

pub(crate) fn register(control: &Control) {
    control.insert_room(Announcements {
        waiting: Deadlines::default(),
        rate: Rate::new(BURST, WINDOW),
        more: Signal::new(),
        wanted: true,
    });
    control.spawn("announcements", announce(control.clone()));
    watch(control, |control, event| match event {
        InterfaceEvent::Removed(id) => control.room_mut::<Announcements>().waiting.cancel_if(|((on, _), _)| *on == id),
        InterfaceEvent::AddressAdded(id, IpAddr::V4(address)) => begin(control, id, [address]),
        InterfaceEvent::AdminState(id) | InterfaceEvent::Link(id) | InterfaceEvent::Mac(id) => {
            // A part is not told when the interface that it is a part of comes up.
            let of_it = |interface: &&quiver_interface::Interface| interface.id == id || interface.parent == Some(id);
            let ids: BTreeSet<_> = control.room::<Interfaces>().iter().filter(of_it).map(|of_it| of_it.id).collect();
            for id in ids {
                let addresses: Vec<_> =
                    control.room::<Ip4>().addresses(id).iter().map(|address| address.address()).collect();
                begin(control, id, addresses);
            }
        }
        _ => {}
    });
}

/// Announces addresses of an interface, if its link hears of them; anew, where that has begun.
fn begin(control: &Control, id: InterfaceId, addresses: impl IntoIterator<Item = Ipv4Addr>) {
    if !control.room::<Announcements>().wanted || !hears(control, id) {
        return;
    }
    let (now, mut room) = (control.now(), control.room_mut::<Announcements>());
    for address in addresses {
        (0..TIMES).for_each(|time| room.waiting.set(((id, address), time), now + INTERVAL * time));
    }
    let more = room.more.clone();
    drop(room);
    more.notify();
}

/// Whether hosts on an interface's link hear what we say, and have a table to put right.
fn hears(control: &Control, id: InterfaceId) -> bool {
    control.room::<Ip4>().fib.adjacencies.link(id).is_some_and(|link| link.up && !link.point_to_point)
}

async fn announce(control: Control) {
    loop {
        let more = control.room::<Announcements>().more.changed();
        let now = control.now();
        let wait = loop {
            let (id, address) = match next(&control, now) {
                Ok(due) => due,
                Err(wait) => break wait,
            };
            // Meanwhile the address or the interface may have gone.
            let is_own = control.room::<Ip4>().addresses(id).iter().any(|own| own.address() == address);
            if is_own && hears(&control, id) {
                keeper::claim(&control, (id, address));
            }
        };
        match wait {
            Some(at) => _ = control.timeout(at.since(now), more).await,
            None => more.await,
        }
    }
}

/// What is to be announced now; otherwise when to look again, if ever.
fn next(control: &Control, now: Time) -> Result<Wanted, Option<Time>> {
    let mut room = control.room_mut::<Announcements>();
    let key = room.waiting.due(now).ok_or_else(|| room.waiting.first().map(|(at, _)| at))?;
    if !room.rate.allows(now) {
        return Err(Some(room.rate.again()));
    }
    room.waiting.cancel(key);
    Ok(key.0)
}
