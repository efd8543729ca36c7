//! An inspector that is connected.

use std::sync::Arc;

use crate::instance::Instance;
use crate::message::MODES;
use crate::pair::Pair;

/// An inspector.
#[derive(Default)]
pub struct Client {
    /// Version of its libdaq, a byte for each part from the highest on; 0 until it has said so.
    pub version: u32,
    /// Threads that inspect.
    pub threads: u16,
    /// Mode of operation, an index of [`MODES`].
    pub mode: u8,
    /// Memories that it was told of, by their instances' serials; None until it has introduced itself.
    pub(crate) pools: Option<Vec<Option<u64>>>,
    /// Its queue pairs.
    pub(crate) pairs: Vec<(Arc<Instance>, Arc<Pair>)>,
}

impl Client {
    /// The name of its mode.
    pub fn mode_name(&self) -> &'static str {
        MODES.get(usize::from(self.mode)).copied().unwrap_or_default()
    }
    /// Instance, worker and queue of its pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, usize, u16)> {
        self.pairs.iter().map(|(instance, pair)| (&*instance.name, pair.worker, pair.queue))
    }
    /// Whether it has mapped the memory of an instance.
    pub(crate) fn knows(&self, instance: &Instance) -> bool {
        let serial = self.pools.as_ref().and_then(|pools| pools.get(instance.number as usize).copied().flatten());
        serial == Some(instance.serial)
    }
}
