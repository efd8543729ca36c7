//! Errors of ICMP that `nat44-ed-input` causes, and those that come back to the inside.

use quiver_engine::{Context, Frame};
use quiver_ip::fault::Fault;
use quiver_ip::node::too_big::segment_length;
use quiver_session::node::pass::Work;
use quiver_session::translation::Session;
use quiver_wire::V4;

use crate::node::input::{Input, Keyed};
use crate::node::session::{self, Way};
use crate::rules::Rules;

impl Input {
    /// The MTU of the link, for the sender of a packet that is longer and must not be fragmented (RFC 4787, REQ-13). It is told before it
    /// is translated: the error is about its own packet.
    #[cold]
    pub(super) fn too_long(
        &self,
        cx: &Context<'_>,
        (frame, i): (&Frame, usize),
        session: &Session,
        row: &Keyed,
    ) -> Option<Fault> {
        const DF: u8 = 0x40;
        let has_df = frame.bytes(cx.pool, i).get(6).is_some_and(|flags| flags & DF != 0);
        if !has_df {
            return None;
        }
        let slot = match session::way_of(session, row.is_from_inside, row.slot) {
            Way::On => row.slot,
            Way::Table(slot) => slot.into(),
            Way::Hairpin => return None,
        };
        let to = session::translated(session, row.is_from_inside).destination.address;
        let mtu = self.tables.routes.mtu(cx.guard, slot, to)?;
        // The driver may be to cut it.
        let length = segment_length::<V4>(cx, frame, i).unwrap_or(frame.length[i] as usize);
        (length > mtu.into()).then(|| Fault::too_big(mtu))
    }
    /// The session of an ICMP error about a hairpinned packet, which was translated on its way from the inside, and is now as from the outside
    /// (RFC 5508, REQ-7).
    #[cold]
    pub(super) fn hairpinned(&self, work: &Work<'_>, rules: &Rules, row: Keyed) -> Option<(Session, Keyed)> {
        let is_translated = row.is_from_inside && rules.is_outside(row.tuple.source.address);
        let row = Keyed { is_from_inside: false, ..row };
        let session = self.find(work, &row).ok().flatten().filter(|_| is_translated)?;
        Some((session, row))
    }
}
