//! Records of sessions: two cache lines each. Only the worker that owns a session writes its record; other workers compare its key,
//! and the control thread lists it. Of sessions that let packets pass, any worker writes the time of the last packet and the status.
//!
//! The first line has what most packets need: key, state, time and counters. The second one has longer addresses and what few
//! packets need. All fields are atomic words, so that readers need no lock; on their owner they cost what plain words cost.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use quiver_table::Cells;
use zerocopy::FromZeros;

use crate::key::{Ends4, Format, Key};
use crate::timeouts::EMBRYONIC;

/// Sessions that a worker can own: a mark on a packet has 24 bits for their index.
pub const OWNED_MAX: usize = 1 << 24;

/// State of a session. The numbers are those of VPP's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// No reply has been seen.
    Embryonic = 0,
    /// Both ends have sent packets; of TCP, the handshake is complete.
    Established = 1,
    /// Both ends have closed the connection.
    TimeWait = 2,
}

impl State {
    /// All, by number.
    pub const ALL: [State; 3] = [State::Embryonic, State::Established, State::TimeWait];

    fn of(number: u8) -> State {
        match number {
            1 => State::Established,
            2 => State::TimeWait,
            _ => State::Embryonic,
        }
    }
    /// Its name, as VPP shows it.
    pub fn name(self) -> &'static str {
        match self {
            State::Embryonic => "embryonic",
            State::Established => "established",
            State::TimeWait => "time-wait",
        }
    }
}

/// Direction of a packet: from the initiator to the responder, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Direction {
    /// From the initiator.
    Forward = 0,
    /// From the responder.
    Reverse = 1,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Forward, Direction::Reverse];
    /// The direction of a packet whose source is the responder, or is not.
    pub fn reverse(is_reverse: bool) -> Direction {
        if is_reverse { Direction::Reverse } else { Direction::Forward }
    }
}

/// The part that is constant while a session lives, in a word: protocol 8 bits, format 4, initiator 1, live 1, counted 1, tenant 16 from bit 16 on,
/// generation 24 from bit 32 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(u64);

const FROM_HIGH: u64 = 1 << 12;
const LIVE: u64 = 1 << 13;
const COUNTED: u64 = 1 << 14;
/// Bits of a generation.
pub const GENERATION: u32 = (1 << 24) - 1;

impl Identity {
    /// Whether it is a session's, and not of a free record.
    pub fn is_live(self) -> bool {
        self.0 & LIVE != 0
    }
    /// Whether it is that of a session whose record had been used so often.
    #[inline(always)]
    pub(crate) fn is_live_of(self, generation: u32) -> bool {
        self.is_live() && self.0 >> 32 == u64::from(generation)
    }
    /// Protocol number.
    pub fn protocol(self) -> u8 {
        self.0 as u8
    }
    /// Format of the key.
    pub fn format(self) -> Option<Format> {
        Format::of((self.0 >> 8) as u8 & 0xf)
    }
    /// Whether the initiator is the higher end.
    pub fn is_from_high(self) -> bool {
        self.0 & FROM_HIGH != 0
    }
    /// Whether the session's source counts it.
    pub(crate) fn is_counted(self) -> bool {
        self.0 & COUNTED != 0
    }
    /// Slot of the tenant.
    pub fn tenant(self) -> u16 {
        (self.0 >> 16) as u16
    }
    /// How often the record has been used, in 24 bits.
    pub fn generation(self) -> u32 {
        (self.0 >> 32) as u32 & GENERATION
    }
}

/// The part that changes with packets, in a word: state 8 bits, timeout 8, flags 16 from bit 16 on, fields of rooms 32 from bit 32 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// State.
    pub state: State,
    /// Number of the timeout that applies.
    pub timeout: u8,
    /// Flags: [`BLOCKED`], [`REFUSED`], and those of the TCP check.
    pub flags: u16,
    /// Fields that rooms have claimed for their services ([`StatusField`](crate::status_field::StatusField)).
    pub fields: u32,
}

impl Status {
    #[inline(always)]
    fn of_word(word: u64) -> Status {
        let (timeout, flags, fields) = ((word >> 8) as u8, (word >> 16) as u16, (word >> 32) as u32);
        Status { state: State::of(word as u8), timeout, flags, fields }
    }
    #[inline(always)]
    fn to_word(self) -> u64 {
        let Status { state, timeout, flags, fields } = self;
        state as u64 | u64::from(timeout) << 8 | u64::from(flags) << 16 | u64::from(fields) << 32
    }
    /// The status of a session that begins.
    pub const NEW: Status = Status { state: State::Embryonic, timeout: EMBRYONIC, flags: 0, fields: 0 };
}

/// The packets of a session are dropped.
pub const BLOCKED: u16 = 1 << 15;
/// A service of the chain drops the packets of the session, which do not prolong it.
pub const REFUSED: u16 = 1 << 10;
/// The connection has been closed or reset; a SYN of the initiator opens it anew.
pub const CLOSING: u16 = 1 << 6;
/// The first packet of a connection was no SYN.
pub const NO_SYN: u16 = 1 << 7;

/// The router has opened the connection to the responder itself: a SYN cookie was its initiator's answer.
pub const PROXIED: u16 = 1 << 9;

/// A record.
#[derive(Default, FromZeros)]
#[repr(C, align(128))]
pub struct Record {
    /// IPv4: addresses; other formats: hash of the key.
    first: AtomicU64,
    ports: AtomicU64,
    identity: AtomicU64,
    /// Ticks when the last packet came, and in the upper half those when the session began.
    times: AtomicU64,
    status: AtomicU64,
    bytes: [AtomicU64; 2],
    /// Packets of both directions, 32 bits each.
    packets: AtomicU64,
    /// Of formats other than IPv4.
    addresses: [AtomicU64; 4],
    /// Multiples of 2^32 packets of both directions.
    carry: [AtomicU64; 2],
    /// Numbers behind the FINs of both directions.
    ends: AtomicU64,
    /// Ticks of the last event that told of its traffic.
    told: AtomicU64,
}

const _: () = assert!(size_of::<Record>() == 128);

impl Record {
    /// The part that is constant while the session lives.
    #[inline(always)]
    pub fn identity(&self) -> Identity {
        Identity(self.identity.load(Relaxed))
    }
    /// Whether the session has a key.
    #[inline(always)]
    pub fn is(&self, key: &Key, hash: u64) -> bool {
        let is_ip4 = key.format().is_ip4();
        let first = if is_ip4 { key.address_words()[0] } else { hash };
        self.has_words(&[first, key.ports_word(), key.kind()]) && (is_ip4 || self.has_addresses(key))
    }
    /// Whether the session has a key of IPv4, by its words: addresses, ports with context, kind.
    #[inline(always)]
    pub(crate) fn has_words(&self, [addresses, ports, kind]: &[u64; 3]) -> bool {
        let identity = self.identity.load(Relaxed) & (0xfff | LIVE);
        let differs =
            (identity ^ (kind | LIVE)) | (self.first.load(Relaxed) ^ addresses) | (self.ports.load(Relaxed) ^ ports);
        differs == 0
    }
    /// The ends of a key of IPv4, the lower one first.
    #[inline(always)]
    pub(crate) fn ends4(&self) -> Ends4 {
        Ends4 { addresses: self.first.load(Relaxed), ports: (self.ports.load(Relaxed) >> 32) as u32 }
    }
    /// Whether the addresses of a session of another format are those of a key.
    #[inline(always)]
    pub(crate) fn has_addresses(&self, key: &Key) -> bool {
        self.addresses.iter().zip(key.address_words()).all(|(own, other)| own.load(Relaxed) == *other)
    }
    /// The key; None of a free record.
    pub fn key(&self) -> Option<Key> {
        let identity = Identity(self.identity.load(Acquire));
        let format = identity.format().filter(|_| identity.is_live())?;
        let addresses = match format.is_ip4() {
            true => [self.first.load(Relaxed), 0, 0, 0],
            false => std::array::from_fn(|i| self.addresses[i].load(Relaxed)),
        };
        Some(Key::of_words(addresses, self.ports.load(Relaxed), (identity.protocol(), format)))
    }
    /// Begins a session in this record, which is free: everything but its place in the directory.
    pub(crate) fn begin(&self, key: &Key, hash: u64, (tenant, is_from_high): (u16, bool), now: u32) {
        let generation = u64::from(self.identity().generation().wrapping_add(1) & GENERATION);
        let addresses = key.address_words();
        self.first.store(if key.format().is_ip4() { addresses[0] } else { hash }, Relaxed);
        if !key.format().is_ip4() {
            self.addresses.iter().zip(addresses).for_each(|(own, word)| own.store(*word, Relaxed));
        }
        self.ports.store(key.ports_word(), Relaxed);
        self.times.store(u64::from(now) << 32 | u64::from(now), Relaxed);
        self.status.store(0, Relaxed);
        self.told.store(now.into(), Relaxed);
        for word in self.bytes.iter().chain(&self.carry).chain([&self.packets, &self.ends]) {
            word.store(0, Relaxed);
        }
        let from_high = if is_from_high { FROM_HIGH } else { 0 };
        let kind = key.kind();
        // Control, which does not come by the directory, finds the other fields once it sees this one.
        self.identity.store(kind | from_high | LIVE | u64::from(tenant) << 16 | generation << 32, Release);
    }
    /// Notes that the session's source counts it; for the owner.
    pub(crate) fn set_counted(&self) {
        self.identity.store(self.identity.load(Relaxed) | COUNTED, Release);
    }
    /// Ticks since an event told of its traffic, or since it began.
    pub(crate) fn since_told(&self, now: u32) -> u32 {
        now.wrapping_sub(self.told.load(Relaxed) as u32)
    }
    /// Notes that an event tells of its traffic.
    pub(crate) fn set_told(&self, now: u32) {
        self.told.store(now.into(), Relaxed);
    }
    /// Ends the session. The generation stays, so that the next one has another.
    pub(crate) fn end(&self) {
        let identity = self.identity.load(Relaxed);
        self.identity.store(identity & (u64::from(GENERATION) << 32), Relaxed);
    }
    /// Counts a packet, and notes its time; that of a blocked or refused session does not prolong its life.
    #[inline(always)]
    pub(crate) fn touch(&self, direction: Direction, bytes: u32, now: u32) {
        let at = direction as usize;
        if self.status.load(Relaxed) & u64::from(BLOCKED | REFUSED) << 16 == 0 {
            self.prolong(now);
        }
        self.bytes[at].store(self.bytes[at].load(Relaxed) + u64::from(bytes), Relaxed);
        let (packets, shift) = (self.packets.load(Relaxed), 32 * at as u32);
        if (packets >> shift) as u32 == u32::MAX {
            self.carry[at].store(self.carry[at].load(Relaxed) + 1, Relaxed);
            self.packets.store(packets & !(0xffff_ffff << shift), Relaxed);
        } else {
            self.packets.store(packets + (1 << shift), Relaxed);
        }
    }
    /// Notes the time of a packet that comes to any worker. A record is not used again before that worker's turn ends.
    #[inline(always)]
    pub(crate) fn prolong(&self, now: u32) {
        let times = self.times.load(Relaxed);
        self.times.store(times & !0xffff_ffff | u64::from(now), Relaxed);
    }
    /// Packets and bytes of a direction.
    pub fn traffic(&self, direction: Direction) -> (u64, u64) {
        let at = direction as usize;
        let packets = u64::from((self.packets.load(Relaxed) >> (32 * at)) as u32);
        (packets + (self.carry[at].load(Relaxed) << 32), self.bytes[at].load(Relaxed))
    }
    /// The part that changes with packets.
    #[inline(always)]
    pub fn status(&self) -> Status {
        Status::of_word(self.status.load(Relaxed))
    }
    /// The state of a session that has none of some flags.
    #[inline(always)]
    pub(crate) fn state_without(&self, flags: u16) -> Option<State> {
        match self.status.load(Relaxed) & (u64::from(flags) << 16 | 0xff) {
            0 => Some(State::Embryonic),
            1 => Some(State::Established),
            2 => Some(State::TimeWait),
            _ => None,
        }
    }
    /// Whether packets of the session are dropped.
    #[inline(always)]
    pub fn is_blocked(&self) -> bool {
        self.status.load(Relaxed) & u64::from(BLOCKED) << 16 != 0
    }
    /// Whether packets of the session do not simply pass its chain: some are dropped, or the router joins two halves of its connection.
    #[inline(always)]
    pub(crate) fn is_odd(&self) -> bool {
        self.status.load(Relaxed) & u64::from(BLOCKED | PROXIED | REFUSED) << 16 != 0
    }
    /// Sets the part that changes with packets; for the owner.
    #[inline(always)]
    pub fn set_status(&self, status: Status) {
        self.status.store(status.to_word(), Relaxed);
    }
    /// Changes that part, of a session whose packets any worker may have. Returns what it was if it has changed.
    #[inline(always)]
    pub(crate) fn change(&self, change: impl Fn(Status) -> Status) -> Option<Status> {
        let next = |word| Some(change(Status::of_word(word)).to_word()).filter(|next| *next != word);
        self.status.fetch_update(Relaxed, Relaxed, next).ok().map(Status::of_word)
    }
    /// Ticks when the last packet came.
    pub fn last_seen(&self) -> u32 {
        self.times.load(Relaxed) as u32
    }
    /// Ticks when the session began.
    pub fn begun(&self) -> u32 {
        (self.times.load(Relaxed) >> 32) as u32
    }
    /// The sequence number behind the FIN of a direction (RFC 9293, 3.4).
    pub fn end_of(&self, direction: Direction) -> u32 {
        (self.ends.load(Relaxed) >> (32 * direction as u32)) as u32
    }
    /// Sets it; for the owner.
    pub fn set_end_of(&self, direction: Direction, number: u32) {
        let shift = 32 * direction as u32;
        let others = self.ends.load(Relaxed) & !(0xffff_ffff << shift);
        self.ends.store(others | u64::from(number) << shift, Relaxed);
    }
}

/// The records of a worker, by index: in address space of their own, whose huge pages get memory as sessions come, and keep it.
pub struct Records(Cells<Record>);

impl Records {
    /// No record yet; at most [`OWNED_MAX`].
    ///
    /// # Errors
    /// If the system refuses the address space.
    pub(crate) fn new(most: usize) -> io::Result<Records> {
        Ok(Records(Cells::reserve(most.min(OWNED_MAX), true)?))
    }
    /// A record that has been allocated.
    #[inline(always)]
    pub fn get(&self, index: u32) -> Option<&Record> {
        self.0.get(index as usize)
    }
    /// The same; allocates it. None beyond the last one, or if the system has no memory; for the owner.
    pub(crate) fn allocate(&self, index: u32) -> Option<&Record> {
        self.0.obtain(index as usize)
    }
    /// Records that are allocated: they have the lowest indexes.
    pub fn allocated(&self) -> u32 {
        self.0.usable() as u32
    }
    /// Bytes of the allocated records.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::End;
    use quiver_wire::IpProtocol;

    const LOW: End = End { address: 1, port: 2 };
    const HIGH: End = End { address: 1 << 30 | 3, port: 4 };

    fn key(format: Format) -> Key {
        Key::new((LOW, HIGH), 5, (IpProtocol(6), format)).0
    }

    #[test]
    fn a_record_keeps_its_key_and_generations_differ() {
        for format in [Format::IP4, Format::IP6] {
            let (record, key) = (Record::default(), key(format));
            assert_eq!((record.key(), record.is(&key, 9)), (None, false));
            record.begin(&key, 9, (7, true), 100);
            assert_eq!((record.key(), record.is(&key, 9)), (Some(key), true));
            let identity = record.identity();
            assert_eq!((identity.tenant(), identity.is_from_high(), identity.generation()), (7, true, 1));
            for (ends, context, protocol) in [
                ((End { address: 2, ..LOW }, HIGH), 5, 6),
                ((LOW, End { port: 5, ..HIGH }), 5, 6),
                ((LOW, HIGH), 6, 6),
                ((LOW, HIGH), 5, 17),
            ] {
                let (other, _) = Key::new(ends, context, (IpProtocol(protocol), format));
                assert!(!record.is(&other, 9), "{other:?}");
            }
            record.end();
            assert_eq!((record.key(), record.is(&key, 9)), (None, false));
            record.begin(&key, 9, (8, false), 200);
            assert_eq!((record.identity().generation(), record.begun()), (2, 200));
        }
    }

    #[test]
    fn a_generation_comes_round_and_leaves_other_fields_alone() {
        let (record, key) = (Record::default(), key(Format::IP4));
        record.identity.store(u64::from(GENERATION) << 32, Relaxed);
        record.begin(&key, 0, (0xffff, true), 0);
        let identity = record.identity();
        assert_eq!((identity.generation(), identity.tenant(), identity.is_live()), (0, 0xffff, true));
        assert!(record.is(&key, 0));
    }

    #[test]
    fn packets_are_counted_beyond_32_bits() {
        let record = Record::default();
        record.begin(&key(Format::IP4), 0, (0, false), 0);
        record.packets.store(u64::from(u32::MAX) | 5 << 32, Relaxed);
        record.touch(Direction::Forward, 100, 7);
        record.touch(Direction::Forward, 100, 8);
        record.touch(Direction::Reverse, 50, 9);
        assert_eq!(record.traffic(Direction::Forward), ((1 << 32) + 1, 200));
        assert_eq!(record.traffic(Direction::Reverse), (6, 50));
        assert_eq!((record.last_seen(), record.begun()), (9, 0));
    }

    #[test]
    fn status_and_ends_are_kept() {
        let record = Record::default();
        let status = Status { state: State::TimeWait, timeout: 7, flags: BLOCKED | 1, fields: 0x8000_0001 };
        record.set_status(status);
        assert_eq!(record.status(), status);
        record.set_end_of(Direction::Forward, 1);
        record.set_end_of(Direction::Reverse, u32::MAX);
        record.set_end_of(Direction::Forward, 2);
        assert_eq!(Direction::ALL.map(|direction| record.end_of(direction)), [2, u32::MAX]);
    }
}
