//! The control task that serves the whole data plane.

use std::time::Duration;

use quiver_control::Control;
use quiver_engine::{Dataplane, PoolError};

/// How often what workers no longer read is freed, and the buffers' store is looked at.
const UPKEEP: Duration = Duration::from_millis(10);
/// Below this many stored buffers for each worker, the pool grows.
const STORED_LOW: usize = 2048;
/// Buffers made at once when the pool grows.
const GROWTH: u32 = 16_384;

/// Frees what workers no longer read, and grows the pool before it runs dry.
pub async fn upkeep(control: Control) {
    let mut at_limit = false;
    loop {
        control.sleep(UPKEEP).await;
        let dataplane = control.room::<Dataplane>();
        dataplane.reclaim();
        let buffers = dataplane.buffers();
        if !at_limit && buffers.stored() < STORED_LOW * dataplane.workers() {
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
