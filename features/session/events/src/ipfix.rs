//! IPFIX (RFC 7011): biflows (RFC 5103), NAT events (RFC 8158), denied flows, and the number of lost events.
//!
//! There is no template for sessions that begin: a biflow is sent when it ends, and when it is updated. NAT events are sent for both.

use crate::event::{Event, Kind, Reason};
use crate::output::{Encoder, Ready};
use crate::reader::Stamped;

/// Bytes of a message: fits Ethernet's MTU behind IPv6 and UDP, with room for tunnels (RFC 7011, 10.3.3).
const MESSAGE_MAX: usize = 1400;
/// Milliseconds after which templates are sent again: collectors may have missed them (RFC 7011, 8.4).
const TEMPLATES_EVERY_MS: u64 = 30_000;
/// Enterprise number of reverse elements (RFC 5103, 6.1).
const REVERSE: u32 = 29_305;
/// Process that a statistics record is about; there is one.
const PROCESS: u32 = 1;

/// An information element: number and bytes. Reverse ones have an enterprise number.
type Element = (u16, u16, bool);

/// A template: number and elements.
struct Template {
    id: u16,
    elements: &'static [Element],
}

/// Elements, by the names that IANA has registered.
mod ie {
    use super::Element;
    pub const PROTOCOL: Element = (4, 1, false);
    pub const SOURCE_PORT: Element = (7, 2, false);
    pub const SOURCE_IP4: Element = (8, 4, false);
    pub const DESTINATION_PORT: Element = (11, 2, false);
    pub const DESTINATION_IP4: Element = (12, 4, false);
    pub const SOURCE_IP6: Element = (27, 16, false);
    pub const DESTINATION_IP6: Element = (28, 16, false);
    pub const OCTETS: Element = (85, 8, false);
    pub const PACKETS: Element = (86, 8, false);
    pub const REVERSE_OCTETS: Element = (85, 8, true);
    pub const REVERSE_PACKETS: Element = (86, 8, true);
    pub const END_REASON: Element = (136, 1, false);
    pub const EXPORTING_PROCESS: Element = (144, 4, false);
    pub const FLOW_ID: Element = (148, 8, false);
    pub const START: Element = (152, 8, false);
    pub const END: Element = (153, 8, false);
    pub const NOT_SENT_FLOWS: Element = (166, 8, false);
    pub const POST_NAT_SOURCE_IP4: Element = (225, 4, false);
    pub const POST_NAT_DESTINATION_IP4: Element = (226, 4, false);
    pub const POST_NAPT_SOURCE_PORT: Element = (227, 2, false);
    pub const POST_NAPT_DESTINATION_PORT: Element = (228, 2, false);
    pub const NAT_EVENT: Element = (230, 1, false);
    pub const FIREWALL_EVENT: Element = (233, 1, false);
    pub const INGRESS_VRF: Element = (234, 4, false);
    pub const BIFLOW_DIRECTION: Element = (239, 1, false);
    pub const OBSERVATION_TIME: Element = (323, 8, false);
}

/// A biflow: the elements behind its addresses.
macro_rules! biflow {
    ($source:expr, $destination:expr) => {
        &[
            $source,
            $destination,
            ie::SOURCE_PORT,
            ie::DESTINATION_PORT,
            ie::PROTOCOL,
            ie::BIFLOW_DIRECTION,
            ie::END_REASON,
            ie::INGRESS_VRF,
            ie::FLOW_ID,
            ie::START,
            ie::END,
            ie::OCTETS,
            ie::PACKETS,
            ie::REVERSE_OCTETS,
            ie::REVERSE_PACKETS,
        ]
    };
}

/// A denied flow.
macro_rules! denied {
    ($source:expr, $destination:expr) => {
        &[
            $source,
            $destination,
            ie::SOURCE_PORT,
            ie::DESTINATION_PORT,
            ie::PROTOCOL,
            ie::FIREWALL_EVENT,
            ie::INGRESS_VRF,
            ie::OBSERVATION_TIME,
        ]
    };
}

const BIFLOW_IP4: Template = Template { id: 256, elements: biflow!(ie::SOURCE_IP4, ie::DESTINATION_IP4) };
const BIFLOW_IP6: Template = Template { id: 257, elements: biflow!(ie::SOURCE_IP6, ie::DESTINATION_IP6) };
/// NAT44 session create and delete events (RFC 8158).
const NAT44: Template = Template {
    id: 258,
    elements: &[
        ie::OBSERVATION_TIME,
        ie::NAT_EVENT,
        ie::PROTOCOL,
        ie::SOURCE_IP4,
        ie::SOURCE_PORT,
        ie::DESTINATION_IP4,
        ie::DESTINATION_PORT,
        ie::POST_NAT_SOURCE_IP4,
        ie::POST_NAPT_SOURCE_PORT,
        ie::POST_NAT_DESTINATION_IP4,
        ie::POST_NAPT_DESTINATION_PORT,
        ie::FLOW_ID,
    ],
};
const DENIED_IP4: Template = Template { id: 259, elements: denied!(ie::SOURCE_IP4, ie::DESTINATION_IP4) };
const DENIED_IP6: Template = Template { id: 260, elements: denied!(ie::SOURCE_IP6, ie::DESTINATION_IP6) };
/// RFC 7011, 4.3: the Exporting Process Reliability Statistics, as far as they are known.
const LOST: Template = Template { id: 261, elements: &[ie::EXPORTING_PROCESS, ie::NOT_SENT_FLOWS] };

const TEMPLATES: [&Template; 5] = [&BIFLOW_IP4, &BIFLOW_IP6, &NAT44, &DENIED_IP4, &DENIED_IP6];

/// Values of natEvent (RFC 8158).
const NAT44_SESSION_CREATE: u8 = 4;
const NAT44_SESSION_DELETE: u8 = 5;
/// Value of firewallEvent: flow denied.
const FLOW_DENIED: u8 = 3;
/// Value of biflowDirection (RFC 5103, 6.3): the source is the initiator.
const INITIATOR: u8 = 1;

/// flowEndReason (RFC 5102, 5.11.3).
fn end_reason(event: &Event) -> u8 {
    match (event.kind, event.reason) {
        (Kind::Updated, _) => 2,
        (_, Reason::Finished) => 3,
        (_, Reason::Cleared | Reason::Tenant | Reason::Incomplete) | (Kind::Closed, Reason::Policy) => 4,
        (_, Reason::Evicted | Reason::TableFull | Reason::Quota | Reason::SourceQuota) => 5,
        _ => 1,
    }
}

/// Encodes events as IPFIX messages, which datagrams carry.
pub struct Ipfix {
    /// Observation domain.
    domain: u32,
    /// Data records that were sent in this domain (RFC 7011, 3.1).
    sequence: u32,
    /// The message that is being written; empty, or with a header.
    message: Vec<u8>,
    /// Where its last set begins, and the number of that set's template.
    set: Option<(usize, u16)>,
    /// Data records in it.
    records: u32,
    /// The time, and the time when templates were sent last, in milliseconds since 1970.
    now: u64,
    templates: Option<u64>,
    /// Events that were lost, as sent last.
    lost: u64,
    has_new_lost: bool,
}

impl Ipfix {
    /// Messages of an observation domain.
    pub fn new(domain: u32) -> Ipfix {
        Ipfix {
            domain,
            sequence: 0,
            message: vec![],
            set: None,
            records: 0,
            now: 0,
            templates: None,
            lost: 0,
            has_new_lost: false,
        }
    }
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.message.extend_from_slice(&bytes);
    }
    /// Begins a record of a template's set, so many bytes long.
    fn begin_record(&mut self, id: u16, length: usize, ready: Ready<'_>) {
        const HEADERS: usize = 4;
        if self.message.len() + HEADERS + length > MESSAGE_MAX {
            self.finish(ready);
        }
        if self.message.is_empty() {
            // RFC 7011, 3.1: version 10; length and time are set at the end.
            self.put([0, 10, 0, 0, 0, 0, 0, 0]);
            self.put(self.sequence.to_be_bytes());
            self.put(self.domain.to_be_bytes());
        }
        if self.set.is_none_or(|(_, of)| of != id) {
            self.end_set();
            self.set = Some((self.message.len(), id));
            self.put(id.to_be_bytes());
            self.put([0, 0]);
        }
    }
    fn end_set(&mut self) {
        if let Some((at, _)) = self.set.take() {
            let length = (self.message.len() - at) as u16;
            self.message[at + 2..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
    fn finish(&mut self, ready: Ready<'_>) {
        self.end_set();
        if self.message.is_empty() {
            return;
        }
        let length = (self.message.len() as u16).to_be_bytes();
        let seconds = ((self.now / 1000) as u32).to_be_bytes();
        self.message[2..4].copy_from_slice(&length);
        self.message[4..8].copy_from_slice(&seconds);
        ready(&self.message, self.records.into());
        self.sequence = self.sequence.wrapping_add(self.records);
        self.message.clear();
        self.records = 0;
    }
    fn begin_data(&mut self, template: &Template, ready: Ready<'_>) {
        let length = template.elements.iter().map(|(_, bytes, _)| usize::from(*bytes)).sum();
        self.begin_record(template.id, length, ready);
        self.records += 1;
    }
    fn put_elements(&mut self, elements: &[Element]) {
        for (number, bytes, is_reverse) in elements {
            let number = if *is_reverse { number | 1 << 15 } else { *number };
            self.put(number.to_be_bytes());
            self.put(bytes.to_be_bytes());
            if *is_reverse {
                self.put(REVERSE.to_be_bytes());
            }
        }
    }
    /// All templates, in a message of their own (RFC 7011, 3.4).
    fn put_templates(&mut self, ready: Ready<'_>) {
        /// Numbers of sets of templates and of options templates (RFC 7011, 3.3.2).
        const SET: u16 = 2;
        const OPTIONS_SET: u16 = 3;
        self.finish(ready);
        for Template { id, elements } in TEMPLATES {
            self.begin_record(SET, 4 + elements.len() * 8, ready);
            self.put(id.to_be_bytes());
            self.put((elements.len() as u16).to_be_bytes());
            self.put_elements(elements);
        }
        self.begin_record(OPTIONS_SET, 64, ready);
        self.put(LOST.id.to_be_bytes());
        // Its scope is its first element.
        self.put([0, 2, 0, 1]);
        self.put_elements(LOST.elements);
        self.finish(ready);
    }
    fn put_lost(&mut self, ready: Ready<'_>) {
        self.has_new_lost = false;
        self.begin_data(&LOST, ready);
        self.put(PROCESS.to_be_bytes());
        self.put(self.lost.to_be_bytes());
    }
    fn put_address(&mut self, event: &Event, end: usize) {
        let address = event.ends[end].address;
        match event.is_ip6 {
            true => self.put(address.to_be_bytes()),
            false => self.put((address as u32).to_be_bytes()),
        }
    }
    fn put_ends(&mut self, event: &Event) {
        self.put_address(event, 0);
        self.put_address(event, 1);
        self.put(event.ends[0].port.to_be_bytes());
        self.put(event.ends[1].port.to_be_bytes());
        self.put([event.protocol]);
    }
    fn put_biflow(&mut self, stamped: &Stamped, ready: Ready<'_>) {
        let event = &stamped.event;
        self.begin_data(if event.is_ip6 { &BIFLOW_IP6 } else { &BIFLOW_IP4 }, ready);
        self.put_ends(event);
        self.put([INITIATOR, end_reason(event)]);
        self.put(event.tenant.to_be_bytes());
        for value in [event.session, stamped.begun, stamped.last] {
            self.put(value.to_be_bytes());
        }
        for direction in 0..2 {
            self.put(event.bytes[direction].to_be_bytes());
            self.put(event.packets[direction].to_be_bytes());
        }
    }
    fn put_denied(&mut self, stamped: &Stamped, ready: Ready<'_>) {
        let event = &stamped.event;
        self.begin_data(if event.is_ip6 { &DENIED_IP6 } else { &DENIED_IP4 }, ready);
        self.put_ends(event);
        self.put([FLOW_DENIED]);
        self.put(event.tenant.to_be_bytes());
        self.put(stamped.time.to_be_bytes());
    }
    /// The NAT event of a translated session. As in RFC 8158, the source is the host on the inside.
    fn put_nat(&mut self, stamped: &Stamped, nat_event: u8, ready: Ready<'_>) {
        let event = &stamped.event;
        let Some((translation, inside)) = event.translation.zip(event.inside()).filter(|_| !event.is_ip6) else {
            return;
        };
        self.begin_data(&NAT44, ready);
        self.put(stamped.time.to_be_bytes());
        self.put([nat_event, event.protocol]);
        for end in [inside, 1 - inside] {
            self.put_address(event, end);
            self.put(event.ends[end].port.to_be_bytes());
        }
        for end in [translation.outside, translation.peer] {
            self.put(end.address.octets());
            self.put(end.port.to_be_bytes());
        }
        self.put(event.session.to_be_bytes());
    }
}

impl Encoder for Ipfix {
    fn event(&mut self, stamped: &Stamped, ready: Ready<'_>) {
        match stamped.event.kind {
            Kind::Closed => {
                self.put_biflow(stamped, ready);
                self.put_nat(stamped, NAT44_SESSION_DELETE, ready);
            }
            Kind::Updated => self.put_biflow(stamped, ready),
            Kind::Translated => self.put_nat(stamped, NAT44_SESSION_CREATE, ready),
            Kind::Denied => self.put_denied(stamped, ready),
            Kind::Created | Kind::Established => {}
        }
    }
    fn lost(&mut self, count: u64, _: Ready<'_>) {
        self.lost += count;
        self.has_new_lost = true;
    }
    fn begin(&mut self, now: u64, ready: Ready<'_>) {
        self.now = now;
        let is_due = self.templates.is_none_or(|last| now.abs_diff(last) >= TEMPLATES_EVERY_MS);
        if is_due {
            self.templates = Some(now);
            self.put_templates(ready);
        }
        if is_due {
            self.put_lost(ready);
        }
    }
    fn flush(&mut self, ready: Ready<'_>) {
        if self.has_new_lost {
            self.put_lost(ready);
        }
        self.finish(ready);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::event::tests::event;
    use std::collections::BTreeMap;
    use std::net::Ipv4Addr;

    /// Values of a data record, by number and enterprise of the element.
    pub(crate) type Values = BTreeMap<(u16, u32), u128>;

    /// A collector of RFC 7011: the data records of messages, by template, as values by element.
    #[derive(Default)]
    pub(crate) struct Collector {
        templates: BTreeMap<u16, Vec<(u16, usize, u32)>>,
        pub records: Vec<(u16, Values)>,
        pub sequence: Option<u32>,
    }

    fn number(bytes: &mut &[u8], length: usize) -> u128 {
        let (value, rest) = bytes.split_at(length);
        *bytes = rest;
        value.iter().fold(0, |value, byte| value << 8 | u128::from(*byte))
    }

    impl Collector {
        fn template(&mut self, bytes: &mut &[u8], is_options: bool) {
            let (id, fields) = (number(bytes, 2) as u16, number(bytes, 2));
            if is_options {
                assert_eq!(number(bytes, 2), 1);
            }
            let mut field = || {
                let (id, length) = (number(bytes, 2) as u16, number(bytes, 2) as usize);
                let enterprise = if id >> 15 == 1 { number(bytes, 4) as u32 } else { 0 };
                (id & 0x7fff, length, enterprise)
            };
            self.templates.insert(id, (0..fields).map(|_| field()).collect());
        }
        /// Takes a message; panics if it is malformed, or if its number is not the next one.
        pub fn take(&mut self, message: &[u8]) {
            assert!(message.len() <= MESSAGE_MAX);
            let bytes = &mut &*message;
            assert_eq!((number(bytes, 2), number(bytes, 2)), (10, message.len() as u128));
            let (_, sequence, _) = (number(bytes, 4), number(bytes, 4) as u32, number(bytes, 4));
            assert_eq!(sequence, *self.sequence.get_or_insert(sequence));
            let before = self.records.len();
            while !bytes.is_empty() {
                let (id, length) = (number(bytes, 2) as u16, number(bytes, 2) as usize - 4);
                let (mut set, rest) = bytes.split_at(length);
                *bytes = rest;
                while !set.is_empty() {
                    if id < 256 {
                        self.template(&mut set, id == 3);
                        continue;
                    }
                    let fields = self.templates[&id].iter();
                    let record = fields.map(|(id, length, of)| ((*id, *of), number(&mut set, *length))).collect();
                    self.records.push((id, record));
                }
            }
            self.sequence = Some(sequence.wrapping_add((self.records.len() - before) as u32));
        }
    }

    #[test]
    fn a_collector_finds_every_field_of_every_event() {
        let (mut random, mut ipfix, mut collector) = (fastrand::Rng::with_seed(1), Ipfix::new(9), Collector::default());
        ipfix.sequence = u32::MAX - 1000;
        let (mut sent, mut messages) = (vec![], 0);
        for second in 0..100 {
            let now = 1_000_000 + second * 1000;
            let mut ready = |message: &[u8], records: u64| {
                let before = collector.records.len();
                collector.take(message);
                assert_eq!(records, (collector.records.len() - before) as u64);
                messages += 1;
            };
            ipfix.begin(now, &mut ready);
            for _ in 0..random.usize(..100) {
                let stamped =
                    Stamped { event: event(&mut random), time: now, begun: random.u64(..), last: random.u64(..) };
                ipfix.event(&stamped, &mut ready);
                sent.push(stamped);
            }
            ipfix.flush(&mut ready);
        }
        assert!(messages > 150, "{messages}");
        let mut records = collector.records.iter().filter(|(id, _)| *id != LOST.id);
        for Stamped { event, time, begun, last } in &sent {
            let ports = event.ends.map(|end| u128::from(end.port));
            let addresses = event.ends.map(|end| end.address);
            let ids = if event.is_ip6 { [27, 28] } else { [8, 12] };
            if matches!(event.kind, Kind::Closed | Kind::Updated) {
                let (id, record) = records.next().expect("a biflow");
                assert_eq!(*id, if event.is_ip6 { 257 } else { 256 });
                let of = |id: u16, enterprise: u32| record[&(id, enterprise)];
                assert_eq!(ids.map(|id| of(id, 0)), addresses);
                assert_eq!([7, 11].map(|id| of(id, 0)), ports);
                assert_eq!([85, 86].map(|id| of(id, 0)), [event.bytes[0], event.packets[0]].map(u128::from));
                assert_eq!([85, 86].map(|id| of(id, 29_305)), [event.bytes[1], event.packets[1]].map(u128::from));
                assert_eq!([152, 153, 148].map(|id| of(id, 0)), [*begun, *last, event.session].map(u128::from));
                assert_eq!([4, 234].map(|id| of(id, 0)), [event.protocol.into(), event.tenant.into()]);
                assert_eq!([239, 136].map(|id| of(id, 0)), [1, end_reason(event).into()]);
            }
            let nat_event = match event.kind {
                Kind::Translated => Some(4),
                Kind::Closed => Some(5),
                _ => None,
            };
            if let Some((translation, nat_event)) = event.translation.zip(nat_event) {
                let (id, record) = records.next().expect("a NAT event");
                let of = |id: u16| record[&(id, 0)];
                let inside = usize::from(!translation.is_outbound);
                assert_eq!((*id, of(230), of(323)), (258, nat_event, u128::from(*time)));
                assert_eq!([8, 12].map(of), [addresses[inside], addresses[1 - inside]]);
                assert_eq!([7, 11].map(of), [ports[inside], ports[1 - inside]]);
                let behind = [translation.outside, translation.peer];
                assert_eq!([225, 226].map(of), behind.map(|end| end.address.to_bits().into()));
                assert_eq!([227, 228].map(of), behind.map(|end| end.port.into()));
            }
            if event.kind == Kind::Denied {
                let (id, record) = records.next().expect("a denied flow");
                let of = |id: u16| record[&(id, 0)];
                assert_eq!((*id, of(233)), (if event.is_ip6 { 260 } else { 259 }, 3));
                assert_eq!((ids.map(of), [7, 11].map(of), of(323)), (addresses, ports, u128::from(*time)));
            }
        }
        assert!(records.next().is_none());
    }

    #[test]
    fn templates_and_the_number_of_lost_events_are_sent_again() {
        let (mut ipfix, mut messages) = (Ipfix::new(0), vec![]);
        let mut collector = Collector::default();
        for (now, lost) in [(0, 0), (10, 5), (20, 0), (29_999, 0), (30_000, 2), (30_001, 0)] {
            let mut ready = |message: &[u8], _: u64| messages.push(message.to_vec());
            if lost > 0 {
                ipfix.lost(lost, &mut ready);
            }
            ipfix.begin(now, &mut ready);
            ipfix.flush(&mut ready);
        }
        let has_templates = |message: &&Vec<u8>| message[16..18] == [0, 2];
        assert_eq!((messages.iter().filter(has_templates).count(), messages.len()), (2, 5));
        messages.iter().for_each(|message| collector.take(message));
        let lost: Vec<_> = collector.records.iter().map(|(id, record)| (*id, record[&(166, 0)])).collect();
        assert_eq!(lost, [(261, 0), (261, 5), (261, 7)]);
    }

    #[test]
    fn a_nat_event_has_the_inside_as_its_source() {
        use crate::event::{End, Ip4End, Translation};
        let mut random = fastrand::Rng::with_seed(2);
        let end = |last: u8| End { address: Ipv4Addr::new(10, 0, 0, last).to_bits().into(), port: last.into() };
        let ip4_end = |last: u8| Ip4End { address: Ipv4Addr::new(192, 0, 2, last), port: last.into() };
        for is_outbound in [true, false] {
            let mut ends = [end(1), end(2)];
            if !is_outbound {
                ends.reverse();
            }
            let translation = Some(Translation { is_outbound, outside: ip4_end(3), peer: ip4_end(4) });
            let event = Event { kind: Kind::Translated, is_ip6: false, ends, translation, ..event(&mut random) };
            let (mut ipfix, mut collector) = (Ipfix::new(0), Collector::default());
            let mut ready = |message: &[u8], _: u64| collector.take(message);
            ipfix.begin(0, &mut ready);
            ipfix.event(&Stamped { event, time: 0, begun: 0, last: 0 }, &mut ready);
            ipfix.flush(&mut ready);
            let (_, record) = &collector.records[1];
            assert_eq!([7, 11, 227, 228].map(|id| record[&(id, 0)]), [1, 2, 3, 4]);
        }
    }
}
