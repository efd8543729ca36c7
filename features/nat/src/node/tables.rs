//! Tables that the nodes read.

use std::sync::{Arc, OnceLock};

use quiver_engine::channel::Outbox;
use quiver_engine::{Guard, MetadataKey, Paged, Snapshot};
use quiver_ip::upper::Upper;
use quiver_session::key::Format;
use quiver_session::node::pass::Reads;

use crate::counters::WorkerCounters;
use crate::egress::Routes;
use crate::ports::Ports;
use crate::rules::Rules;
use crate::sides::{INSIDE, OUTPUT, OUTSIDE, Sides};

/// The interface that received a packet.
#[derive(Clone, Copy)]
pub struct Received {
    /// Its number.
    pub interface: u32,
    /// Sides: bits of [`sides`](crate::sides).
    pub sides: u32,
    /// Slot of its table.
    pub slot: u32,
}

impl Received {
    /// Whether a packet to an address comes from the inside, unless it was translated there before.
    #[inline(always)]
    pub fn is_from_inside(&self, rules: &Rules, to: u32) -> bool {
        match (self.sides & INSIDE != 0, self.sides & (OUTSIDE | OUTPUT) != 0) {
            (true, true) => !rules.is_outside(to),
            (is_inside, _) => is_inside,
        }
    }
}

/// Slots of the tenants of sessions, which determine their chains.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// Sessions that are translated where packets come in.
    pub input: u16,
    /// Sessions from the inside that are translated where packets leave.
    pub output: u16,
    /// Sessions from the outside of the same interfaces.
    pub inbound: u16,
}

/// Tables that the nodes read.
#[derive(Clone)]
pub struct Tables {
    /// Sessions.
    pub reads: Reads,
    /// Routes, for new sessions.
    pub routes: Routes,
    /// Rules.
    pub rules: Snapshot<Rules>,
    /// Sides of interfaces.
    pub sides: Snapshot<Paged<Sides>>,
    /// Ports, once an interface translates.
    pub ports: Arc<OnceLock<Ports>>,
    /// Tenants of sessions.
    pub slots: Slots,
    /// Format of the keys.
    pub format: Format,
    /// Number of the service that rewrites.
    pub rewrite: u8,
    /// Number of the service `ip4-lookup`.
    pub lookup: u8,
    /// Timeout of ICMP sessions.
    pub icmp_timeout: u8,
    /// By which later fragments have ports.
    pub upper: MetadataKey<Upper>,
}

impl Tables {
    /// Sides of an interface: bits of [`sides`](crate::sides).
    #[inline(always)]
    pub fn sides_of(&self, guard: Guard<'_>, interface: u32) -> u32 {
        self.sides.read(guard).get(interface as usize).map_or(0, |sides| sides.bits)
    }
    /// An interface that received a packet.
    pub fn received(&self, guard: Guard<'_>, interface: u32) -> Received {
        let slot = self.routes.ingress.read(guard).slot(interface);
        Received { interface, sides: self.sides_of(guard, interface), slot }
    }
}

/// The parts that a worker's node has beside the tables.
pub struct Own {
    /// Hears of the worker's first session.
    pub begun: Outbox<()>,
    /// Counters by interface.
    pub counters: WorkerCounters,
}

/// Key context of the sessions of hosts in an IP table, by the table's slot. Sessions of the output feature have a context of their own,
/// because a packet may pass both the input and the output feature.
pub fn context(slot: u32, is_output: bool) -> u32 {
    (slot + 1) << 1 | u32::from(is_output)
}

/// The slot of a context, and whether its sessions are those of the output feature.
pub fn of_context(context: u32) -> (u32, bool) {
    ((context >> 1).wrapping_sub(1), context & 1 != 0)
}
