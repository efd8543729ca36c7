//! Cases: how workers share packets.

/// Commands that configure the path from a receiving interface to pg1.
pub type Configure = fn(&str) -> Vec<String>;

/// How workers share packets.
pub struct Case {
    pub name: &'static str,
    pub workers: usize,
    /// The interfaces that receive, that of each worker with packets of its own.
    pub receive: &'static [&'static str],
    /// Workers that the packets of pg0 are handed to, as the command has them.
    pub handoff: Option<&'static str>,
}
