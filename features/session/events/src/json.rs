//! JSON lines: one object for each event.
//!
//! PERF: written field by field, 0.65 us each on a shared AMD EPYC (example `rate`); by serde_json with a structure of its own it was 1.2 us,
//! too slow for a million in a second.

use std::io::Write;
use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use crate::event::{Kind, Translation};
use crate::output::{Encoder, Ready};
use crate::reader::Stamped;

/// Texts of seconds. Events come in runs, with times that are near to each other.
struct Seconds([(u64, [u8; Seconds::LENGTH]); Seconds::KEPT]);

impl Seconds {
    /// Bytes of a date and a time, such as 2026-11-30T17:53:27.
    const LENGTH: usize = 19;
    const KEPT: usize = 64;

    /// Text of a second since 1970.
    fn text(&mut self, second: u64) -> &[u8; Seconds::LENGTH] {
        let kept = &mut self.0[second as usize % Seconds::KEPT];
        if kept.0 != second {
            // RFC 3339 has four digits for the year.
            const LAST: u64 = 253_402_300_799;
            let time = UNIX_EPOCH + Duration::from_secs(second.min(LAST));
            let text = humantime::format_rfc3339_seconds(time).to_string();
            *kept = (second, text.as_bytes().first_chunk().copied().unwrap_or([b'0'; Seconds::LENGTH]));
        }
        &kept.1
    }
}

/// Writes JSON objects of events.
pub struct Json {
    seconds: Seconds,
    digits: itoa::Buffer,
}

impl Default for Json {
    fn default() -> Json {
        let seconds = Seconds([(u64::MAX, [b'0'; Seconds::LENGTH]); Seconds::KEPT]);
        Json { seconds, digits: itoa::Buffer::new() }
    }
}

impl Json {
    /// Appends a time in milliseconds since 1970, as RFC 3339 has it.
    pub fn append_time(&mut self, to: &mut Vec<u8>, milliseconds: u64) {
        to.extend_from_slice(self.seconds.text(milliseconds / 1000));
        let digit = |of: u64| b'0' + (milliseconds / of % 10) as u8;
        to.extend_from_slice(&[b'.', digit(100), digit(10), digit(1), b'Z']);
    }
    /// Appends the name of a field that is not the first one.
    fn name(to: &mut Vec<u8>, name: &str) {
        to.extend_from_slice(b",\"");
        to.extend_from_slice(name.as_bytes());
        to.extend_from_slice(b"\":");
    }
    /// Appends a field whose text needs no escapes.
    fn text(to: &mut Vec<u8>, name: &str, text: &str) {
        Json::name(to, name);
        to.push(b'"');
        to.extend_from_slice(text.as_bytes());
        to.push(b'"');
    }
    fn number(&mut self, to: &mut Vec<u8>, name: &str, number: impl Into<u64>) {
        Json::name(to, name);
        to.extend_from_slice(self.digits.format(number.into()).as_bytes());
    }
    fn time(&mut self, to: &mut Vec<u8>, name: &str, milliseconds: u64) {
        Json::name(to, name);
        to.push(b'"');
        self.append_time(to, milliseconds);
        to.push(b'"');
    }
    fn end(&mut self, to: &mut Vec<u8>, [address, port]: [&str; 2], end: (IpAddr, u16)) {
        Json::name(to, address);
        to.push(b'"');
        match end.0 {
            IpAddr::V4(ip4) => {
                for (at, octet) in ip4.octets().into_iter().enumerate() {
                    if at > 0 {
                        to.push(b'.');
                    }
                    to.extend_from_slice(self.digits.format(octet).as_bytes());
                }
            }
            // A vector takes everything.
            IpAddr::V6(ip6) => drop(write!(to, "{ip6}")),
        }
        to.push(b'"');
        self.number(to, port, end.1);
    }
    fn begin(&mut self, to: &mut Vec<u8>, event: &str, time: u64) {
        to.extend_from_slice(b"{\"event\":\"");
        to.extend_from_slice(event.as_bytes());
        to.push(b'"');
        self.time(to, "time", time);
    }
    /// Appends an event as a JSON object, without a newline.
    pub fn append(&mut self, to: &mut Vec<u8>, stamped: &Stamped) {
        let event = &stamped.event;
        self.begin(to, event.kind.name(), stamped.time);
        if event.kind != Kind::Denied {
            Json::name(to, "session");
            let _ = write!(to, "\"{:#x}\"", event.session);
        }
        self.number(to, "tenant", event.tenant);
        self.number(to, "context", event.context);
        self.number(to, "protocol", event.protocol);
        self.end(to, ["initiator", "initiator-port"], (event.address(0), event.ends[0].port));
        self.end(to, ["responder", "responder-port"], (event.address(1), event.ends[1].port));
        if let Some(reason) = event.reason.name() {
            Json::text(to, "reason", reason);
        }
        if matches!(event.kind, Kind::Updated | Kind::Closed) {
            self.time(to, "begun", stamped.begun);
            self.time(to, "last-packet", stamped.last);
            self.number(to, "packets-forward", event.packets[0]);
            self.number(to, "bytes-forward", event.bytes[0]);
            self.number(to, "packets-reverse", event.packets[1]);
            self.number(to, "bytes-reverse", event.bytes[1]);
        }
        if let Some((translation, inside)) = event.translation.zip(event.inside()) {
            let Translation { outside, peer, .. } = translation;
            let start = to.len();
            self.end(to, ["inside", "inside-port"], (event.address(inside), event.ends[inside].port));
            self.end(to, ["outside", "outside-port"], (outside.address.into(), outside.port));
            self.end(to, ["peer", "peer-port"], (peer.address.into(), peer.port));
            // The fields of an object of their own, whose first one has no comma before it.
            to.splice(start..=start, *b",\"nat\":{");
            to.push(b'}');
        }
        to.push(b'}');
    }
    /// Appends the number of events that were lost since the last such object.
    pub fn append_lost(&mut self, to: &mut Vec<u8>, time: u64, count: u64) {
        self.begin(to, "lost", time);
        self.number(to, "count", count);
        to.push(b'}');
    }
}

/// Encodes events as lines, many at a time.
#[derive(Default)]
pub struct Lines {
    json: Json,
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
        self.json.append(&mut self.lines, stamped);
        self.count += 1;
        self.end_line(ready);
    }
    fn lost(&mut self, count: u64, ready: Ready<'_>) {
        self.json.append_lost(&mut self.lines, self.now, count);
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
        let mut json = Json::default();
        json.append(&mut line, &Stamped { event, time: 1_000, begun: 10, last: 20 });
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
        json.append_lost(&mut lost, 0, 7);
        assert_eq!(lost, br#"{"event":"lost","time":"1970-01-01T00:00:00.000Z","count":7}"#);
    }

    #[test]
    fn every_event_is_one_line_of_json() {
        let (mut random, mut json) = (fastrand::Rng::with_seed(1), Json::default());
        for _ in 0..2000 {
            let (mut line, event, time) = (vec![], event(&mut random), random.u64(..1 << 44));
            json.append(&mut line, &Stamped { event, time, begun: 0, last: u64::MAX });
            assert!(!line.contains(&b'\n'));
            let value: Value = serde_json::from_slice(&line).expect("JSON");
            let text = humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(time)).to_string();
            assert_eq!(value["time"], text);
            assert_eq!(value.get("session").is_some(), event.kind != Kind::Denied);
            assert_eq!(value["initiator-port"], event.ends[0].port);
            assert_eq!(value["tenant"], event.tenant);
            assert_eq!(value.get("reason").and_then(Value::as_str), event.reason.name());
            assert_eq!(value["event"], event.kind.name());
            assert_eq!(value["responder"], event.address(1).to_string());
            assert_eq!(value.get("nat").is_some(), event.translation.is_some());
            let has_traffic = matches!(event.kind, Kind::Updated | Kind::Closed);
            assert_eq!(value.get("bytes-reverse").and_then(Value::as_u64), has_traffic.then_some(event.bytes[1]));
            let outside = event.translation.map(|translation| translation.outside.address.to_string());
            assert_eq!(value["nat"]["outside"].as_str().map(str::to_owned), outside);
        }
    }
}
