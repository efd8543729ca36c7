//! Runs seeds.

use crate::coroutine::wait_at_seams;
use crate::log::Log;
use crate::run::{Failure, Report, Settings};
use crate::world;

/// Runs a seed.
pub fn run(seed: u64, settings: Settings) -> Result<Report, Failure> {
    let mut log = Log::new(settings.print);
    let ended = world::begin(seed, settings, &mut log);
    wait_at_seams(false);
    ended.map_err(|what| Failure { seed, step: log.now(), what, events: log.end(), settings })
}
