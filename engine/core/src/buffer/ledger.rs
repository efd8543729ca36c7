//! The ledger of buffers in use: checked in simulated builds, and empty in all others.

use quiver_table::simulation::SIMULATED;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Findings kept at most: the first ones tell.
const FINDINGS_MAX: usize = 16;

/// A bit for each buffer: whether it is in use.
pub(super) struct Ledger {
    held: Box<[AtomicU64]>,
    pub(super) findings: Mutex<Vec<String>>,
    /// The planted bug: what a full transmit queue leaves is freed twice.
    pub(super) double_free: AtomicBool,
    /// The planted bug: of several bundles that were handed over, only the first one is seen.
    pub(super) lost_handoff: AtomicBool,
}

impl Ledger {
    pub fn new(limit: u32) -> Ledger {
        let words = if SIMULATED { limit as usize / 64 + 1 } else { 0 };
        let held = (0..words).map(|_| AtomicU64::new(0)).collect();
        let (double_free, lost_handoff) = (AtomicBool::new(false), AtomicBool::new(false));
        Ledger { held, findings: Mutex::default(), double_free, lost_handoff }
    }
    /// Marks a buffer as in use.
    #[inline(always)]
    pub fn taken(&self, id: u32) {
        if SIMULATED && self.word(id).fetch_or(bit(id), Relaxed) & bit(id) != 0 {
            self.find(format!("buffer {id} was handed out while somebody held it"));
        }
    }
    /// Marks a buffer as free. False if it was free already: then it must not be freed again.
    #[inline(always)]
    pub fn freed(&self, id: u32) -> bool {
        let held = !SIMULATED || self.word(id).fetch_and(!bit(id), Relaxed) & bit(id) != 0;
        if !held {
            self.find(format!("double free: buffer {id} was freed while nobody held it"));
        }
        held
    }
    /// Checks that the buffer whose bytes are accessed is in use.
    #[inline(always)]
    pub fn touched(&self, id: u32) {
        if SIMULATED && self.word(id).load(Relaxed) & bit(id) == 0 {
            self.find(format!("use after free: buffer {id} was looked at while nobody held it"));
        }
    }
    #[cold]
    fn find(&self, finding: String) {
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        if findings.len() < FINDINGS_MAX {
            findings.push(finding);
        }
    }
    fn word(&self, id: u32) -> &AtomicU64 {
        &self.held[id as usize / 64]
    }
    #[inline(always)]
    pub fn plants_double_free(&self) -> bool {
        SIMULATED && self.double_free.load(Relaxed)
    }
    #[inline(always)]
    pub fn plants_lost_handoff(&self) -> bool {
        SIMULATED && self.lost_handoff.load(Relaxed)
    }
}

fn bit(id: u32) -> u64 {
    1 << (id % 64)
}
