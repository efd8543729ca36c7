//! Settings of neighbor resolution: those of all interfaces, and those that one interface overrides.

use std::time::Duration;

use quiver_control::ObjectError;

quiver_control::choice! {
    /// Action for packets to neighbors whose MAC addresses are not known.
    pub enum Unresolved {
        /// Packets are queued while control sends requests.
        Queue = "queue",
        /// Packets are dropped; each triggers a request, at most one per millisecond.
        Drop = "drop",
    } as "unresolved", "queue or drop";
}

quiver_control::choice! {
    /// Action for requests for our addresses from hosts outside of the link's subnets.
    pub enum Strangers {
        /// Requests are answered: networks with /32 or /128 addresses depend on it.
        Answer = "answer",
        /// Requests are ignored, and so are ARP requests whose sender MAC address is not the frame's source.
        Ignore = "ignore",
    } as "strangers", "answer or ignore";
}

/// Values of settings that are not configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborDefaults {
    /// Packets to unresolved neighbors: queued or dropped.
    pub unresolved: Unresolved,
    /// Requests from hosts outside of the link's subnets: answered or ignored.
    pub strangers: Strangers,
}

impl Default for NeighborDefaults {
    /// Defaults as RFC 1122, 2.3.2.2, recommends, and as networks of single addresses need them.
    fn default() -> NeighborDefaults {
        NeighborDefaults { unresolved: Unresolved::Queue, strangers: Strangers::Answer }
    }
}

/// Questions before a neighbour counts as silent that may be set.
pub(crate) const PROBES_MAX: u32 = 20;
/// Seconds between them.
pub(crate) const INTERVAL_MAX: u32 = 60;

/// The effective settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manners {
    pub unresolved: Unresolved,
    pub strangers: Strangers,
    pub limit: usize,
    /// After so long without a word from it, a neighbour is probed, if ever.
    pub age: Option<Duration>,
    pub probes: u32,
    pub interval: Duration,
    pub recycle: bool,
}

/// Settings that an interface overrides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnManners {
    pub limit: Option<usize>,
    /// None says nothing; Some(None) keeps neighbours.
    pub age: Option<Option<Duration>>,
    pub probes: Option<u32>,
    pub interval: Option<Duration>,
    /// Timers from router advertisements, used where nothing is configured.
    pub heard: Timers,
}

/// Timers from router advertisements: how long a neighbor is reachable after it was heard, and the interval between
/// solicitations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timers {
    /// ReachableTime of RFC 4861, 6.3.2.
    pub reachable: Option<Duration>,
    /// RetransTimer.
    pub retransmission: Option<Duration>,
}

impl OwnManners {
    /// The effective settings of an interface.
    pub fn over(self, all: Manners) -> Manners {
        // Questions are asked by the second (RFC 1122, 2.3.2.1).
        let seconds = |time: Duration| Duration::from_secs_f64(time.as_secs_f64().ceil().max(1.0));
        // Nobody on the link may keep us from asking.
        let most = Duration::from_secs(INTERVAL_MAX.into());
        let interval = self.interval.or(self.heard.retransmission.map(|time| seconds(time).min(most)));
        Manners {
            age: self.age.unwrap_or(self.heard.reachable.map(seconds).or(all.age)),
            probes: self.probes.unwrap_or(all.probes),
            interval: interval.unwrap_or(all.interval),
            ..all
        }
    }
}

/// Checks the number of probes and their interval in seconds.
pub(crate) fn check_numbers(probes: Option<u32>, interval: Option<u32>) -> Result<(), ObjectError> {
    for (field, value, most) in [("probes", probes, PROBES_MAX), ("interval", interval, INTERVAL_MAX)] {
        if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
            let what = format!("{value} is out of range");
            return Err(ObjectError::field(field, what).remedy(format!("give 1 to {most}")));
        }
    }
    Ok(())
}
