//! An event of a session, and the words in which it lies in the ring.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Words of an event in the ring.
pub const WORDS: usize = 16;
/// Ticks of a second: the unit of all times of events.
pub const TICKS: u32 = 100;

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A session has begun.
    Created = 1,
    /// Both ends have sent packets; of TCP, the handshake is complete.
    Established = 2,
    /// A session lives on: its counters so far.
    Updated = 3,
    /// A session has ended.
    Closed = 4,
    /// A packet would have begun a session, and was dropped.
    Denied = 5,
    /// A session has been given its translation.
    Translated = 6,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 6] =
        [Kind::Created, Kind::Established, Kind::Updated, Kind::Closed, Kind::Denied, Kind::Translated];

    fn of(number: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
    /// Name in exports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Created => "created",
            Kind::Established => "established",
            Kind::Updated => "updated",
            Kind::Closed => "closed",
            Kind::Denied => "denied",
            Kind::Translated => "translated",
        }
    }
}

/// Reason of an end or a denial. Those of denials are the last ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// Other events have none.
    #[default]
    None = 0,
    /// No packet came for the time of the timeout.
    Timeout = 1,
    /// The ends have closed the connection, or one has reset it.
    Finished = 2,
    /// The table was full, and the session gave way to a new one.
    Evicted = 3,
    /// Ended by a command, a request, or a change of the configuration of NAT or access lists.
    Cleared = 4,
    /// Its tenant was deleted, or has another context now.
    Tenant = 5,
    /// The room that began it could not complete it: its translation was taken.
    Incomplete = 6,
    /// Denied: the table is full.
    TableFull = 7,
    /// Denied: the tenant has as many sessions as it may have, or the worker.
    Quota = 8,
    /// Denied: no port is left for a translation.
    OutOfPorts = 9,
    /// Denied: another session has the tuple that a translation would give.
    TupleInUse = 10,
    /// Denied: the source has as many sessions of the tenant as it may have.
    SourceQuota = 11,
    /// Denied: the tenant's chain drops the packet, or ends without a service that forwards it. Of an end: a service of the chain has
    /// refused the session.
    Policy = 12,
    /// Denied: the first packet of a TCP connection is no SYN.
    NoSyn = 13,
    /// Denied: an access list of the tenant does not permit the packet.
    AccessList = 14,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 15] = [
        Reason::None,
        Reason::Timeout,
        Reason::Finished,
        Reason::Evicted,
        Reason::Cleared,
        Reason::Tenant,
        Reason::Incomplete,
        Reason::TableFull,
        Reason::Quota,
        Reason::OutOfPorts,
        Reason::TupleInUse,
        Reason::SourceQuota,
        Reason::Policy,
        Reason::NoSyn,
        Reason::AccessList,
    ];

    fn of(number: u8) -> Reason {
        Reason::ALL.into_iter().find(|reason| *reason as u8 == number).unwrap_or_default()
    }
    /// Whether it is a denial's.
    pub fn is_denial(self) -> bool {
        self as u8 >= Reason::TableFull as u8
    }
    /// Name in exports; None of events without a reason.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Reason::None => return None,
            Reason::Timeout => "timeout",
            Reason::Finished => "finished",
            Reason::Evicted => "evicted",
            Reason::Cleared => "cleared",
            Reason::Tenant => "tenant",
            Reason::Incomplete => "incomplete",
            Reason::TableFull => "table-full",
            Reason::Quota => "quota",
            Reason::OutOfPorts => "out-of-ports",
            Reason::TupleInUse => "tuple-in-use",
            Reason::SourceQuota => "source-quota",
            Reason::Policy => "policy",
            Reason::NoSyn => "no-syn",
            Reason::AccessList => "access-list",
        })
    }
}

/// Address and port of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Address; an IPv4 address is the lower 32 bits.
    pub address: u128,
    /// Port of TCP or UDP, the identifier of an ICMP echo, or, of access lists' sessions, ICMP type and code.
    pub port: u16,
}

/// IPv4 address and port of an end behind a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip4End {
    /// Address.
    pub address: Ipv4Addr,
    /// Port, or the identifier of an ICMP echo.
    pub port: u16,
}

/// Translation of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Whether the host on the inside is the initiator.
    pub is_outbound: bool,
    /// The host on the inside, as the outside sees it.
    pub outside: Ip4End,
    /// The other end, as the outside sees it.
    pub peer: Ip4End,
}

/// An event. Times are ticks of the worker's clock, which come round after 497 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Kind.
    pub kind: Kind,
    /// Reason of an end or a denial.
    pub reason: Reason,
    /// Id of the session, as `show session` has it; 0 of a denial.
    pub session: u64,
    /// Number of the tenant.
    pub tenant: u32,
    /// Context of the tenant's sessions.
    pub context: u32,
    /// IP protocol number.
    pub protocol: u8,
    /// Whether addresses are those of IPv6.
    pub is_ip6: bool,
    /// Initiator and responder.
    pub ends: [End; 2],
    /// Time of the event.
    pub time: u32,
    /// Begin of the session.
    pub begun: u32,
    /// Time of its last packet.
    pub last: u32,
    /// Packets of the initiator and of the responder.
    pub packets: [u64; 2],
    /// Their bytes, from the IP header on.
    pub bytes: [u64; 2],
    /// Translation, of sessions that have one.
    pub translation: Option<Translation>,
}

const IS_IP6: u64 = 1 << 24;
const IS_TRANSLATED: u64 = 1 << 25;
const IS_OUTBOUND: u64 = 1 << 26;

impl Event {
    /// The event in words; the last one is for the ring.
    pub fn words(&self) -> [u64; WORDS] {
        let flag = |is: bool, flag: u64| if is { flag } else { 0 };
        let translation = self.translation.unwrap_or(Translation {
            is_outbound: false,
            outside: Ip4End { address: Ipv4Addr::UNSPECIFIED, port: 0 },
            peer: Ip4End { address: Ipv4Addr::UNSPECIFIED, port: 0 },
        });
        let flags = flag(self.is_ip6, IS_IP6)
            | flag(self.translation.is_some(), IS_TRANSLATED)
            | flag(translation.is_outbound, IS_OUTBOUND);
        let [from, to] = self.ends;
        let (outside, peer) = (translation.outside, translation.peer);
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let ports = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        [
            self.kind as u64 | (self.reason as u64) << 8 | u64::from(self.protocol) << 16 | flags,
            self.session,
            pair(self.tenant, self.context),
            pair(self.time, self.begun),
            pair(self.last, ports(from.port, to.port)),
            (from.address >> 64) as u64,
            from.address as u64,
            (to.address >> 64) as u64,
            to.address as u64,
            self.packets[0],
            self.packets[1],
            self.bytes[0],
            self.bytes[1],
            pair(outside.address.to_bits(), peer.address.to_bits()),
            pair(ports(outside.port, peer.port), 0),
            0,
        ]
    }
    /// The event of words; None of an unknown kind.
    pub fn of(words: &[u64; WORDS]) -> Option<Event> {
        let high = |word: u64| (word >> 32) as u32;
        let ports = |ports: u32| [(ports >> 16) as u16, ports as u16];
        let address = |at: usize| u128::from(words[at]) << 64 | u128::from(words[at + 1]);
        let [from, to] = ports(words[4] as u32);
        let [outside, peer] = ports(high(words[14]));
        let translation = (words[0] & IS_TRANSLATED != 0).then(|| Translation {
            is_outbound: words[0] & IS_OUTBOUND != 0,
            outside: Ip4End { address: Ipv4Addr::from_bits(high(words[13])), port: outside },
            peer: Ip4End { address: Ipv4Addr::from_bits(words[13] as u32), port: peer },
        });
        Some(Event {
            kind: Kind::of(words[0] as u8)?,
            reason: Reason::of((words[0] >> 8) as u8),
            session: words[1],
            tenant: high(words[2]),
            context: words[2] as u32,
            protocol: (words[0] >> 16) as u8,
            is_ip6: words[0] & IS_IP6 != 0,
            ends: [End { address: address(5), port: from }, End { address: address(7), port: to }],
            time: high(words[3]),
            begun: words[3] as u32,
            last: high(words[4]),
            packets: [words[9], words[10]],
            bytes: [words[11], words[12]],
            translation,
        })
    }
    /// Address of the initiator (0) or the responder (1).
    pub fn address(&self, end: usize) -> IpAddr {
        let address = self.ends[end].address;
        if self.is_ip6 { Ipv6Addr::from_bits(address).into() } else { Ipv4Addr::from_bits(address as u32).into() }
    }
    /// The end on the inside: 0 the initiator, 1 the responder. None of sessions that are not translated.
    pub fn inside(&self) -> Option<usize> {
        self.translation.map(|translation| usize::from(!translation.is_outbound))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A random event.
    pub(crate) fn event(random: &mut fastrand::Rng) -> Event {
        let is_ip6 = random.bool();
        let mut end =
            || End { address: if is_ip6 { random.u128(..) } else { random.u32(..).into() }, port: random.u16(..) };
        let ends = [end(), end()];
        let mut ip4_end = || Ip4End { address: Ipv4Addr::from_bits(random.u32(..)), port: random.u16(..) };
        let (outside, peer) = (ip4_end(), ip4_end());
        let translation = (!is_ip6 && random.bool()).then(|| Translation { is_outbound: random.bool(), outside, peer });
        Event {
            kind: Kind::ALL[random.usize(..Kind::ALL.len())],
            reason: Reason::ALL[random.usize(..Reason::ALL.len())],
            session: random.u64(..),
            tenant: random.u32(..),
            context: random.u32(..),
            protocol: random.u8(..),
            is_ip6,
            ends,
            time: random.u32(..),
            begun: random.u32(..),
            last: random.u32(..),
            packets: [random.u64(..), random.u64(..)],
            bytes: [random.u64(..), random.u64(..)],
            translation,
        }
    }

    #[test]
    fn words_keep_every_field() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let event = event(&mut random);
            assert_eq!(Event::of(&event.words()), Some(event));
        }
    }

    #[test]
    fn words_of_no_kind_are_no_event() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut words = event(&mut random).words();
        for kind in (0..=255).filter(|kind| !(1..=6).contains(kind)) {
            words[0] = words[0] & !0xff | kind;
            assert_eq!(Event::of(&words), None, "{kind}");
        }
    }
}
