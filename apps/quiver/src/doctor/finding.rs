//! One line of the examination.

use serde::Serialize;

/// Verdict on a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Quiver works, but slower or with less.
    Degraded,
    /// quiverd cannot do its work.
    Missing,
}

impl Verdict {
    /// The word in the text and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
        }
    }
}

/// Finding about one requirement.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The requirement.
    pub about: &'static str,
    /// Its verdict.
    pub verdict: Verdict,
    /// State of this machine.
    pub found: String,
    /// Remedy for a better verdict.
    pub remedy: Option<String>,
}

impl Finding {
    /// Everything is as it should be.
    pub fn ok(about: &'static str, found: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Ok, found: found.into(), remedy: None }
    }

    /// It works, and would be better with the remedy.
    pub fn degraded(about: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Degraded, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// It does not work without the remedy.
    pub fn missing(about: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Missing, found: found.into(), remedy: Some(remedy.into()) }
    }
}
