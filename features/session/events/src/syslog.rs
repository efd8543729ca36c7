//! Syslog (RFC 5424): a message for each event, whose text is the JSON object of the event.

use std::io::Write;

use crate::json::Json;
use crate::output::{Encoder, Ready};
use crate::reader::Stamped;

/// RFC 5424, 6.2.1: facility local0 (16), severity informational (6) or warning (4).
const INFORMATION: u8 = 16 * 8 + 6;
const WARNING: u8 = 16 * 8 + 4;

/// Encodes events as messages of syslog.
pub struct Syslog {
    /// Host, program and process, as headers have them.
    sender: String,
    json: Json,
    now: u64,
    message: Vec<u8>,
}

impl Syslog {
    /// Messages of a host and a process.
    pub fn new(host: &str, process: u32) -> Syslog {
        // RFC 5424, 6: printable characters without spaces; 255 of them; `-` is none.
        let host: String = host.chars().filter(char::is_ascii_graphic).take(255).collect();
        let host = if host.is_empty() { "-".to_owned() } else { host };
        Syslog { sender: format!("{host} quiver {process}"), json: Json::default(), now: 0, message: vec![] }
    }
    fn begin_message(&mut self, priority: u8, (time, name): (u64, &str)) {
        self.message.clear();
        // A vector takes everything.
        let _ = write!(self.message, "<{priority}>1 ");
        self.json.append_time(&mut self.message, time);
        let _ = write!(self.message, " {} {name} - ", self.sender);
    }
}

impl Encoder for Syslog {
    fn begin(&mut self, now: u64, _: Ready<'_>) {
        self.now = now;
    }
    fn event(&mut self, stamped: &Stamped, ready: Ready<'_>) {
        self.begin_message(INFORMATION, (stamped.time, stamped.event.kind.name()));
        self.json.append(&mut self.message, stamped);
        ready(&self.message, 1);
    }
    fn lost(&mut self, count: u64, ready: Ready<'_>) {
        self.begin_message(WARNING, (self.now, "lost"));
        self.json.append_lost(&mut self.message, self.now, count);
        ready(&self.message, 0);
    }
    fn flush(&mut self, _: Ready<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::event;

    #[test]
    fn messages_have_the_header_of_rfc_5424_and_an_object() {
        let (mut syslog, mut random) = (Syslog::new("a host\n", 7), fastrand::Rng::with_seed(1));
        let mut messages = vec![];
        let mut ready = |message: &[u8], _: u64| messages.push(String::from_utf8(message.to_vec()).expect("text"));
        let event = event(&mut random);
        syslog.begin(1000, &mut ready);
        syslog.event(&Stamped { event, time: 10, begun: 0, last: 0 }, &mut ready);
        syslog.lost(3, &mut ready);
        let name = event.kind.name();
        let start = format!("<134>1 1970-01-01T00:00:00.010Z ahost quiver 7 {name} - {{\"event\":\"{name}\"");
        assert!(messages[0].starts_with(&start), "{}", messages[0]);
        assert_eq!(
            messages[1],
            "<132>1 1970-01-01T00:00:01.000Z ahost quiver 7 lost - \
             {\"event\":\"lost\",\"time\":\"1970-01-01T00:00:01.000Z\",\"count\":3}"
        );
        assert!(Syslog::new("", 1).sender.starts_with("- "));
    }
}
