//! Questions and reports (RFC 3810, 5; RFC 2710, 3).

use std::net::Ipv6Addr;
use std::time::Duration;

use quiver_wire::nd::{ALL_MLD2_ROUTERS, ALL_ROUTERS};
use quiver_wire::{Header, Icmp6Type, Ip6Header, icmp6};
use zerocopy::IntoBytes;

/// The option that has routers look at a packet (RFC 2711, 2.1): its type, and the header with it, for messages of MLD.
pub const ROUTER_ALERT: u8 = 5;
const HOP_BY_HOP: [u8; 8] = [58, 0, ROUTER_ALERT, 2, 0, 0, 1, 0];
/// Bytes of a record without sources (RFC 3810, 5.2).
const RECORD: usize = 20;
/// Bytes before the records: IP header, options, and the beginning of a report.
const BEFORE_RECORDS: usize = Ip6Header::LENGTH + HOP_BY_HOP.len() + 8;

/// A query of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The queried group; none is a general query.
    pub group: Option<Ipv6Addr>,
    /// The queried sources of the group; none stands for all.
    pub sources: Vec<Ipv6Addr>,
    /// Longest delay of reports.
    pub within: Duration,
    /// Whether it is of MLDv1, whose routers do not understand MLDv2 reports (RFC 3810, 8.2.1).
    pub is_first_version: bool,
}

impl Question {
    /// Reads the message behind the IP headers. None if it is too short.
    pub fn parse(message: &[u8]) -> Option<Question> {
        let code = u16::from_be_bytes(*message.get(4..)?.first_chunk()?);
        let group = Ipv6Addr::from(*message.get(8..)?.first_chunk::<16>()?);
        let group = Some(group).filter(|group| !group.is_unspecified());
        // RFC 3810, 8.1: the first version's are 24 bytes long, and the second's 28 at least.
        let Some(rest) = message.get(24..).filter(|rest| !rest.is_empty()) else {
            let within = Duration::from_millis(code.into());
            return Some(Question { group, sources: vec![], within, is_first_version: true });
        };
        let count = u16::from_be_bytes(*rest.get(2..)?.first_chunk()?);
        let sources = rest.get(4..)?.get(..usize::from(count) * 16)?;
        let sources = sources.chunks_exact(16).filter_map(|source| Some(Ipv6Addr::from(*source.first_chunk::<16>()?)));
        Some(Question { group, sources: sources.collect(), within: delay(code), is_first_version: false })
    }
}

/// Longest delay of reports (RFC 3810, 5.1.3): from 32,768 on, the code is a floating-point number of milliseconds.
fn delay(code: u16) -> Duration {
    let (exponent, mantissa) = (code >> 12 & 7, code & 0xfff);
    let ms = if code < 0x8000 { u32::from(code) } else { u32::from(mantissa | 0x1000) << (exponent + 3) };
    Duration::from_millis(ms.into())
}

/// Type of a group record (RFC 3810, 5.2.12). An interface listens to all sources of its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// It listens to these senders.
    Include = 1,
    /// It listens to all senders but these.
    Exclude = 2,
    /// It listens no more.
    ToInclude = 3,
    /// It listens from now on.
    ToExclude = 4,
}

/// A record of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Type of the record.
    pub kind: RecordKind,
    /// The group.
    pub group: Ipv6Addr,
    /// The senders.
    pub sources: Vec<Ipv6Addr>,
}

impl Record {
    /// A record that names no senders.
    pub fn new(kind: RecordKind, group: Ipv6Addr) -> Record {
        Record { kind, group, sources: vec![] }
    }
    fn length(&self) -> usize {
        RECORD + 16 * self.sources.len()
    }
    fn write(&self, out: &mut Vec<u8>) {
        let count = u16::try_from(self.sources.len()).unwrap_or(u16::MAX);
        out.extend([self.kind as u8, 0]);
        out.extend(count.to_be_bytes());
        out.extend(self.group.octets());
        self.sources.iter().take(count.into()).for_each(|source| out.extend(source.octets()));
    }
}

/// A packet behind the link's header, and the group that it is for.
pub type Sent = (Ipv6Addr, Vec<u8>);

/// Reports of the second version, from `source`, each of at most `mtu` bytes.
pub fn reports(source: Ipv6Addr, records: &[Record], mtu: usize) -> Vec<Sent> {
    let (mut all, mut body, mut count) = (vec![], vec![], 0u16);
    for record in records {
        if count > 0 && BEFORE_RECORDS + body.len() + record.length() > mtu {
            all.push(report(source, count, &std::mem::take(&mut body)));
            count = 0;
        }
        record.write(&mut body);
        count += 1;
    }
    if count > 0 {
        all.push(report(source, count, &body));
    }
    all
}

fn report(source: Ipv6Addr, count: u16, records: &[u8]) -> Sent {
    let message = [&[Icmp6Type::MLD2_REPORT.0, 0, 0, 0, 0, 0][..], &count.to_be_bytes(), records].concat();
    (ALL_MLD2_ROUTERS, packet(source, ALL_MLD2_ROUTERS, message))
}

/// MLDv1 report or done message for a group (RFC 2710, 3 and 4).
pub fn of_first_version(source: Ipv6Addr, group: Ipv6Addr, listens: bool) -> Sent {
    let (kind, to) = if listens { (Icmp6Type::MLD_REPORT, group) } else { (Icmp6Type::MLD_DONE, ALL_ROUTERS) };
    let message = [&[kind.0, 0, 0, 0, 0, 0, 0, 0][..], &group.octets()].concat();
    (to, packet(source, to, message))
}

/// A message behind its IP headers, with its checksum. It goes no further than its link (RFC 3810, 5).
fn packet(source: Ipv6Addr, to: Ipv6Addr, mut message: Vec<u8>) -> Vec<u8> {
    const CHECKSUM: usize = 2;
    let sum = icmp6::pseudo_header(source, to, message.len()).add_bytes(&message).checksum();
    if let Some(place) = message.get_mut(CHECKSUM..).and_then(|rest| rest.first_chunk_mut()) {
        *place = sum.to_be_bytes();
    }
    let length = HOP_BY_HOP.len() + message.len();
    let header = Ip6Header::new(source, to, quiver_wire::ip6::extension::HOP_BY_HOP, 1, length);
    header.map(|header| [header.as_bytes(), &HOP_BY_HOP, &message].concat()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    const GROUP: Ipv6Addr = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 7);

    #[test]
    fn questions_say_their_version_and_how_long_answers_may_wait() {
        let first = [&[130, 0, 0, 0, 0x03, 0xe8, 0, 0][..], &GROUP.octets()].concat();
        let wanted =
            Question { group: Some(GROUP), sources: vec![], within: Duration::from_secs(1), is_first_version: true };
        assert_eq!(Question::parse(&first), Some(wanted.clone()));
        let second = [&first[..], &[2, 125, 0, 1], &OWN.octets()].concat();
        assert_eq!(Question::parse(&second), Some(Question { sources: vec![OWN], is_first_version: false, ..wanted }));
        for end in (0..24).chain(25..second.len()) {
            assert_eq!(Question::parse(&second[..end]), None, "{end}");
        }
        // RFC 3810, 5.1.3: (mantissa | 0x1000) << (exponent + 3).
        assert_eq!((delay(0x7fff).as_millis(), delay(0x8000).as_millis()), (32_767, 32_768));
        assert_eq!(delay(0xffff).as_millis(), 8_387_584);
    }

    #[test]
    fn reports_are_as_long_as_the_link_takes() {
        let groups = (0..100).map(|n| Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, n));
        let records: Vec<_> = groups.map(|group| Record::new(RecordKind::ToExclude, group)).collect();
        let all = reports(OWN, &records, 1280);
        let lengths: Vec<_> = all.iter().map(|(_, packet)| packet.len()).collect();
        assert_eq!(lengths, [56 + 61 * 20, 56 + 39 * 20]);
        for (to, packet) in &all {
            assert_eq!((*to, packet[6], packet[7], packet[48]), (ALL_MLD2_ROUTERS, 0, 1, 143));
            let message = &packet[48..];
            assert!(icmp6::pseudo_header(OWN, *to, message.len()).add_bytes(message).is_right());
        }
        assert_eq!(reports(OWN, &[], 1280), []);
    }
}
