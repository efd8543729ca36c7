//! Quiver's extension of UTI: how, on which machine and how reliably a result was measured.

use std::collections::BTreeMap;

use quiver_energy::Energy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::Latency;
use crate::value::{Amount, Time};

/// The version of [`Extension`] that is written and read here.
pub const EXTENSION: u32 = 1;

/// A document's object `quiver`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// Version of this object: [`EXTENSION`].
    #[schemars(extend("const" = EXTENSION))]
    pub version: u32,
    /// Where it was measured.
    pub machine: Machine,
    /// Versions of everything that took part, by name: `quiver`, `vpp`, `kernel`.
    pub versions: BTreeMap<String, String>,
    /// Configuration of the device and the generator, by name, in their own languages.
    pub configuration: BTreeMap<String, String>,
    /// Counters of the device and the generator before the first trial.
    pub counters_before: Counters,
    /// The same behind the last one.
    pub counters_after: Counters,
    /// Results that have no UTI type, by names with units: `closed_loop_pps`, `burst_frames`.
    pub figures: Vec<Figure>,
    /// Times that have no UTI type, by name: of connections to their handshake's end (`connect`), to the first byte of the answer
    /// (`first_byte`) and to their end (`completion`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub times: BTreeMap<String, Latency>,
    /// All, those that were repeated too, in the order of time.
    pub trials: Vec<Trial>,
}

/// Counters of everything that took part, by its name and theirs.
pub type Counters = BTreeMap<String, BTreeMap<String, u64>>;

/// Where it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// `x86_64`.
    pub architecture: String,
    /// The model's name, as the kernel tells it.
    pub processor: String,
    /// Cores that may be used.
    pub cores: u32,
    /// In bytes.
    pub memory_bytes: u64,
    /// Name and release.
    pub kernel: String,
    /// Hypervisor or container that the machine runs in, if known: `kvm`, `docker`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub virtualisation: Option<String>,
    /// Ticks of the time-stamp counter in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Amount")]
    pub tsc_hz: Option<Amount>,
}

/// The [`Figure`] of how many results of a document the generator limited, and not the device: none, or some.
pub const LIMITED: &str = "limited_by_generator";

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of the figure.
    pub name: String,
    /// The number.
    pub value: Amount,
    /// Its unit.
    pub unit: String,
}

/// A trial, with all that says how much it can be trusted. What was not measured is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// When it began.
    pub start_time: Time,
    /// The device under test, where devices take turns: `quiver`, `vpp`.
    pub device: String,
    /// In packets per second and direction.
    pub load_pps: Amount,
    /// How long packets should be sent.
    pub intended_seconds: Amount,
    /// How long it took in all.
    pub effective_seconds: Amount,
    /// In both directions together.
    pub sent_packets: u64,
    /// In both directions together.
    pub received_packets: u64,
    /// Packets that are accounted for elsewhere, by the name of the counter.
    pub losses: BTreeMap<String, u64>,
    /// Whether the generator, not the device, was the limit.
    pub is_limited_by_generator: bool,
    /// Why it does not count, and was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub repeated_because: Option<String>,
    /// Cost of a packet to the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Busy")]
    pub busy: Option<Busy>,
    /// How far the cores were apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RoundTrip")]
    pub core_round_trip: Option<RoundTrip>,
    /// The mean number of tasks that ran or wanted to, over the last minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Amount")]
    pub load_average: Option<Amount>,
    /// CPU seconds that the host took away during the trial, over all cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Amount")]
    pub steal_seconds: Option<Amount>,
    /// The clock of the device's core, in Hz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Amount")]
    pub clock_hz: Option<Amount>,
    /// Energy that the trial used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Energy")]
    pub energy: Option<Energy>,
}

/// Cost of a packet to the device, by the way it is measured. The variants are different quantities; compare only equal
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "measure", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Busy {
    /// Quiver: ticks of the time-stamp counter in thread-CPU time of turns that had packets.
    ThreadTicks {
        /// Per packet.
        ticks_per_packet: Amount,
    },
    /// VPP: the sum of its nodes' clocks, empty polls of input nodes taken out by an idle run.
    NodeClocks {
        /// Per packet.
        ticks_per_packet: Amount,
        /// The part of these ticks that was taken out; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "TakenOut")]
        taken_out: Option<TakenOut>,
    },
    /// testpmd: its own record of core cycles.
    CoreCycles {
        /// Per packet.
        ticks_per_packet: Amount,
        /// The part of these cycles that was taken out; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "TakenOut")]
        taken_out: Option<TakenOut>,
    },
    /// The kernel: CPU time.
    CpuTime {
        /// Per packet.
        nanoseconds_per_packet: Amount,
    },
}

/// Ticks that a device counted although the system had its workers off their cores. What is left, or zero, is
/// `ticks_per_packet`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakenOut {
    /// All that it counted, per packet.
    pub counted_ticks_per_packet: Amount,
    /// Off the core, per packet.
    pub off_core_ticks_per_packet: Amount,
}

impl Busy {
    /// Cost of one packet, in the unit of its kind. Only costs of the same kind are comparable.
    pub fn amount(&self) -> Amount {
        match *self {
            Busy::ThreadTicks { ticks_per_packet }
            | Busy::NodeClocks { ticks_per_packet, .. }
            | Busy::CoreCycles { ticks_per_packet, .. } => ticks_per_packet,
            Busy::CpuTime { nanoseconds_per_packet } => nanoseconds_per_packet,
        }
    }
}

/// A word sent from core to core and back. A trial during which it changed is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundTrip {
    /// Before the trial, in nanoseconds.
    pub before_ns: Amount,
    /// Behind it, in nanoseconds.
    pub after_ns: Amount,
}
