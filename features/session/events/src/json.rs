//! JSON lines: one object for each event.

use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use crate::event::{Kind, Translation};
use crate::output::{Encoder, Ready};
use crate::reader::Stamped;

/// Milliseconds since 1970, written as RFC 3339 has times.
struct Time(u64);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(self.0)))
    }
}

/// Text of a time in milliseconds since 1970, as RFC 3339 has it.
pub fn time(milliseconds: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(milliseconds)).to_string()
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Nat {
    inside: IpAddr,
    inside_port: u16,
    outside: IpAddr,
    outside_port: u16,
    peer: IpAddr,
    peer_port: u16,
}

/// Traffic of the session so far.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Traffic {
    begun: Time,
    last_packet: Time,
    packets_forward: u64,
    bytes_forward: u64,
    packets_reverse: u64,
    bytes_reverse: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    event: &'static str,
    time: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    tenant: u32,
    context: u32,
    protocol: u8,
    initiator: IpAddr,
    initiator_port: u16,
    responder: IpAddr,
    responder_port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(flatten)]
    traffic: Option<Traffic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nat: Option<Nat>,
}

#[derive(Serialize)]
struct Lost {
    event: &'static str,
    time: Time,
    count: u64,
}

/// Appends an event as a JSON object, without a newline.
pub fn append(to: &mut Vec<u8>, stamped: &Stamped) {
    let event = &stamped.event;
    let nat = event.translation.zip(event.inside()).map(|(translation, inside)| {
        let Translation { outside, peer, .. } = translation;
        Nat {
            inside: event.address(inside),
            inside_port: event.ends[inside].port,
            outside: outside.address.into(),
            outside_port: outside.port,
            peer: peer.address.into(),
            peer_port: peer.port,
        }
    });
    let has_traffic = matches!(event.kind, Kind::Updated | Kind::Closed);
    let line = Line {
        event: event.kind.name(),
        time: Time(stamped.time),
        session: (event.kind != Kind::Denied).then(|| format!("{:#x}", event.session)),
        tenant: event.tenant,
        context: event.context,
        protocol: event.protocol,
        initiator: event.address(0),
        initiator_port: event.ends[0].port,
        responder: event.address(1),
        responder_port: event.ends[1].port,
        reason: event.reason.name(),
        traffic: has_traffic.then(|| Traffic {
            begun: Time(stamped.begun),
            last_packet: Time(stamped.last),
            packets_forward: event.packets[0],
            bytes_forward: event.bytes[0],
            packets_reverse: event.packets[1],
            bytes_reverse: event.bytes[1],
        }),
        nat,
    };
    write(to, &line);
}

/// Appends the number of events that were lost since the last such object.
pub fn append_lost(to: &mut Vec<u8>, time: u64, count: u64) {
    write(to, &Lost { event: "lost", time: Time(time), count });
}

fn write(to: &mut Vec<u8>, line: &impl Serialize) {
    // A vector takes everything, and all keys are text.
    let _ = serde_json::to_writer(to, line);
}

/// Encodes events as lines, many at a time.
#[derive(Default)]
pub struct Lines {
    lines: Vec<u8>,
    count: u64,
    now: u64,
}

impl Lines {
    /// Bytes of lines that are written at once.
    const BYTES: usize = 64 << 10;

    fn end_line(&mut self, ready: Ready<'_>) {
        self.lines.push(b'\n');
        if self.lines.len() >= Lines::BYTES {
            self.flush(ready);
        }
    }
}

impl Encoder for Lines {
    fn begin(&mut self, now: u64, _: Ready<'_>) {
        self.now = now;
    }
    fn event(&mut self, stamped: &Stamped, ready: Ready<'_>) {
        append(&mut self.lines, stamped);
        self.count += 1;
        self.end_line(ready);
    }
    fn lost(&mut self, count: u64, ready: Ready<'_>) {
        append_lost(&mut self.lines, self.now, count);
        self.end_line(ready);
    }
    fn flush(&mut self, ready: Ready<'_>) {
        if !self.lines.is_empty() {
            ready(&self.lines, self.count);
        }
        self.lines.clear();
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::event;
    use crate::event::{End, Event, Ip4End, Reason};
    use serde_json::{Value, json};
    use std::net::Ipv4Addr;

    #[test]
    fn a_closed_session_has_traffic_reason_and_translation() {
        let end = |last: u8, port| End { address: Ipv4Addr::new(10, 0, 0, last).to_bits().into(), port };
        let ip4_end = |last: u8, port| Ip4End { address: Ipv4Addr::new(192, 0, 2, last), port };
        let event = Event {
            kind: Kind::Closed,
            reason: Reason::Timeout,
            session: 0x1_0000_0002,
            tenant: 3,
            context: 4,
            protocol: 17,
            is_ip6: false,
            ends: [end(1, 1000), end(2, 53)],
            time: 0,
            begun: 0,
            last: 0,
            packets: [5, 6],
            bytes: [500, 600],
            translation: Some(Translation { is_outbound: true, outside: ip4_end(1, 2000), peer: ip4_end(2, 53) }),
        };
        let mut line = vec![];
        append(&mut line, &Stamped { event, time: 1_000, begun: 10, last: 20 });
        let expected = json!({
            "event": "closed", "time": "1970-01-01T00:00:01.000Z", "session": "0x100000002", "tenant": 3, "context": 4,
            "protocol": 17, "initiator": "10.0.0.1", "initiator-port": 1000, "responder": "10.0.0.2", "responder-port": 53,
            "reason": "timeout", "begun": "1970-01-01T00:00:00.010Z", "last-packet": "1970-01-01T00:00:00.020Z",
            "packets-forward": 5, "bytes-forward": 500, "packets-reverse": 6, "bytes-reverse": 600,
            "nat": {"inside": "10.0.0.1", "inside-port": 1000, "outside": "192.0.2.1", "outside-port": 2000,
                "peer": "192.0.2.2", "peer-port": 53},
        });
        assert_eq!(serde_json::from_slice::<Value>(&line).expect("JSON"), expected);
        let mut lost = vec![];
        append_lost(&mut lost, 0, 7);
        assert_eq!(lost, br#"{"event":"lost","time":"1970-01-01T00:00:00.000Z","count":7}"#);
    }

    #[test]
    fn every_event_is_one_line_of_json() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let (mut line, event) = (vec![], event(&mut random));
            append(&mut line, &Stamped { event, time: random.u64(..1 << 42), begun: 0, last: 0 });
            assert!(!line.contains(&b'\n'));
            let value: Value = serde_json::from_slice(&line).expect("JSON");
            assert_eq!(value["event"], event.kind.name());
            assert_eq!(value["responder"], event.address(1).to_string());
            assert_eq!(value.get("nat").is_some(), event.translation.is_some());
            let has_traffic = matches!(event.kind, Kind::Updated | Kind::Closed);
            assert_eq!(value.get("bytes-reverse").is_some(), has_traffic);
        }
    }
}
