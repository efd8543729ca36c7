//! Hooks for simulations: planted bugs, and the findings of the ledger.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use super::Buffers;

impl Buffers {
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

#[cfg(test)]
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
