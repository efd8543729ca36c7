//! Which buffers are in somebody's hands: checked in builds that are simulated, and nothing in all others.

use quiver_table::simulation::SIMULATED;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Findings kept at most: the first ones tell.
const FINDINGS_MAX: usize = 16;

/// A bit for each buffer: whether somebody holds it.
pub(super) struct Ledger {
    held: Box<[AtomicU64]>,
    findings: Mutex<Vec<String>>,
    /// The planted bug: what a full transmit queue leaves is freed twice.
    double_free: AtomicBool,
    /// The planted bug: of several bundles that were handed over, only the first one is seen.
    lost_handoff: AtomicBool,
}

impl Ledger {
    pub fn new(limit: u32) -> Ledger {
        let words = if SIMULATED { limit as usize / 64 + 1 } else { 0 };
        let held = (0..words).map(|_| AtomicU64::new(0)).collect();
        let (double_free, lost_handoff) = (AtomicBool::new(false), AtomicBool::new(false));
        Ledger { held, findings: Mutex::default(), double_free, lost_handoff }
    }
    /// Notes that somebody got the buffer.
    #[inline(always)]
    pub fn taken(&self, id: u32) {
        if SIMULATED && self.word(id).fetch_or(bit(id), Relaxed) & bit(id) != 0 {
            self.find(format!("buffer {id} was handed out while somebody held it"));
        }
    }
    /// Notes that its holder gave it back. False if nobody held it: then it must not be freed again.
    #[inline(always)]
    pub fn freed(&self, id: u32) -> bool {
        let held = !SIMULATED || self.word(id).fetch_and(!bit(id), Relaxed) & bit(id) != 0;
        if !held {
            self.find(format!("double free: buffer {id} was freed while nobody held it"));
        }
        held
    }
    /// Checks that somebody holds the buffer whose bytes are looked at.
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

#[cfg(feature = "simulation")]
impl super::Buffers {
    /// Plants a bug for the simulation to find.
    pub fn plant_double_free(&self) {
        self.0.ledger.double_free.store(true, Relaxed);
    }
    /// Plants another one.
    pub fn plant_lost_handoff(&self) {
        self.0.ledger.lost_handoff.store(true, Relaxed);
    }
    /// Takes what was found wrong with who holds which buffer.
    pub fn findings(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.ledger.findings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(all(test, feature = "simulation"))]
mod tests {
    use crate::Buffers;
    use crate::buffer::Raw;

    #[test]
    fn a_second_free_and_a_late_look_are_noticed_and_do_no_harm() {
        let buffers = Buffers::new(64, 64).expect("memory");
        let mut pool = buffers.pool().expect("a pool");
        let packet = pool.packet(b"packet").expect("a buffer");
        let raw: Raw = packet.disown();
        assert_eq!(pool.bytes_of(raw), b"packet");
        let before = pool.local();
        pool.free_raw(raw);
        pool.free_raw(raw);
        assert_eq!(pool.local(), before + 1, "it went back once");
        assert_ne!(pool.bytes_of(raw), b"packet", "freed buffers are poisoned");
        let findings = buffers.findings().join("\n");
        assert!(
            findings.starts_with("double free: buffer") && findings.contains("\nuse after free: buffer"),
            "{findings}"
        );
    }
}
