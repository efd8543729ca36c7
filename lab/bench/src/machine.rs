//! Where the figures come from.

use std::time::{SystemTime, UNIX_EPOCH};

use quiver_engine::{Backing, Level};
use serde::Serialize;

/// The facts without which figures mean nothing.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The day, in UTC.
    pub date: String,
    /// The git revision, with `+` if files differ from it.
    pub revision: String,
    /// The processor.
    pub cpu: String,
    /// Megahertz of the time stamp counter.
    pub tsc_mhz: u32,
    /// The kind of memory pages behind the buffers.
    pub pages: &'static str,
    /// The instruction set.
    pub level: &'static str,
}

impl Machine {
    /// This machine, now.
    pub fn here(backing: Backing, level: Level) -> Machine {
        let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let fact = |name: &str| {
            let line = facts.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(": ")).map_or_else(|| "unknown".to_owned(), |(_, value)| value.into())
        };
        let pages = match backing {
            Backing::Huge => "2 MB",
            Backing::Transparent => "transparent huge",
            Backing::Plain => "4 KB",
        };
        let tsc_mhz = (1000.0 / quiver_engine::thread::tick_length()).round() as u32;
        Machine { date: today(), revision: revision(), cpu: fact("model name"), tsc_mhz, pages, level: level.name() }
    }
}

fn revision() -> String {
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", "*.rs"]);
    let sign = if changed.is_some_and(|files| !files.is_empty()) { "+" } else { "" };
    git(&["rev-parse", "--short", "HEAD"]).map_or_else(|| "unknown".into(), |revision| format!("{revision}{sign}"))
}

fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let (year, month, day) = civil((seconds / 86_400) as i64);
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of the proleptic Gregorian calendar, so many days after 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March here, so that the leap day is the last one of its year.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_are_put_into_the_calendar() {
        for (days, date) in [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (11_016, (2000, 2, 29)), (20_778, (2026, 11, 21))] {
            assert_eq!(civil(days), date);
        }
    }
}
