//! New sessions: an outside end is chosen, and both keys are stored. Nothing is stored if that fails.

use quiver_engine::Context;
use quiver_session::Reason;
use quiver_session::node::pass::Work;
use quiver_session::record::{Direction, Status};
use quiver_session::second::{Ip4End, Reference, Second};
use quiver_session::timeouts::{EMBRYONIC, ESTABLISHED};
use quiver_session::translation::{Begun, Session};
use quiver_wire::IpProtocol;

use super::session::{TableSlots, flag};
use super::tables::{Own, Tables, context};
use crate::decide::{Far, Near, Plan};
use crate::mappings::COLLECTED;
use crate::ports::{FIRST_PORT, Ports};
use crate::rules::{Pooled, Rules};
use crate::tuple::Tuple;

mod independent;

/// Why no session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No outside port is free.
    Ports,
    /// Another session has the host's tuple.
    Known,
    /// The worker has as many sessions as it may.
    Limit,
    /// The table of sessions is full.
    Full,
    /// The mapping of its destination has ended.
    Gone,
}

/// Addresses of which a free port is looked for.
const ADDRESSES: usize = 1024;
/// Addresses of which a port is looked for that only sessions to other destinations use.
const SHARED_ADDRESSES: usize = 16;
/// Ports of each that are tried.
const TRIES: u32 = 16;

/// Where a packet that begins a session comes from and goes to.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Slot of the table of the interface that received it.
    pub received: u32,
    /// Slot of the table on the other side: of the interface by which it leaves, if it comes from the inside.
    pub leaves: u32,
    /// Whether packets from the inside are translated where they leave.
    pub is_output: bool,
}

/// A session at its beginning: keys and what is kept with them.
#[derive(Clone, Copy)]
struct New {
    /// The tuple of packets from the inside.
    inside: Tuple,
    /// The tuple of packets to the outside.
    outside: Tuple,
    flags: u16,
    tables: TableSlots,
    is_outbound: bool,
    is_output: bool,
}

/// The beginning of sessions on a worker.
pub struct Beginning<'a, 'w> {
    /// Tables that the node reads.
    pub tables: &'a Tables,
    /// The worker's own part.
    pub own: &'a Own,
    /// Sessions.
    pub work: &'a Work<'w>,
    /// Rules.
    pub rules: &'a Rules,
}

impl<'w> Beginning<'_, 'w> {
    /// Begins the session of a packet by a plan.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn begin(&self, cx: &Context<'w>, plan: Plan, packet: &Tuple, place: Place) -> Result<Session, Refused> {
        self.attempt(cx, plan, packet, place).inspect_err(|refused| self.refused(cx, packet, place, *refused))
    }
    /// Tells of a packet that begins no session.
    #[cold]
    pub fn refused(&self, cx: &Context<'w>, packet: &Tuple, place: Place, refused: Refused) {
        let reason = match refused {
            Refused::Ports => Reason::OutOfPorts,
            Refused::Known => Reason::TupleInUse,
            Refused::Limit => Reason::Quota,
            Refused::Full => Reason::TableFull,
            // It is as if the mapping had not been there.
            Refused::Gone => return,
        };
        let (key, is_high) = packet.key(context(place.received, place.is_output), self.tables.format);
        self.work.denied(cx, (&key, is_high), self.tables.slots.input, reason);
    }
    fn attempt(&self, cx: &Context<'w>, plan: Plan, packet: &Tuple, place: Place) -> Result<Session, Refused> {
        let ports = self.tables.ports.get().ok_or(Refused::Full)?;
        // PERF: checked before anything is stored, for packets that come when there is no room.
        if ports.of(cx.worker).ok_or(Refused::Full)?.sessions >= self.rules.sessions_max {
            return Err(Refused::Limit);
        }
        let session = match plan {
            Plan::Outbound(Near::Fixed(near)) => self.store(cx, self.outbound(packet, place, (near, flag::STATIC))),
            Plan::Outbound(Near::Pool) => self.pooled((cx, ports), packet, place),
            Plan::Mapped(shared) => self.to_mapping((cx, ports), &shared, packet, place),
            Plan::Inbound { far: Far::Plain, .. } => self.store(cx, self.inbound(plan, packet, place)?),
            Plan::Inbound { far: Far::Pool, .. } => self.twice((cx, ports), self.inbound(plan, packet, place)?),
        }?;
        if let Some(mut own) = ports.of(cx.worker) {
            own.sessions += 1;
        }
        Ok(session)
    }
    /// The session that would begin, with one of the outside ends that it may get. Nothing is stored, and no port is looked at: those are the
    /// worker's.
    ///
    /// # Errors
    /// If there is no address.
    pub fn rehearse(&self, cx: &Context<'w>, plan: Plan, packet: &Tuple, place: Place) -> Result<Session, Refused> {
        let new = match plan {
            Plan::Outbound(Near::Fixed(near)) => self.outbound(packet, place, (near, flag::STATIC)),
            Plan::Outbound(Near::Pool) => {
                let first = self.rules.addresses_for(packet.source.address, place.received).next();
                let Pooled { address, .. } = *first.ok_or(Refused::Ports)?;
                let near = Ip4End { address, port: packet.source.port.max(FIRST_PORT as u16) };
                self.outbound(packet, place, (self.rehearsed(packet, place).unwrap_or(near), flag::OWNS_PORT))
            }
            Plan::Mapped(shared) => self.mapped(&shared, packet, place),
            Plan::Inbound { far: Far::Plain, .. } => self.inbound(plan, packet, place)?,
            Plan::Inbound { far: Far::Pool, .. } => {
                let new = self.inbound(plan, packet, place)?;
                let address = *self.rules.twice_pool.first().ok_or(Refused::Ports)?;
                seen_as(&new, Ip4End { address, port: FIRST_PORT as u16 })
            }
        };
        Ok(self.session(self.work.sessions.nowhere(cx.worker), &new))
    }
    /// A session from the inside, with an outside end.
    fn outbound(&self, packet: &Tuple, place: Place, (near, flags): (Ip4End, u16)) -> New {
        let hairpin = if self.rules.is_outside(packet.destination.address) { flag::HAIRPIN } else { 0 };
        // An identifier is one of both ends.
        let port = if is_echo(packet.protocol) { near.port } else { packet.destination.port };
        let destination = Ip4End { port, ..packet.destination };
        New {
            inside: *packet,
            outside: Tuple { source: near, destination, ..*packet },
            flags: flags | hairpin,
            tables: TableSlots { inside: place.received as u16, outside: place.leaves as u16 },
            is_outbound: true,
            is_output: place.is_output,
        }
    }
    /// A session from the outside.
    fn inbound(&self, plan: Plan, packet: &Tuple, place: Place) -> Result<New, Refused> {
        let Plan::Inbound { host, table, is_static, .. } = plan else { return Err(Refused::Ports) };
        let flags = if is_static { flag::STATIC } else { flag::FORWARDED };
        Ok(self.new_inbound((host, table), flags, packet, place))
    }
    /// A session from the outside, with a host in the table of a slot.
    fn new_inbound(&self, (host, table): (Ip4End, u32), flags: u16, packet: &Tuple, place: Place) -> New {
        let hairpin = if self.rules.is_outside(packet.source.address) { flag::HAIRPIN } else { 0 };
        // An identifier is one of both ends.
        let port = if is_echo(packet.protocol) { host.port } else { packet.source.port };
        New {
            inside: Tuple { source: host, destination: Ip4End { port, ..packet.source }, ..*packet },
            outside: packet.reversed(),
            flags: hairpin | flags,
            tables: TableSlots { inside: table as u16, outside: place.received as u16 },
            is_outbound: false,
            is_output: place.is_output,
        }
    }
    /// A session from the inside whose outside end is of the pool.
    fn pooled(&self, (cx, ports): (&Context<'w>, &Ports), packet: &Tuple, place: Place) -> Result<Session, Refused> {
        let addresses = || self.rules.addresses_for(packet.source.address, place.received);
        if addresses().next().is_some_and(Pooled::is_independent) {
            return self.independent((cx, ports), packet, place);
        }
        let addresses = || addresses().map(|pooled| pooled.address);
        let (protocol, time) = (packet.protocol, (self.work.ticks(cx), self.rules.rest));
        // Of the time before the pool was in this mode.
        ports.of(cx.worker).ok_or(Refused::Full)?.collect(&ports.mappings, cx.worker, COLLECTED, time);
        // Whether sessions to other destinations may have the port of an outside end.
        let is_free = |near: Ip4End| {
            let key = self.outbound(packet, place, (near, 0)).outside.reversed().second(place.leaves);
            !self.rules.is_mapped(near, protocol) && self.work.sessions.find_second(&key).is_none()
        };
        for address in addresses().take(ADDRESSES) {
            let mut wanted = Some(packet.source.port);
            for _ in 0..TRIES {
                let port = {
                    let mut own = ports.of(cx.worker).ok_or(Refused::Full)?;
                    let set = own.set(address, protocol);
                    set.pass_time(time);
                    let wanted = wanted.take().filter(|port| set.has(*port));
                    match wanted {
                        Some(port) if set.take(port) => Some((port, true)),
                        Some(port) if is_free(Ip4End { address, port }) => Some((port, false)),
                        _ => set.take_next().map(|port| (port, true)),
                    }
                };
                let Some((port, is_own)) = port else { break };
                let near = Ip4End { address, port };
                let stored = match self.rules.is_mapped(near, protocol) {
                    true => Err(Refused::Ports),
                    false => {
                        let flags = if is_own { flag::OWNS_PORT } else { 0 };
                        self.store(cx, self.outbound(packet, place, (near, flags)))
                    }
                };
                if is_own && stored.is_err() {
                    ports.of(cx.worker).ok_or(Refused::Full)?.set(address, protocol).free(port);
                }
                if stored != Err(Refused::Ports) {
                    return stored;
                }
            }
        }
        for address in addresses().take(SHARED_ADDRESSES) {
            for _ in 0..TRIES {
                let port = {
                    let mut own = ports.of(cx.worker).ok_or(Refused::Full)?;
                    own.shared = own.shared.wrapping_add(1);
                    let number = own.shared;
                    own.set(address, protocol).shared(number)
                };
                let near = Ip4End { address, port };
                if !is_free(near) {
                    continue;
                }
                let stored = self.store(cx, self.outbound(packet, place, (near, 0)));
                if stored != Err(Refused::Ports) {
                    return stored;
                }
            }
        }
        Err(Refused::Ports)
    }
    /// A session whose client has an address of the second pool on the inside.
    fn twice(&self, (cx, ports): (&Context<'w>, &Ports), new: New) -> Result<Session, Refused> {
        let (client, protocol) = (new.outside.destination, new.inside.protocol);
        let number = self.rules.twice_pool.len();
        for at in 0..number.min(SHARED_ADDRESSES) {
            let address = self.rules.twice_pool[(client.address as usize + at) % number];
            for _ in 0..TRIES {
                let port = ports.of(cx.worker).ok_or(Refused::Full)?.set(address, protocol).take_next();
                let Some(port) = port else { break };
                let new = seen_as(&new, Ip4End { address, port });
                let is_own = has_flag(&new, flag::OWNS_FAR_PORT);
                let stored = self.store(cx, new);
                if stored.is_err() || !is_own {
                    ports.of(cx.worker).ok_or(Refused::Full)?.set(address, protocol).free(port);
                }
                if !matches!(stored, Err(Refused::Ports | Refused::Known)) {
                    return stored;
                }
            }
        }
        Err(Refused::Ports)
    }
    /// A new session, as it is at a place.
    fn session(&self, at: Reference, new: &New) -> Session {
        let New { inside, outside, tables, is_outbound, is_output, .. } = *new;
        let (key, is_high) = inside.key(context(tables.inside.into(), is_output), self.tables.format);
        let of = |is: bool, flag: u16| if is { flag } else { 0 };
        let flags = new.flags | of(is_high, flag::INSIDE_HIGH) | of(is_output, flag::OUTPUT);
        let second = Second { key: outside.reversed().second(tables.outside.into()), flags, note: tables.note() };
        Session { at, key, is_from_high: is_high == is_outbound, second }
    }
    /// Stores a session under both of its keys.
    fn store(&self, cx: &Context<'w>, new: New) -> Result<Session, Refused> {
        let slots = &self.tables.slots;
        let slot = match (new.is_output, new.is_outbound) {
            (false, _) => slots.input,
            (true, true) => slots.output,
            (true, false) => slots.inbound,
        };
        let session = self.session(self.work.sessions.nowhere(cx.worker), &new);
        let key = (&session.key, session.is_from_high);
        let at = match self.work.begin_session((cx, &self.own.begun), key, slot) {
            Begun::New(at) => at,
            // This one would not be found by the host's packets.
            Begun::Known(_) => return Err(Refused::Known),
            Begun::Full => return Err(Refused::Full),
        };
        if let Err(known) = self.work.set_second(at, &session.second) {
            self.work.end_session(at);
            return Err(if known.is_some() { Refused::Ports } else { Refused::Full });
        }
        if let Some(packet) = self.work.packet_at((at, Direction::Forward), (true, false)) {
            // RFC 4787, REQ-5: a UDP mapping lives as long before the first reply; RFC 5382, REQ-5 has another time for connections that
            // are not established, and RFC 5508, REQ-2 for ICMP.
            let timeout = match IpProtocol(new.inside.protocol) {
                IpProtocol::TCP => EMBRYONIC,
                IpProtocol::UDP => ESTABLISHED,
                _ => self.tables.icmp_timeout,
            };
            self.work.set_status(packet, Status { timeout, ..Status::NEW });
        }
        Ok(Session { at, ..session })
    }
}

fn has_flag(new: &New, flag: u16) -> bool {
    new.flags & flag != 0
}

/// A session from the outside whose client the host sees as this end. Identifiers of echoes stay: they cannot differ at both ends of the host's
/// packets.
fn seen_as(new: &New, end: Ip4End) -> New {
    let is_echo = is_echo(new.inside.protocol);
    let destination = Ip4End { port: if is_echo { new.inside.source.port } else { end.port }, ..end };
    let flags = new.flags | flag::TWICE | if is_echo { 0 } else { flag::OWNS_FAR_PORT };
    New { inside: Tuple { destination, ..new.inside }, flags, ..*new }
}

fn is_echo(protocol: u8) -> bool {
    IpProtocol(protocol) == IpProtocol::ICMP4
}
