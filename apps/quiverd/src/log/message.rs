//! Log messages that go out whole: each is gathered, and sent when it is complete.

use std::io::{self, Write};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// A destination of whole messages.
pub(super) trait Sink: Clone {
    /// Sends a message of this severity (RFC 5424, section 6.2.1), which may have several lines and end in a newline.
    fn send(&self, severity: u8, text: &[u8]);
}

/// Writes whole messages to a sink.
pub(super) struct Whole<S>(pub S);

/// A message, which is sent when it is dropped.
pub(super) struct Message<S: Sink> {
    sink: S,
    severity: u8,
    text: Vec<u8>,
}

impl<S: Sink> Whole<S> {
    pub fn message(&self, level: Level) -> Message<S> {
        Message { sink: self.0.clone(), severity: severity(level), text: vec![] }
    }
}

impl<'a, S: Sink + 'a> MakeWriter<'a> for Whole<S> {
    type Writer = Message<S>;

    fn make_writer(&'a self) -> Message<S> {
        self.message(Level::INFO)
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Message<S> {
        self.message(*metadata.level())
    }
}

impl<S: Sink> Write for Message<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Sink> Drop for Message<S> {
    fn drop(&mut self) {
        self.sink.send(self.severity, &self.text);
    }
}

/// The severity of RFC 5424, section 6.2.1.
fn severity(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}
