//! Where the log goes.

use std::collections::HashMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::os::unix::net::UnixDatagram;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use quiver_runtime::log::{Levels, Line, Lines, SetLevels, Severity};
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, reload};

use crate::settings::Settings;

/// The machine's log.
const SYSLOG: &str = "/dev/log";
/// Messages of daemons (RFC 5424, section 6.2.1): facility 3, times 8.
const DAEMON: u8 = 3 << 3;
/// Lines of one place in the code that may be written at once, where one more is allowed each second.
const BURST: u32 = 100;

/// Begins to log as the settings say; gives the lines that `show log` shows, and what changes what is logged.
pub fn begin(settings: &Settings) -> Result<(Lines, SetLevels), String> {
    let standard = settings.log_level.as_deref().unwrap_or("info");
    let told =
        std::env::var("RUST_LOG").ok().filter(|told| settings.log_level.is_none() && told.parse::<Targets>().is_ok());
    let begun = told.unwrap_or_else(|| standard.to_owned());
    let filter = begun
        .parse::<Targets>()
        .map_err(|error| format!("--log-level: {error}; one of error, warn, info, debug, trace, off"))?;
    let (filter, set) = changeable(begun, filter);
    // The log's reader may go away; to complain about that where it was would end the daemon with a panic.
    let log = tracing_subscriber::fmt::layer().log_internal_errors(false);
    let lines = Lines::default();
    let all = tracing_subscriber::registry().with(filter).with(Limit::default()).with(Kept(lines.clone()));
    if let Some(path) = &settings.log_file {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| format!("--log-file {}: {error}; name another", path.display()))?;
        all.with(log.with_ansi(false).with_writer(Arc::new(file))).init();
    } else if settings.daemon {
        let socket = UnixDatagram::unbound().and_then(|socket| socket.connect(SYSLOG).map(|()| socket));
        let socket = socket.map_err(|error| format!("{SYSLOG}: {error}; name a file for the log with --log-file"))?;
        let log = log.with_ansi(false).without_time().with_level(false);
        all.with(log.with_writer(Syslog(Arc::new(socket)))).init();
    } else {
        all.with(log.with_ansi(io::stderr().is_terminal()).with_writer(io::stderr)).init();
    }
    Ok((lines, set))
}

/// A filter, and what adds to it what is said of single classes.
fn changeable(begun: String, filter: Targets) -> (reload::Layer<Targets, Registry>, SetLevels) {
    let (filter, handle) = reload::Layer::new(filter);
    let set = move |levels: &Levels| {
        let mut directives = begun.clone();
        for (class, level) in levels {
            let level = match level {
                None => "off",
                Some(Severity::Error) => "error",
                Some(Severity::Warning) => "warn",
                Some(Severity::Notice | Severity::Info) => "info",
                Some(Severity::Debug) => "debug",
            };
            directives.push_str(&format!(",{}={level}", target(class)));
        }
        let wanted = directives.parse::<Targets>().map_err(|error| error.to_string())?;
        handle.reload(wanted).map_err(|error| error.to_string())
    };
    (filter, Rc::new(set))
}

/// Where in the code a class logs: a room is a package, and its parts are modules. What `show log` calls so is taken as it is.
fn target(class: &str) -> String {
    let path = class.replace('-', "_").replace('/', "::");
    if path.starts_with("quiver") { path } else { format!("quiver_{path}") }
}

/// Leaves out what is said very often: whoever is refused again and again fills no disk. What is for finding mistakes is not
/// touched.
#[derive(Default)]
struct Limit(Mutex<HashMap<Identifier, Allowance>>);

/// How often a place in the code may still say something.
struct Allowance {
    lines: u32,
    since: Instant,
    left_out: u64,
}

impl Allowance {
    fn new(now: Instant) -> Allowance {
        Allowance { lines: BURST, since: now, left_out: 0 }
    }
    /// If a line may be written now: how many have been left out before it.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let seconds = u32::try_from(now.duration_since(self.since).as_secs()).unwrap_or(u32::MAX);
        self.since += Duration::from_secs(seconds.into());
        self.lines = self.lines.saturating_add(seconds).min(BURST);
        match self.lines.checked_sub(1) {
            Some(rest) => {
                self.lines = rest;
                Some(std::mem::take(&mut self.left_out))
            }
            None => {
                self.left_out += 1;
                None
            }
        }
    }
}

impl<S: Subscriber> Layer<S> for Limit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        if *event.metadata().level() > Level::INFO {
            return true;
        }
        let now = Instant::now();
        let taken = self.0.lock().map_or(Some(0), |mut places| {
            places.entry(event.metadata().callsite()).or_insert_with(|| Allowance::new(now)).take(now)
        });
        match taken {
            Some(0) => true,
            Some(left_out) => {
                tracing::warn!("{left_out} lines like the next one were left out");
                true
            }
            None => false,
        }
    }
}

/// Keeps what is logged for `show log`.
struct Kept(Lines);

impl<S: Subscriber> Layer<S> for Kept {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let severity = match *event.metadata().level() {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warning,
            Level::INFO => Severity::Info,
            _ => Severity::Debug,
        };
        let mut text = Told(String::new());
        event.record(&mut text);
        let class = event.metadata().target().to_owned();
        self.0.add(Line { at: SystemTime::now(), severity, class, text: text.0 });
    }
}

/// What an event says: its message, and its other fields behind it.
struct Told(String);

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => {
                let message = format!("{value:?}");
                self.0.insert_str(0, &message);
                Ok(())
            }
            name => fmt::Write::write_fmt(&mut self.0, format_args!(" {name}={value:?}")),
        };
    }
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
    fn what_is_logged_is_kept_for_those_who_ask() {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::registry().with(Kept(lines.clone()));
        tracing::subscriber::with_default(subscriber, || tracing::warn!(port = 7, "it {}", "is so"));
        let line = lines.take().expect("it was logged");
        assert_eq!((line.severity, line.text.as_str()), (Severity::Warning, "it is so port=7"));
        assert!(line.class.contains("log"), "{}", line.class);
        assert_eq!(lines.take(), None);
    }

    #[test]
    fn a_class_is_logged_from_the_severity_on_that_was_set() {
        let lines = Lines::default();
        let (filter, set) = changeable("info".into(), "info".parse().expect("a level"));
        let subscriber = tracing_subscriber::registry().with(filter).with(Kept(lines.clone()));
        let said = || {
            tracing::debug!(target: "quiver_ip::room", "ip debug");
            tracing::info!(target: "quiver_ip::room", "ip info");
            tracing::debug!(target: "quiver_memif", "memif debug");
            tracing::info!(target: "quiver_memif", "memif info");
            std::iter::from_fn(|| lines.take()).map(|line| line.text).collect::<Vec<_>>()
        };
        let level = |class: &str, level| set(&Levels::from([(class.to_owned(), level)]));
        tracing::subscriber::with_default(subscriber, || {
            assert_eq!(said(), ["ip info", "memif info"]);
            level("ip", Some(Severity::Debug)).expect("it can be set");
            assert_eq!(said(), ["ip debug", "ip info", "memif info"]);
            level("ip/room", None).expect("it can be set");
            assert_eq!(said(), ["memif info"]);
            level("quiver_memif", Some(Severity::Warning)).expect("it can be set");
            assert_eq!(said(), ["ip info"]);
        });
    }

    #[test]
    fn what_is_said_very_often_is_left_out() {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::registry().with(Limit::default()).with(Kept(lines.clone()));
        tracing::subscriber::with_default(subscriber, || {
            (0..1_000_000).for_each(|n| tracing::info!("client {n} is refused"));
            tracing::warn!("something else");
        });
        let mut kept = std::iter::from_fn(|| lines.take()).count();
        kept -= 1;
        // One more for each second that it took.
        assert!((BURST as usize..BURST as usize + 300).contains(&kept), "{kept}");

        let now = Instant::now();
        let mut allowance = Allowance::new(now);
        let mut at = |seconds: u64| allowance.take(now + Duration::from_secs(seconds));
        assert!((0..BURST).all(|_| at(0) == Some(0)));
        assert_eq!(
            [at(0), at(0), at(1), at(1), at(3), at(3), at(3)],
            [None, None, Some(2), None, Some(1), Some(0), None]
        );
        assert!((0..BURST).all(|_| at(1000).is_some()) && at(1000).is_none(), "no more at once than at first");
    }

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
