//! The room on the control side: the sessions, once an interface has any, and their settings.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use quiver_control::{Control, Signal};
use quiver_engine::channel::Inbox;
use quiver_engine::{Domain, MetadataKey, Publisher, Snapshot};

use crate::sessions::{Mark, Sessions, Shared, TICKS};
use crate::tenant::TenantCounters;

/// Settings of all sessions, which are fixed when the first interface has sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionDefaults {
    /// Sessions there may be.
    pub sessions: usize,
    /// Interval in which sessions are looked at: they end at most this much later than their timeout says.
    pub interval: Duration,
}

impl Default for SessionDefaults {
    /// As VPP: 2^19 sessions, and 1 s.
    fn default() -> SessionDefaults {
        SessionDefaults { sessions: 1 << 19, interval: Duration::from_secs(1) }
    }
}

/// Sessions there may be at most.
pub const SESSIONS_MAX: usize = 1 << 24;

/// The room.
pub struct Room {
    shared: Publisher<Shared>,
    /// Settings; they apply to sessions that begin later.
    defaults: SessionDefaults,
    /// Hears of the first session of a worker; until the rounds begin, which have it then.
    begun: Option<Inbox<()>>,
    /// By which packets carry their session.
    pub(crate) mark: MetadataKey<Mark>,
    /// Records rest, or sessions are to be ended: a round comes soon.
    pub(crate) changed: Signal,
    /// Sessions that the table keeps room for.
    margin: usize,
}

impl Room {
    pub(crate) fn new(domain: &Domain, begun: Inbox<()>, mark: MetadataKey<Mark>) -> Room {
        let (defaults, begun) = (SessionDefaults::default(), Some(begun));
        Room { shared: Publisher::new(domain, None), defaults, begun, mark, changed: Signal::new(), margin: 0 }
    }
    /// Makes the table of sessions, unless it is there; then `begun` hears of the first session of a worker.
    ///
    /// # Errors
    /// If the system refuses the address space of the table.
    pub(crate) fn make(&mut self, workers: usize, counters: &TenantCounters) -> io::Result<Option<Inbox<()>>> {
        if self.begun.is_none() {
            return Ok(None);
        }
        let SessionDefaults { sessions, interval } = self.defaults;
        let interval = (interval.as_secs_f64() * f64::from(TICKS)).round().clamp(1.0, f64::from(1 << 20)) as u32;
        let sessions = Sessions::new(workers, (sessions.clamp(1, SESSIONS_MAX), interval), secret(), counters)?;
        sessions.set_margin(self.margin.min(sessions.capacity() / 2));
        self.shared.publish(Some(Arc::new(sessions)));
        Ok(self.begun.take())
    }
    /// The sessions for workers.
    pub(crate) fn snapshot(&self) -> Snapshot<Shared> {
        self.shared.snapshot()
    }
    /// The sessions; None until an interface has any.
    pub fn sessions(&self) -> Option<Arc<Sessions>> {
        self.shared.current().clone()
    }
    /// Sets how many sessions the table keeps room for.
    ///
    /// # Errors
    /// If they are more than half of all: that number.
    pub(crate) fn set_margin(&mut self, margin: usize) -> Result<(), usize> {
        let sessions = self.sessions();
        let most = sessions.as_ref().map_or(self.defaults.sessions, |sessions| sessions.capacity()) / 2;
        if margin > most {
            return Err(most);
        }
        self.margin = margin;
        sessions.into_iter().for_each(|sessions| sessions.set_margin(margin));
        Ok(())
    }
    /// Sessions that the table keeps room for.
    pub(crate) fn margin(&self) -> usize {
        self.margin
    }
    /// Settings of all sessions.
    pub fn defaults(&self) -> SessionDefaults {
        self.defaults
    }
}

/// A secret for a hash of keys.
pub fn secret() -> [u64; 4] {
    // Each of these has a secret of its own.
    [(); 4].map(|()| RandomState::new().build_hasher().finish())
}

/// Sessions there may be, of all rooms together.
pub fn limit(control: &Control) -> usize {
    let room = control.room::<Room>();
    room.sessions().map_or(room.defaults().sessions, |sessions| sessions.capacity())
}

/// Sets the settings of all sessions; to be called before an interface has any.
pub fn set_session_defaults(control: &Control, defaults: SessionDefaults) {
    control.room_mut::<Room>().defaults = defaults;
}
