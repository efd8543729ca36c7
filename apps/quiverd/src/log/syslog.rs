//! The machine's log, by its datagram socket.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use super::message::Sink;

/// The socket.
const SYSLOG: &str = "/dev/log";
/// Messages of daemons (RFC 5424, section 6.2.1): facility 3, times 8.
const DAEMON: u8 = 3 << 3;

/// A connection to the machine's log.
#[derive(Clone)]
pub(super) struct Syslog(Arc<UnixDatagram>);

impl Syslog {
    /// Connects to the machine's log.
    pub fn connect() -> Result<Syslog, String> {
        let socket = UnixDatagram::unbound().and_then(|socket| socket.connect(SYSLOG).map(|()| socket));
        let socket = socket.map_err(|error| format!("{SYSLOG}: {error}; name a file for the log with --log-file"))?;
        Ok(Syslog(Arc::new(socket)))
    }
}

impl Sink for Syslog {
    fn send(&self, severity: u8, text: &[u8]) {
        let head = format!("<{}>quiverd[{}]: ", DAEMON | severity, std::process::id());
        // The log's reader may have gone away.
        let _ = self.0.send(&[head.as_bytes(), text.trim_ascii_end()].concat());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tracing::Level;

    use super::super::message::Whole;
    use super::*;

    #[test]
    fn a_message_is_one_datagram_with_its_priority() {
        let folder = tempfile::tempdir().unwrap();
        let reader = UnixDatagram::bind(folder.path().join("log")).unwrap();
        let socket = UnixDatagram::unbound().unwrap();
        socket.connect(folder.path().join("log")).unwrap();
        let log = Whole(Syslog(Arc::new(socket)));
        let mut message = log.message(Level::WARN);
        write!(message, "so ").unwrap();
        writeln!(message, "it is").unwrap();
        drop(message);
        let mut text = [0; 100];
        let length = reader.recv(&mut text).unwrap();
        let expected = format!("<28>quiverd[{}]: so it is", std::process::id());
        assert_eq!(String::from_utf8_lossy(&text[..length]), expected);
    }
}
