//! Solicitation of routers (RFC 4861, 6.3.7; RFC 7559): at once, and again after growing intervals.

use quiver_control::{Control, Time};
use quiver_interface::InterfaceId;
use quiver_wire::nd::{ALL_ROUTERS, group_mac};

use crate::advertiser::Advertisers;
use crate::link::{asker, seed, transmit};
use crate::message;
use crate::routers::{Pace, Routers, Solicitor};

/// Begins to solicit routers on an interface.
pub(crate) fn begin(control: &Control, id: InterfaceId, pace: Pace) {
    let now = control.now();
    let solicitor = Solicitor { pace, next: now, wait: pace.first, sent: 0, since: now };
    let mut room = control.room_mut::<Routers>();
    room.solicitors.insert(id, solicitor);
    // The first answer ends it.
    room.publish();
    room.sooner.notify();
}

/// Asks on an interface, and says when that is to be done again, if ever (RFC 8415, 15).
pub(crate) fn ask(control: &Control, id: InterfaceId, now: Time) {
    if let Some((link, source)) = asker(control, id) {
        transmit(control, id, group_mac(ALL_ROUTERS), &link, &message::solicitation(&link, source));
    }
    let seed = seed(control, id);
    let mut room = control.room_mut::<Routers>();
    let Some(own) = room.solicitors.get_mut(&id) else { return };
    let wait = control.room_mut::<Advertisers>().draw(seed, (own.wait.mul_f64(0.9), own.wait.mul_f64(1.1)));
    own.sent += 1;
    own.next = now + wait;
    let Pace { longest, count, duration, .. } = own.pace;
    own.wait = match own.wait.saturating_mul(2) {
        wait if longest.is_zero() => wait,
        wait => wait.min(longest),
    };
    let is_late = !duration.is_zero() && own.next.since(own.since) >= duration;
    if is_late || (count != 0 && own.sent >= count) {
        room.solicitors.remove(&id);
    }
}
