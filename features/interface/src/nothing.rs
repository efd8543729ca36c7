//! Queues without a device, for control sides that have no outside.

use quiver_engine::graph::NodeId;
use quiver_engine::rx::RxContext;
use quiver_engine::tx::{Batch, TxContext};
use quiver_engine::{Frame, RxQueue, TxQueue};

use crate::interfaces::Queues;

/// Receives nothing, ever, and says when there would be something, as devices do.
struct Silence;

impl RxQueue for Silence {
    fn receive(&mut self, _: &mut RxContext, _: &mut Frame) -> usize {
        0
    }
    fn wake_at(&self) -> Option<u64> {
        Some(u64::MAX)
    }
}

/// Takes all and sends nothing.
struct Nowhere;

impl TxQueue for Nowhere {
    fn transmit(&mut self, _: &mut TxContext, batch: &mut Batch) -> usize {
        batch.len()
    }
}

impl Queues {
    /// Queues of a driver whose device is not there: they receive nothing, and send nothing.
    pub fn of_nothing(input: NodeId, rx: usize, workers: usize) -> Queues {
        let silence = |_| Box::new(Silence) as Box<dyn RxQueue>;
        let nowhere = |_| Box::new(Nowhere) as Box<dyn TxQueue>;
        Queues { input, rx: (0..rx).map(silence).collect(), tx: (0..workers).map(nowhere).collect() }
    }
}
