//! The feature `simulation`: seams where a simulation lets other threads run between two steps, and an account of grace
//! periods that does not count epochs. Without the feature all of it compiles to nothing.
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether this build can be simulated.
pub const SIMULATED: bool = cfg!(feature = "simulation");

thread_local! {
    static HOOK: Cell<Option<fn(&'static str)>> = const { Cell::new(None) };
}

/// A place between two steps of a thread, with no lock held: other threads may do anything here. A simulation switches to
/// another of its coroutines; everywhere else it is nothing.
#[inline(always)]
pub fn seam(place: &'static str) {
    if SIMULATED && let Some(hook) = HOOK.get() {
        hook(place);
    }
}

/// Chooses what happens at the seams that this OS thread reaches.
#[cfg(feature = "simulation")]
pub fn at_seams(hook: Option<fn(&'static str)>) {
    HOOK.set(hook);
}

/// Start of each reading section and time of each retirement: the rule of the epochs, implemented differently.
#[derive(Default)]
pub(crate) struct Account {
    /// Ticks at every beginning of reading and at every retirement.
    clock: AtomicU64,
    readers: Mutex<Vec<Arc<Reading>>>,
    findings: Mutex<Vec<String>>,
    /// The planted bug: reclamation does not wait for readers.
    #[cfg(feature = "simulation")]
    hasty: std::sync::atomic::AtomicBool,
}

/// When a reader began to read; 0 while it holds no reference.
#[derive(Default)]
pub(crate) struct Reading(AtomicU64);

impl Reading {
    #[inline(always)]
    pub fn begin(&self, account: &Account) {
        if SIMULATED && self.0.load(Ordering::Relaxed) == 0 {
            self.0.store(account.tick(), Ordering::Relaxed);
        }
    }
    #[inline(always)]
    pub fn end(&self) {
        if SIMULATED {
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

impl Account {
    pub fn register(&self) -> Arc<Reading> {
        let reading = Arc::new(Reading::default());
        if SIMULATED {
            lock(&self.readers).push(Arc::clone(&reading));
        }
        reading
    }
    /// The moment, later than all before.
    #[inline(always)]
    pub fn tick(&self) -> u64 {
        if SIMULATED { self.clock.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 }
    }
    /// Whether what was retired at a moment may be freed now. If not, notes the reader that still holds it.
    pub fn may_free(&self, retired: u64) -> bool {
        let holds = |reading: &Arc<Reading>| (1..retired).contains(&reading.0.load(Ordering::Relaxed));
        let holder = if SIMULATED { lock(&self.readers).iter().position(holds) } else { None };
        if let Some(reader) = holder {
            let finding = format!("use after free: reader {reader} may still refer to what is being freed");
            lock(&self.findings).push(finding);
        }
        holder.is_none()
    }
    /// Plants the bug.
    #[cfg(feature = "simulation")]
    pub fn be_hasty(&self) {
        self.hasty.store(true, Ordering::Relaxed);
    }
    #[cfg(feature = "simulation")]
    pub fn take_findings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.findings))
    }
    #[inline(always)]
    pub fn is_hasty(&self) -> bool {
        #[cfg(feature = "simulation")]
        return self.hasty.load(Ordering::Relaxed);
        #[cfg(not(feature = "simulation"))]
        false
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, feature = "simulation"))]
mod tests {
    use crate::{Domain, Publisher};

    #[test]
    fn a_skipped_grace_period_is_noticed_and_does_no_harm() {
        let domain = Domain::new();
        let mut reader = domain.register();
        let mut publisher = Publisher::new(&domain, String::from("old"));
        let snapshot = publisher.snapshot();
        let old = snapshot.read(reader.guard());
        publisher.publish(String::from("new"));
        assert_eq!((domain.reclaim(), domain.findings().len()), (0, 0), "the reader is waited for");
        domain.plant_skipped_grace_period();
        assert_eq!((domain.reclaim(), domain.findings().len()), (1, 1));
        assert_eq!(old, "old");
        reader.quiescent();
        publisher.publish(String::from("newer"));
        assert_eq!((domain.reclaim(), domain.findings().len()), (1, 0), "nobody was reading");
    }
}
