//! Where the log goes.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::settings::Settings;

/// The machine's log.
const SYSLOG: &str = "/dev/log";
/// Messages of daemons (RFC 5424, section 6.2.1): facility 3, times 8.
const DAEMON: u8 = 3 << 3;

/// Begins to log as the settings say.
pub fn begin(settings: &Settings) -> Result<(), String> {
    let standard = settings.log_level.as_deref().unwrap_or("info");
    let filter = match std::env::var("RUST_LOG") {
        Ok(told) if settings.log_level.is_none() => EnvFilter::try_new(told).or_else(|_| EnvFilter::try_new(standard)),
        _ => EnvFilter::try_new(standard),
    };
    let filter =
        filter.map_err(|error| format!("--log-level: {error}; one of error, warn, info, debug, trace, off"))?;
    // The log's reader may go away; to complain about that where it was would end the daemon with a panic.
    let log = tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false);
    if let Some(path) = &settings.log_file {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| format!("--log-file {}: {error}; name another", path.display()))?;
        log.with_ansi(false).with_writer(Arc::new(file)).init();
    } else if settings.daemon {
        let socket = UnixDatagram::unbound().and_then(|socket| socket.connect(SYSLOG).map(|()| socket));
        let socket = socket.map_err(|error| format!("{SYSLOG}: {error}; name a file for the log with --log-file"))?;
        log.with_ansi(false).without_time().with_level(false).with_writer(Syslog(Arc::new(socket))).init();
    } else {
        log.with_ansi(io::stderr().is_terminal()).with_writer(io::stderr).init();
    }
    Ok(())
}

/// The machine's log.
struct Syslog(Arc<UnixDatagram>);

/// One message.
struct Message {
    socket: Arc<UnixDatagram>,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for Syslog {
    type Writer = Message;

    fn make_writer(&'a self) -> Message {
        self.message(Level::INFO)
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Message {
        self.message(*metadata.level())
    }
}

impl Syslog {
    fn message(&self, level: Level) -> Message {
        let severity = match level {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            _ => 7,
        };
        let head = format!("<{}>quiverd[{}]: ", DAEMON | severity, std::process::id());
        Message { socket: self.0.clone(), text: head.into_bytes() }
    }
}

impl Write for Message {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        // The log's reader may have gone away.
        let _ = self.socket.send(self.text.trim_ascii_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_datagram_with_its_priority() {
        let folder = tempfile::tempdir().unwrap();
        let reader = UnixDatagram::bind(folder.path().join("log")).unwrap();
        let socket = UnixDatagram::unbound().unwrap();
        socket.connect(folder.path().join("log")).unwrap();
        let log = Syslog(Arc::new(socket));
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
