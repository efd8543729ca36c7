//! Where the log goes: standard error, the journal of systemd, a file, or syslog.

mod file;
mod journal;
mod message;
mod syslog;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, IsTerminal};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use quiver_runtime::log::{Levels, Line, Lines, SetLevels, Severity};
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, reload};

use crate::settings::Settings;
pub use file::LogFile;
use message::Whole;
use syslog::Syslog;

/// Lines of one place in the code that may be written at once, where one more is allowed each second.
const BURST: u32 = 100;

/// The log, as it has begun.
pub struct Begun {
    /// The lines that `show log` shows.
    pub lines: Lines,
    /// Changes the log levels.
    pub levels: SetLevels,
    /// The file to which it goes, if it goes to one.
    pub file: Option<Arc<LogFile>>,
}

/// Begins to log as the settings say.
pub fn begin(settings: &Settings) -> Result<Begun, String> {
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
    let file = settings.log_file.as_deref().map(LogFile::open).transpose()?.map(Arc::new);
    if let Some(file) = &file {
        all.with(log.with_ansi(false).with_writer(file::ToFile(file.clone()))).init();
    } else if settings.daemon {
        let log = log.with_ansi(false).without_time().with_level(false);
        all.with(log.with_writer(Whole(Syslog::connect()?))).init();
    } else if journal::is_stderr() {
        all.with(log.with_ansi(false).without_time().with_level(false).with_writer(Whole(journal::Journal))).init();
    } else {
        all.with(log.with_ansi(io::stderr().is_terminal()).with_writer(io::stderr)).init();
    }
    Ok(Begun { lines, levels: set, file })
}

/// A filter, and the function that sets levels of single classes in it.
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

/// Module path of a class: a room is a package, and its parts are modules. Names as in `show log` are used unchanged.
fn target(class: &str) -> String {
    let path = class.replace('-', "_").replace('/', "::");
    if path.starts_with("quiver") { path } else { format!("quiver_{path}") }
}

/// Rate limit of log messages, so that a client that is refused again and again fills no disk. Debug messages are not
/// limited.
#[derive(Default)]
struct Limit(Mutex<HashMap<Identifier, Allowance>>);

/// Remaining messages of a place in the code.
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

/// Keeps log lines for `show log`.
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

/// Text of an event: its message, and its other fields behind it.
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
}
