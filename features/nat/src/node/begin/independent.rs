//! New sessions of endpoint-independent mode: they hold the mapping of the end on the inside, which begins with the first of them.

use quiver_engine::Context;
use quiver_session::second::Ip4End;
use quiver_session::translation::Session;

use crate::counted::Made;
use crate::mappings::{COLLECTED, Filtering, Inside, Shared};
use crate::node::begin::{ADDRESSES, Beginning, New, Place, Refused, TRIES};
use crate::node::session::flag;
use crate::node::tables::{context, of_context};
use crate::ports::{Ports, WorkerPorts};
use crate::rules::Pooled;
use crate::tuple::Tuple;

/// Ended mappings that a worker takes back at once when no port is free.
const COLLECTED_MOST: usize = 1024;

/// The end on the inside of a packet from there.
fn inside_of(packet: &Tuple, place: Place) -> Inside {
    let context = context(place.received, place.is_output);
    Inside { end: packet.source, context, protocol: packet.protocol }
}

impl<'w> Beginning<'_, 'w> {
    /// A session from the inside, by the mapping of its end there.
    pub(super) fn independent(
        &self,
        (cx, ports): (&Context<'w>, &Ports),
        packet: &Tuple,
        place: Place,
    ) -> Result<Session, Refused> {
        let inside = inside_of(packet, place);
        // Another worker may make or end the mapping in the same moment.
        for _ in 0..TRIES {
            let known = ports.mappings.hold(&inside);
            let Some(shared) = known.map_or_else(|| self.map((cx, ports), inside, place), |known| Ok(Some(known)))?
            else {
                continue;
            };
            let new = self.outbound(packet, place, (shared.outside, flag::MAPPED));
            return self.store_mapped((cx, ports), new, &shared);
        }
        Err(Refused::Ports)
    }
    /// A session from the outside, to the outside end of a mapping.
    pub(super) fn to_mapping(
        &self,
        (cx, ports): (&Context<'w>, &Ports),
        shared: &Shared,
        packet: &Tuple,
        place: Place,
    ) -> Result<Session, Refused> {
        let held = ports.mappings.hold(&shared.inside).ok_or(Refused::Gone)?;
        if held != *shared {
            ports.mappings.release(&held.inside);
            return Err(Refused::Gone);
        }
        self.store_mapped((cx, ports), self.mapped(shared, packet, place), shared)
    }
    /// A session from the outside, as it would be.
    pub(super) fn mapped(&self, shared: &Shared, packet: &Tuple, place: Place) -> New {
        let (table, is_output) = of_context(shared.inside.context);
        let new = self.new_inbound((shared.inside.end, table), flag::MAPPED, packet, place);
        New { is_output, ..new }
    }
    /// The outside end that a host's packet would get in a rehearsal, if it has a mapping.
    pub(super) fn rehearsed(&self, packet: &Tuple, place: Place) -> Option<Ip4End> {
        self.tables.ports.get()?.mappings.from(&inside_of(packet, place)).map(|shared| shared.outside)
    }
    /// A new mapping of this worker; None if another worker has made one.
    fn map(
        &self,
        (cx, ports): (&Context<'w>, &Ports),
        inside: Inside,
        place: Place,
    ) -> Result<Option<Shared>, Refused> {
        let mut own = ports.of(cx.worker).ok_or(Refused::Full)?;
        let time = (self.work.ticks(cx), self.rules.rest);
        for most in [COLLECTED, COLLECTED_MOST] {
            let is_left = own.collect(&ports.mappings, cx.worker, most, time);
            if let Some((pooled, outside)) = self.free_end(&mut own, &inside, place, time) {
                let shared = Shared { inside, outside, filtering: pooled.filtering };
                let made = ports.mappings.make(cx.worker, &mut own.shelves, &shared);
                if let Made::New(_) = made {
                    return Ok(Some(shared));
                }
                own.set(outside.address, inside.protocol).free(outside.port);
                return if made == Made::Known { Ok(None) } else { Err(Refused::Full) };
            }
            if !is_left {
                break;
            }
        }
        Err(Refused::Ports)
    }
    /// An outside end whose port is taken from the pool: with the port of the end on the inside, or with its parity, if such a port is free.
    fn free_end(
        &self,
        own: &mut WorkerPorts,
        inside: &Inside,
        place: Place,
        time: (u32, u32),
    ) -> Option<(&Pooled, Ip4End)> {
        let wanted = inside.end.port;
        for pooled in self.rules.addresses_for(inside.end.address, place.received).take(ADDRESSES) {
            let set = own.set(pooled.address, inside.protocol);
            set.pass_time(time);
            for attempt in 0..TRIES {
                let port = if attempt == 0 && set.take(wanted) { Some(wanted) } else { set.take_like(wanted) };
                let Some(port) = port else { break };
                let outside = Ip4End { address: pooled.address, port };
                if !self.rules.is_mapped(outside, inside.protocol) {
                    return Some((pooled, outside));
                }
                set.free(port);
            }
        }
        None
    }
    /// Stores a session of a mapping, of which it has a hold.
    fn store_mapped(
        &self,
        (cx, ports): (&Context<'w>, &Ports),
        mut new: New,
        shared: &Shared,
    ) -> Result<Session, Refused> {
        let (end, far) = ((shared.outside, shared.inside.protocol), new.outside.destination.address);
        let is_contact = new.is_outbound && shared.filtering == Filtering::AddressDependent;
        if is_contact {
            let own = ports.of(cx.worker);
            let is_noted =
                own.is_some_and(|mut own| ports.mappings.hold_contact(cx.worker, &mut own.shelves, end, far));
            if !is_noted {
                ports.mappings.release(&shared.inside);
                return Err(Refused::Full);
            }
            new.flags |= flag::CONTACT;
        }
        self.store(cx, new).inspect_err(|_| {
            ports.mappings.release(&shared.inside);
            if is_contact {
                ports.mappings.release_contact(end, far);
            }
        })
    }
}
