//! A trial: its traffic, and its results.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

/// Packets that were lost or dropped on the way, by the name of the node and the reason there.
pub type Drops = BTreeMap<String, u64>;

/// The traffic of a trial.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sending {
    /// A fixed rate in packets per second of each direction, and a total number of packets.
    Paced {
        /// Packets per second.
        rate: u64,
        /// Packets in all.
        packets: u64,
    },
    /// As fast as possible, for a time.
    Flat {
        /// The duration.
        time: Duration,
    },
    /// A window of packets in each direction that circle through the device, for so long: the next comes when one is back.
    Window {
        /// Packets of each direction that are on their way at most.
        packets: u32,
        /// The duration.
        time: Duration,
    },
}

/// Optional measurements of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Watch {
    /// How long packets take. Costs the generator time.
    pub latency: bool,
    /// How evenly they leave.
    pub gaps: bool,
}

/// Packet counts of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Made, and put on the way to the device.
    pub sent: u64,
    /// Back, each once.
    pub received: u64,
    /// Back once more.
    pub duplicated: u64,
    /// Back behind a later one.
    pub reordered: u64,
}

/// One direction of a trial.
#[derive(Clone, PartialEq, Debug)]
pub struct Direction {
    /// Its packet counts.
    pub counts: Counts,
    /// How long they took, as `show packet-generator` tells it; with the HDR histogram.
    pub latency: Option<Value>,
    /// The times between them, the same way.
    pub gaps: Option<Value>,
}

/// Result of a trial.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Results of the packets that enter the device by its first port, and by its second.
    pub directions: [Direction; 2],
    /// Packets that should have been sent, in both directions; none where there was no number.
    pub intended: Option<u64>,
    /// How long packets were sent.
    pub sending: Duration,
    /// Packets that were back within that time, in both directions.
    pub within: u64,
    /// How long it took in all.
    pub effective: Duration,
    /// Losses of the generator itself, by node and reason.
    pub drops: Drops,
}

impl Outcome {
    /// The sum of both directions.
    pub fn counts(&self) -> Counts {
        let [one, other] = [&self.directions[0].counts, &self.directions[1].counts];
        Counts {
            sent: one.sent + other.sent,
            received: one.received + other.received,
            duplicated: one.duplicated + other.duplicated,
            reordered: one.reordered + other.reordered,
        }
    }

    /// Packets of both directions that did not come back.
    pub fn lost(&self) -> u64 {
        let Counts { sent, received, .. } = self.counts();
        sent.saturating_sub(received)
    }

    /// Packets that were not sent in time: the generator is too slow.
    pub fn unsent(&self) -> u64 {
        self.intended.map_or(0, |intended| intended.saturating_sub(self.counts().sent))
    }

    /// The rate at which packets came back while others were sent, per second, in both directions.
    pub fn receive_rate(&self) -> f64 {
        self.within as f64 / self.sending.as_secs_f64().max(1e-9)
    }
}
