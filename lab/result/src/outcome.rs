//! The outcome of a test, by its type.

use std::num::NonZeroU64;

use quiver_verdict::Moments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::{Amount, BandwidthUnit, Microseconds, Packets, Quantity, Rate, RateUnit, Requests, Seconds};

/// UTI's `result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Outcome {
    /// Nothing that the model has a place for: the test failed, or found [figures](crate::Figure).
    Unknown {},
    /// The receive rate while the generator sends at its maximum rate.
    Mrr {
        /// Receive rate of each trial.
        receive_rate: SampledRate,
    },
    /// The highest loads without loss, and with 0.5 % of it.
    Ndrpdr {
        /// Without loss.
        ndr: Bounds,
        /// With 0.5 % loss.
        pdr: Bounds,
        /// Delays of the one direction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Latencies")]
        latency_forward: Option<Box<Latencies>>,
        /// Delays of the other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Latencies")]
        latency_reverse: Option<Box<Latencies>>,
    },
    /// The load at which one in ten million packets is lost in the long run.
    Soak {
        /// Its estimate, less and more its deviation.
        critical_rate: Bounds,
    },
    /// Packets lost while the configuration changes.
    Reconf {
        /// The load that was held.
        aggregate_rate: Rate,
        /// How much.
        loss: Loss,
    },
    /// Transfers between applications.
    Hoststack {
        /// Bandwidth of the transfers.
        bandwidth: Quantity<BandwidthUnit>,
        /// Requests that were answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Quantity<Requests>")]
        completed_requests: Option<Quantity<Requests>>,
        /// Requests that were not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Quantity<Requests>")]
        failed_requests: Option<Quantity<Requests>>,
        /// Packets that were sent again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Quantity<Packets>")]
        retransmits: Option<Quantity<Packets>>,
        /// Latency of an answer, in the client's unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Quantity<String>")]
        latency: Option<Quantity<String>>,
        /// How long it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Quantity<Seconds>")]
        duration: Option<Quantity<Seconds>>,
        /// Rate of connections or requests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Quantity<RateUnit>")]
        rate: Option<Quantity<RateUnit>>,
    },
}

/// A load between two others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The highest that is known to be good.
    pub lower: Rate,
    /// The lowest that is known to be bad; none where the greatest load was good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rate")]
    pub upper: Option<Rate>,
}

/// Lost packets, and the time for which all packets would have been lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Lost packets.
    pub packet: Quantity<Packets>,
    /// Lost packets, divided by the rate.
    pub time: Quantity<Seconds>,
}

/// Rates of several trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampledRate {
    /// Packets, connections, requests or bits per second.
    pub rate: Samples<RateUnit>,
    /// Bits per second on the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Samples<BandwidthUnit>")]
    pub bandwidth: Option<Samples<BandwidthUnit>>,
}

/// Values with what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Samples<Unit> {
    /// Value of each trial.
    #[schemars(length(min = 1))]
    pub values: Vec<Amount>,
    /// Their average.
    pub avg: Amount,
    /// Their standard deviation, as jumpavg computes it: of these values, no estimate for others.
    pub stdev: Amount,
    /// Its unit.
    pub unit: Unit,
}

impl<Unit> Samples<Unit> {
    /// Average and deviation follow; without values there are none.
    pub fn of(values: Vec<Amount>, unit: Unit) -> Option<Self> {
        let moments = Moments::of(values.iter().map(|value| value.get().into()));
        let (avg, stdev) = (moments.average.try_into().ok()?, moments.deviation.try_into().ok()?);
        (!values.is_empty()).then_some(Samples { values, avg, stdev, unit })
    }
}

/// Delays at parts of the PDR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// At hardly any load.
    pub pdr_0: Latency,
    /// At 10 % of it.
    pub pdr_10: Latency,
    /// At half of it.
    pub pdr_50: Latency,
    /// At 90 % of it.
    pub pdr_90: Latency,
}

/// Delays of a trial, rounded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The least.
    pub min: u64,
    /// The mean.
    pub avg: u64,
    /// The greatest; not 0, which says that none was measured.
    pub max: NonZeroU64,
    /// All, as an HDR histogram of whole microseconds, compressed, in base64.
    pub hdrh: String,
    /// Microseconds.
    pub unit: Microseconds,
}
