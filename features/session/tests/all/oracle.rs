//! A naive model of sessions: a map from keys to states, and the rules of their services one after the other.

use std::collections::BTreeMap;

use quiver_session::record::State;

use crate::packets::{ACK, End, FIN, Family, Packet, Protocol, RST, SYN, Segment};

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// Timeouts of tenants, by the numbers in [`Tenant::timeouts`], and two that no tenant sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    Embryonic,
    Established,
    TcpEstablished,
    Security,
    Sample,
    Closed,
    Now,
}

/// Names of those that tenants set.
pub const TIMEOUTS: [&str; 5] = ["embryonic", "established", "tcp-established", "security", "sample-timeout"];

/// A service of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Check,
    Lifecycle,
    Sample,
    Lookup,
    Drop,
}

/// A tenant, whose sessions are of one family.
#[derive(Clone, Debug, Default)]
pub struct Tenant {
    pub family: Family,
    pub context: u32,
    pub chains: [Vec<Service>; 2],
    pub timeouts: [u32; 5],
    /// Sessions are stored once their first packet is permitted.
    pub policy_first: bool,
    /// Sessions that a source may have begun.
    pub source_max: Option<u32>,
}

impl Tenant {
    /// Whether a packet may begin a session.
    fn permits(&self, packet: &Packet) -> bool {
        let forward = &self.chains[0];
        let checks = forward.iter().any(|service| matches!(service, Service::Check | Service::Lifecycle));
        let opens = packet.segment.flags & (SYN | ACK | FIN | RST) == SYN;
        forward.last() == Some(&Service::Lookup) && (opens || packet.protocol != Protocol::Tcp || !checks)
    }
}

/// A key: both ends in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub context: u32,
    pub family: Family,
    pub protocol: Protocol,
    pub low: End,
    pub high: End,
}

impl Key {
    pub fn of(packet: &Packet, context: u32) -> Key {
        let [low, high] = [packet.source.min(packet.destination), packet.source.max(packet.destination)];
        Key { context, family: packet.family, protocol: packet.protocol, low, high }
    }
}

/// Segments of a connection so far.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    pub syn_back: bool,
    pub syn_acked: bool,
    /// The number behind the FIN of each direction.
    pub fins: [Option<u32>; 2],
    acked: [bool; 2],
    pub is_closing: bool,
    no_syn: bool,
}

/// A session.
#[derive(Clone, Debug)]
pub struct Session {
    /// As it was listed first.
    pub id: Option<u64>,
    pub tenant: u32,
    pub owner: usize,
    pub initiator: End,
    pub state: State,
    pub timeout: Timeout,
    pub is_blocked: bool,
    /// In nanoseconds.
    pub last_seen: u64,
    /// When its timeout was last changed.
    pub changed: u64,
    /// Packets and bytes.
    pub traffic: [(u64, u64); 2],
    pub connection: Connection,
}

/// All of it.
#[derive(Default)]
pub struct Oracle {
    pub sessions: BTreeMap<Key, Session>,
    pub tenants: BTreeMap<u32, Tenant>,
    /// Sessions whose first packet is no SYN are blocked.
    pub blocks: bool,
}

impl Oracle {
    /// The moment at which a session's time has passed.
    pub fn deadline(&self, session: &Session) -> u64 {
        let seconds = match session.timeout {
            Timeout::Closed => 2,
            Timeout::Now => 1,
            timeout => self.tenants[&session.tenant].timeouts[timeout as usize],
        };
        session.last_seen + u64::from(seconds) * SECOND
    }

    /// A packet of a tenant's interface comes to a worker; whether it leaves.
    pub fn packet(&mut self, packet: &Packet, tenant: u32, worker: usize, now: u64) -> bool {
        let key = Key::of(packet, self.tenants[&tenant].context);
        let is_first = !self.sessions.contains_key(&key);
        if is_first {
            let rules = &self.tenants[&tenant];
            let of_source = |session: &&Session| session.tenant == tenant && session.initiator.0 == packet.source.0;
            let has = self.sessions.values().filter(of_source).count();
            if rules.policy_first && !rules.permits(packet) || rules.source_max.is_some_and(|most| has >= most as usize)
            {
                return false;
            }
        }
        let session = self.sessions.entry(key).or_insert_with(|| Session {
            id: None,
            tenant,
            owner: worker,
            initiator: packet.source,
            state: State::Embryonic,
            timeout: Timeout::Embryonic,
            is_blocked: false,
            last_seen: now,
            changed: now,
            traffic: [(0, 0); 2],
            connection: Connection::default(),
        });
        let direction = usize::from(packet.source != session.initiator);
        let traffic = &mut session.traffic[direction];
        *traffic = (traffic.0 + 1, traffic.1 + packet.length());
        if session.is_blocked {
            return false;
        }
        session.last_seen = now;
        let before = session.timeout;
        let chain = &self.tenants[&session.tenant].chains[direction];
        let leaves = run(session, chain, (packet, direction, is_first), self.blocks);
        if session.timeout != before {
            session.changed = now;
        }
        leaves
    }
}

/// A packet passes its chain; whether it leaves.
fn run(session: &mut Session, chain: &[Service], of: (&Packet, usize, bool), blocks: bool) -> bool {
    let (packet, direction, is_first) = of;
    let is_tcp = packet.protocol == Protocol::Tcp;
    for service in chain {
        match service {
            Service::Lookup => return true,
            Service::Drop => return false,
            Service::Sample => {
                if session.state == State::Embryonic {
                    (session.state, session.timeout) = (State::Established, Timeout::Sample);
                }
            }
            Service::Check | Service::Lifecycle if is_tcp => {
                if *service == Service::Lifecycle && chain.contains(&Service::Check) {
                    continue;
                }
                follow(session, direction, (packet.segment, packet.payload), is_first, blocks);
                if session.is_blocked {
                    return false;
                }
            }
            Service::Check => {}
            Service::Lifecycle => {
                if session.state == State::Embryonic && direction == 1 {
                    (session.state, session.timeout) = (State::Established, Timeout::Established);
                }
            }
        }
    }
    false
}

fn follow(session: &mut Session, direction: usize, of: (Segment, u32), is_first: bool, blocks: bool) {
    let (segment, payload) = of;
    let has = |flag| segment.flags & flag != 0;
    let connection = &mut session.connection;
    if is_first && !has(SYN) {
        connection.no_syn = true;
        session.is_blocked = blocks;
        session.timeout = if blocks { Timeout::Security } else { Timeout::Now };
    }
    if connection.no_syn {
        if direction == 0 && has(SYN) && !has(ACK) && !has(FIN) && !has(RST) && !session.is_blocked {
            *connection = Connection::default();
            (session.state, session.timeout) = (State::Embryonic, Timeout::Now);
        }
        return;
    }
    if has(RST) {
        connection.is_closing = true;
        session.timeout = Timeout::Now;
        return;
    }
    if connection.is_closing {
        if direction == 0 && has(SYN) {
            *connection = Connection::default();
            (session.state, session.timeout) = (State::Embryonic, Timeout::Embryonic);
        }
        return;
    }
    let is_answered = connection.syn_back && connection.syn_acked;
    if direction == 1 {
        connection.syn_back |= has(SYN);
        connection.syn_acked |= has(ACK);
    }
    if connection.syn_back && session.timeout == Timeout::Now {
        session.timeout = Timeout::Embryonic;
    }
    if has(FIN) {
        connection.fins[direction] = Some(segment.sequence.wrapping_add(payload).wrapping_add(1));
    }
    let other = 1 - direction;
    if let Some(end) = connection.fins[other].filter(|_| has(ACK)) {
        // Numbers come round: those of the half circle behind the end acknowledge it.
        connection.acked[other] |= segment.acknowledgment.wrapping_sub(end) < 1 << 31;
    }
    if session.state == State::Embryonic && direction == 0 && has(ACK) && is_answered {
        (session.state, session.timeout) = (State::Established, Timeout::TcpEstablished);
    }
    if connection.acked == [true; 2] {
        connection.is_closing = true;
        (session.state, session.timeout) = (State::TimeWait, Timeout::Closed);
    }
}
