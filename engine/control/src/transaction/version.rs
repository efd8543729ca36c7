//! [`Version`]: a configuration that ran, with author, time and reason.
//!
//! As a text, a version is a configuration file that can be applied as it is, below a comment that says the rest:
//!
//! ```text
//! # quiver-version: {"number":42,"time":"2026-11-22T00:31:20Z","author":"alice","what":"apply site.yaml"}
//! # A configuration of Quiver: `quiver apply FILE` makes it run.
//! taps:
//!   - name: tap0
//! ```

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// A configuration that ran, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// Its number: later versions have higher ones.
    pub number: u64,
    /// When it came to run.
    #[serde(with = "rfc3339")]
    pub time: SystemTime,
    /// Author who applied it.
    pub author: String,
    /// The command or change that made it.
    pub what: String,
    /// Author's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Whether it was confirmed, or needed no confirmation: only then a daemon may start with it.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub confirmed: bool,
}

/// A text that is no version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it does not begin with a line of `{MARK}` and what is known of it")]
pub struct Malformed;

const MARK: &str = "# quiver-version: ";

fn yes() -> bool {
    true
}

fn is_yes(confirmed: &bool) -> bool {
    *confirmed
}

impl Version {
    /// The line that stands before the configuration of the version where it is kept.
    pub fn head(&self) -> String {
        // Numbers and texts of this struct: they cannot fail to be written.
        let about = serde_json::to_string(self).unwrap_or_default();
        format!("{MARK}{about}\n")
    }

    /// Reads a configuration behind its [`Version::head`]: the version, and the configuration.
    pub fn read(text: &str) -> Result<(Version, &str), Malformed> {
        let (first, configuration) = text.split_once('\n').ok_or(Malformed)?;
        let about = first.strip_prefix(MARK).ok_or(Malformed)?;
        Ok((serde_json::from_str(about).map_err(|_| Malformed)?, configuration))
    }

    /// When it came to run, as people read it.
    pub fn time_text(&self) -> String {
        rfc3339::text(self.time)
    }
}

/// Times in JSON.
pub(super) mod rfc3339 {
    use std::time::SystemTime;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Times that calendars of four digits do not reach are shown as the first of them.
    pub fn text(time: SystemTime) -> String {
        const YEAR_10000: u64 = 253_402_300_800;
        let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let whole = std::time::Duration::from_secs(if seconds < YEAR_10000 { seconds } else { 0 });
        humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + whole).to_string()
    }
    pub fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(*time))
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        humantime::parse_rfc3339(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> Version {
        Version {
            number: 42,
            time: SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_795_307_480),
            author: "alice".to_owned(),
            what: "apply site.yaml".to_owned(),
            comment: None,
            confirmed: true,
        }
    }

    #[test]
    fn a_version_is_a_file_below_a_line_about_it() {
        let text = version().head() + "taps:\n";
        let line = "# quiver-version: {\"number\":42,\"time\":\"2026-11-22T00:31:20Z\",\"author\":\"alice\",\
            \"what\":\"apply site.yaml\"}\ntaps:\n";
        assert_eq!(text, line);
        assert_eq!(Version::read(&text), Ok((version(), "taps:\n")));
        let odd = Version { comment: Some("two\nlines \"é\"".to_owned()), confirmed: false, ..version() };
        assert_eq!(Version::read(&odd.head()), Ok((odd.clone(), "")));
        for text in ["", "taps:\n", "# quiver-version: {}\n", "# quiver-version: 1", &line[1..]] {
            assert_eq!(Version::read(text), Err(Malformed), "{text}");
        }
    }
}
