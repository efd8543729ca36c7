//! `show log`: what the daemon has logged lately, kept in a ring for those who are not at the host's log.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crossbeam_queue::ArrayQueue;
use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};

use crate::Runtime;

/// Lines that are kept.
const KEPT: usize = 1000;

/// Severity of a line (RFC 5424, section 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A failure.
    Error,
    /// A possible failure.
    Warning,
    /// A notable event.
    Notice,
    /// A normal event.
    Info,
    /// A detail.
    Debug,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warn",
            Severity::Notice => "notice",
            Severity::Info => "info",
            Severity::Debug => "debug",
        })
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Time of the line.
    pub at: SystemTime,
    /// Severity of the line.
    pub severity: Severity,
    /// Subject of the line, such as a room.
    pub class: String,
    /// Text of the line.
    pub text: String,
}

/// Queue of lines. Adding a line never waits, on any thread; the oldest line is removed if the queue is full.
#[derive(Clone)]
pub struct Lines(Arc<ArrayQueue<Line>>);

impl Default for Lines {
    fn default() -> Lines {
        Lines(Arc::new(ArrayQueue::new(KEPT)))
    }
}

impl Lines {
    /// Adds a line.
    pub fn add(&self, line: Line) {
        self.0.force_push(line);
    }
    /// Takes the oldest line.
    pub fn take(&self) -> Option<Line> {
        self.0.pop()
    }
}

/// Lowest logged severity by class, for classes that were configured; None disables a class.
pub type Levels = BTreeMap<String, Option<Severity>>;

/// Sets the levels of the host's log. The error says what the host refuses.
pub type SetLevels = Rc<dyn Fn(&Levels) -> Result<(), String>>;

/// Control's part of the log.
#[derive(Default)]
pub(crate) struct Log {
    lines: Lines,
    kept: VecDeque<Line>,
    levels: Levels,
    set: Option<SetLevels>,
}

impl Log {
    pub fn new(lines: Lines, set: SetLevels) -> Log {
        Log { lines, kept: VecDeque::new(), levels: Levels::new(), set: Some(set) }
    }
    /// Has the log of a class begin at a severity.
    fn set_level(&mut self, class: String, level: Option<Severity>) -> Result<(), String> {
        let set = self.set.as_ref().ok_or("this daemon's host keeps no classes of its log apart")?;
        let mut levels = self.levels.clone();
        levels.insert(class, level);
        set(&levels)?;
        self.levels = levels;
        Ok(())
    }
    /// The lines of late, the oldest first.
    pub fn lines(&mut self) -> &VecDeque<Line> {
        self.kept.extend(std::iter::from_fn(|| self.lines.take()).take(KEPT));
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
        &self.kept
    }
}

pub(crate) fn register(control: &Control) {
    for word in ["log", "logging"] {
        let show = Command::new(format!("show {word}"), "Show the log buffer.", show);
        control.commands().add(show);
        control.commands().add(Command::new(format!("clear {word}"), "Clear the log buffer.", clear));
    }
    let test = Command::new(
        "test log (error|warn|notice|info|debug) <class:text> <subclass:text> <words:text>...",
        "Write a line to the log.",
        test,
    );
    control.commands().add(test.argument("class", "subject of the line").argument("words", "text of the line"));
    let set = Command::new(
        "set logging class <class:text> level (emerg|alert|crit|err|warn|notice|info|debug|disabled)",
        "Set the lowest severity that a log class writes.",
        set,
    );
    control.commands().add(set.argument("class", "room, such as ip, or a part of one, as in `show log`"));
    let help = "Show the severities that were set for log classes.";
    control.commands().add(Command::new("show logging configuration", help, configuration));
}

fn set(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    // VPP's severities; what Quiver logs has four of them.
    let levels = [
        ("emerg", Some(Severity::Error)),
        ("alert", Some(Severity::Error)),
        ("crit", Some(Severity::Error)),
        ("err", Some(Severity::Error)),
        ("warn", Some(Severity::Warning)),
        ("notice", Some(Severity::Info)),
        ("info", Some(Severity::Info)),
        ("debug", Some(Severity::Debug)),
    ];
    let level = levels.into_iter().find(|(word, _)| matches.has(word)).and_then(|(_, level)| level);
    let class: String = matches.get("class")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_/:".contains(c);
    if !class.chars().all(is_name) {
        let what = format!("`{class}` is no class of the log; name a room, such as ip");
        return Err(CommandError::new(what).at(matches.place("class")));
    }
    let set = control.room_mut::<Runtime>().log.set_level(class, level);
    set.map_err(|error| CommandError::new(error).at(matches.place("class")))?;
    Ok(Reply::done())
}

fn configuration(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let runtime = control.room::<Runtime>();
    let mut table = Table::new(["Class", "Level"]);
    for (class, level) in &runtime.log.levels {
        let level = level.map_or_else(|| "disabled".to_owned(), |level| level.to_string());
        table.row([Cell::from(class.clone()), Cell::from(level)]);
    }
    Ok(table.into())
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let runtime = &mut *control.room_mut::<Runtime>();
    let mut table = Table::new(["Time", "Level", "Class", "Message"]);
    for line in runtime.log.lines() {
        let since = line.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        table.row([
            Cell::new(date(since), since.as_secs_f64()),
            Cell::of(line.severity),
            Cell::from(line.class.clone()),
            Cell::from(line.text.clone()),
        ]);
    }
    Ok(table.into())
}

/// A moment since 1970, in the form of RFC 3339 but with a blank.
fn date(since: Duration) -> String {
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Counted from 1 March 0000, so that the odd day is the year's last; 719,468 days before 1970.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:03}", since.subsec_millis())
}

fn clear(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let log = &mut control.room_mut::<Runtime>().log;
    log.lines();
    log.kept.clear();
    Ok(Reply::done())
}

fn test(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let levels = [
        ("error", Severity::Error),
        ("warn", Severity::Warning),
        ("notice", Severity::Notice),
        ("info", Severity::Info),
        ("debug", Severity::Debug),
    ];
    let severity = levels.into_iter().find(|(word, _)| matches.has(word)).map_or(Severity::Info, |(_, level)| level);
    let (class, subclass): (String, String) = (matches.get("class")?, matches.get("subclass")?);
    let (class, text) = (format!("{class}/{subclass}"), matches.all::<String>("words")?.join(" "));
    let at = control.date();
    control.room::<Runtime>().log.lines.add(Line { at, severity, class, text });
    Ok(Reply::done())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00.000"),
            (951_782_399, "2000-02-28 23:59:59.000"),
            (951_782_400, "2000-02-29 00:00:00.000"),
            (1_078_099_200, "2004-03-01 00:00:00.000"),
            (1_798_761_599, "2026-12-31 23:59:59.000"),
            (4_107_542_400, "2100-03-01 00:00:00.000"),
        ] {
            assert_eq!(date(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn the_oldest_lines_make_room() {
        let lines = Lines::default();
        let mut log = Log::new(lines.clone(), Rc::new(|_| Ok(())));
        let line = |number: usize| Line {
            at: SystemTime::UNIX_EPOCH,
            severity: Severity::Info,
            class: "test".into(),
            text: number.to_string(),
        };
        (0..KEPT / 2).for_each(|number| lines.add(line(number)));
        assert_eq!(log.lines().len(), KEPT / 2);
        (KEPT / 2..3 * KEPT).for_each(|number| lines.add(line(number)));
        let kept = log.lines();
        assert_eq!((kept.len(), kept.front(), kept.back()), (KEPT, Some(&line(2 * KEPT)), Some(&line(3 * KEPT - 1))));
    }

    #[test]
    fn classes_keep_the_severity_that_the_host_took() {
        let told = Rc::new(std::cell::RefCell::new(vec![]));
        let heard = told.clone();
        let set = move |levels: &Levels| match levels.contains_key("wrong") {
            true => Err("no such class".to_owned()),
            false => {
                heard.borrow_mut().push(levels.clone());
                Ok(())
            }
        };
        let mut log = Log::new(Lines::default(), Rc::new(set));
        let of = |levels: &[(&str, Option<Severity>)]| -> Levels {
            levels.iter().map(|(class, level)| ((*class).to_owned(), *level)).collect()
        };
        assert_eq!(log.set_level("ip".into(), Some(Severity::Debug)), Ok(()));
        assert_eq!(log.set_level("wrong".into(), None), Err("no such class".to_owned()));
        assert_eq!(log.set_level("nat".into(), None), Ok(()));
        let both = of(&[("ip", Some(Severity::Debug)), ("nat", None)]);
        assert_eq!(
            (told.borrow().clone(), &log.levels),
            (vec![of(&[("ip", Some(Severity::Debug))]), both.clone()], &both)
        );
        let refused = Log::default().set_level("ip".into(), None);
        assert!(refused.is_err(), "a simulation has no log of its own");
    }
}
