//! The control task that serves the whole data plane.

use std::time::Duration;

use quiver_control::Control;
use quiver_engine::{Dataplane, PoolError};

/// How often what workers no longer read is freed, and the buffers' store is looked at.
const UPKEEP: Duration = Duration::from_millis(10);
/// The same while nothing changes: pauses double up to this.
///
/// PERF: waking up for nothing is all that an idle daemon does, and took 60 us each time on a virtual machine.
const UPKEEP_IDLE: Duration = Duration::from_millis(80);
/// Below this many stored buffers for each worker, the pool grows.
const STORED_LOW: usize = 2048;
/// Buffers made at once when the pool grows.
const GROWTH: u32 = 16_384;

/// Frees what workers no longer read, and grows the pool before it runs dry.
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
            match buffers.grow(GROWTH) {
                Ok(made) => tracing::info!("{made} packet buffers more: {} of {}", buffers.count(), buffers.limit()),
                Err(error) => {
                    at_limit = matches!(error, PoolError::AtLimit { .. });
                    tracing::warn!("{error}");
                }
            }
        }
    }
}
