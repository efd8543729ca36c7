//! The control task that serves the whole data plane.

use std::time::Duration;

use quiver_control::Control;
use quiver_engine::{Backing, Dataplane, PoolError};

/// Interval between rounds that free unused state of workers and refill the store of buffers.
const UPKEEP: Duration = Duration::from_millis(10);
/// The same while nothing changes: pauses double up to this.
///
/// PERF: waking up for nothing is all that an idle daemon does, and took 60 us each time on a virtual machine.
const UPKEEP_IDLE: Duration = Duration::from_millis(80);
/// Below this many stored buffers for each worker, the pool grows.
const STORED_LOW: usize = 2048;
/// Buffers made at once when the pool grows.
const GROWTH: u32 = 16_384;

/// Warning and remedy if buffers do not use reserved huge pages; none if they do.
pub fn downgrade(backing: Backing, are_shared: bool) -> Option<&'static str> {
    match (backing, are_shared) {
        (Backing::Huge, _) => None,
        (Backing::Transparent, _) => Some(
            "no huge pages are reserved, so packet buffers use transparent ones; for full speed: sysctl vm.nr_hugepages=64",
        ),
        (Backing::Plain, false) => Some(
            "the system grants no huge pages at all, so packet buffers use 4 KB pages; for full speed: sysctl vm.nr_hugepages=64",
        ),
        (Backing::Plain, true) => Some(
            "too few huge pages are reserved for all packet buffers, and shared ones cannot use transparent ones, so they use \
             4 KB pages; for full speed: sysctl vm.nr_hugepages=N, 2 MB each, or fewer by --buffers-limit",
        ),
    }
}

/// Frees state that workers no longer read, and grows the pool before it runs dry.
pub async fn upkeep(control: Control) {
    let (mut at_limit, mut pause, mut stored) = (false, UPKEEP, 0);
    loop {
        control.sleep(pause).await;
        let dataplane = control.room::<Dataplane>();
        let (freed, buffers) = (dataplane.reclaim(), dataplane.buffers());
        let stored_before = std::mem::replace(&mut stored, buffers.stored());
        let is_idle = freed == 0 && dataplane.domain().pending() == 0 && stored == stored_before;
        pause = if is_idle { (pause * 2).min(UPKEEP_IDLE) } else { UPKEEP };
        if !at_limit && stored < STORED_LOW * dataplane.workers() {
            let before = buffers.backing();
            match buffers.grow(GROWTH) {
                Ok(made) => {
                    tracing::info!("{made} packet buffers more: {} of {}", buffers.count(), buffers.limit());
                    let now = Some(buffers.backing()).filter(|now| *now != before);
                    if let Some(sentence) = now.and_then(|now| downgrade(now, false)) {
                        tracing::warn!("the {made} buffers that were added: {sentence}");
                    }
                }
                Err(error) => {
                    at_limit = matches!(error, PoolError::AtLimit { .. });
                    tracing::warn!("{error}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_down_has_a_sentence_of_its_own() {
        let all = [(Backing::Transparent, false), (Backing::Plain, false), (Backing::Plain, true)];
        let mut said: Vec<_> = all.iter().filter_map(|(backing, shared)| downgrade(*backing, *shared)).collect();
        said.dedup();
        assert_eq!(said.len(), 3);
        assert!(said.iter().all(|sentence| sentence.contains("vm.nr_hugepages")));
        assert_eq!(downgrade(Backing::Huge, true), None);
    }
}
