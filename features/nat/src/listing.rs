//! Sessions that are translated, for commands and messages.

use std::net::Ipv4Addr;
use std::sync::Arc;

use quiver_control::Control;
use quiver_ip::Ip;
use quiver_ip::fib::TableId;
use quiver_session::expiry::end_session;
use quiver_session::key::Format;
use quiver_session::listing::{self, Listed};
use quiver_session::room::Room;
use quiver_session::second::{Ip4End, Second, SecondKey};
use quiver_session::sessions::Sessions;
use quiver_wire::V4;

use crate::mappings::Shared;
use crate::node::session::{TableSlots, flag, has};
use crate::node::tables::{context, of_context};
use crate::ports::Ports;
use crate::room::Nat;
use crate::tuple::Tuple;

/// A translated session.
pub(crate) struct NatSession {
    /// The session.
    pub listed: Listed,
    /// The tuple of packets from the inside.
    pub inside: Tuple,
    /// The value that is kept with it.
    pub second: Second,
    /// Seconds since its last packet, and the worker's time then, in seconds.
    pub idle: (u32, u32),
    /// Table of the host on the inside.
    pub table: TableId,
}

impl NatSession {
    fn of(control: &Control, sessions: &Sessions, listed: Listed) -> Option<NatSession> {
        let second = sessions.second(listed.worker, listed.index)?;
        let inside = Tuple::from_inside(&listed.key, has(&second, flag::INSIDE_HIGH));
        let idle = sessions.idle(control.now().0, listed.worker, listed.index)?;
        let table = table_of(control, TableSlots::of(second.note).inside.into());
        Some(NatSession { listed, inside, second, idle, table })
    }
    /// The host on the inside.
    pub fn host(&self) -> Ip4End {
        self.inside.source
    }
    /// Packets and bytes of both directions.
    pub fn traffic(&self) -> (u64, u64) {
        let [there, back] = self.listed.traffic;
        (there.0 + back.0, there.1 + back.1)
    }
}

fn sessions(control: &Control) -> Option<Arc<Sessions>> {
    control.room::<Room>().sessions()
}

/// The table of a slot.
fn table_of(control: &Control, slot: u32) -> TableId {
    let ip = control.room::<Ip<V4>>();
    ip.current().table(slot).map_or(TableId::DEFAULT, |table| table.id)
}

/// All translated sessions; a step finds one or none.
pub(crate) fn all(control: &Control) -> impl Iterator<Item = Option<NatSession>> + use<> {
    let (control, sessions) = (control.clone(), sessions(control));
    listing::all(&control).map(move |listed| NatSession::of(&control, sessions.as_deref()?, listed?))
}

/// A mapping of endpoint-independent mode.
pub(crate) struct SharedMapping {
    /// Ends and filtering.
    pub shared: Shared,
    /// Table of the host on the inside.
    pub table: TableId,
    /// Number of its sessions.
    pub sessions: u32,
}

/// All mappings of endpoint-independent mode; a step finds one or none.
pub(crate) fn mappings(control: &Control) -> impl Iterator<Item = Option<SharedMapping>> + use<> {
    let (control, ports) = (control.clone(), control.room::<Nat>().ports.clone());
    let workers = ports.get().map_or(0, Ports::workers);
    let of_worker = move |worker| {
        let (ports, control) = (ports.clone(), control.clone());
        let lines = ports.get().map_or(0, |ports| ports.mappings.lines(worker));
        (0..lines).map(move |line| {
            let (shared, sessions) = ports.get()?.mappings.line(worker, line)?;
            let table = table_of(&control, of_context(shared.inside.context).0);
            Some(SharedMapping { shared, table, sessions })
        })
    };
    (0..workers).flat_map(of_worker)
}

/// Which session is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// End of the host, on the inside or as the outside sees it.
    pub end: Ip4End,
    /// The other end, on the same side.
    pub other: Ip4End,
    /// IP protocol number.
    pub protocol: u8,
    /// Table.
    pub table: TableId,
    /// Whether both ends are as on the inside.
    pub is_inside: bool,
}

/// Ends a session; false if there is none.
pub(crate) async fn end(control: Control, format: Format, wanted: Wanted) -> bool {
    let Some(sessions) = sessions(&control) else { return false };
    let Some(slot) = crate::room::slot_of(&control, wanted.table) else { return false };
    let at = if wanted.is_inside {
        let tuple = Tuple { source: wanted.end, destination: wanted.other, protocol: wanted.protocol };
        [false, true]
            .into_iter()
            .find_map(|is_output| sessions.find_first(&tuple.key(context(slot, is_output), format).0))
    } else {
        let Wanted { end, other, protocol, .. } = wanted;
        sessions.find_second(&SecondKey { far: other, near: end, context: slot, protocol })
    };
    match at {
        Some(at) => end_session(control, at.owner.into(), at.index).await,
        None => false,
    }
}

/// Text of an end.
pub(crate) fn text(end: Ip4End) -> String {
    format!("{}:{}", Ipv4Addr::from_bits(end.address), end.port)
}
