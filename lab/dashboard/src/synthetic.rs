//! Made-up documents in any number, the same ones for the same number: for tests of large stores, never for figures.
//!
//! They have noise of 0.3 %, steps at some revisions, spikes and failures; half of them are MRR, half NDRPDR with delays.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fastrand::Rng;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use quiver_energy::Energy;
use quiver_result::{
    Amount, BandwidthUnit, Bounds, Busy, Document, EXTENSION, Extension, Latencies, Latency, Machine, Microseconds,
    Outcome, Quantity, Rate, RateUnit, SampledRate, Samples, Stored, TestType, Time, Trial, UTI,
};

/// 2025-06-01T00:00:00Z.
const START: u64 = 1_748_736_000;

/// Documents of a series; with fewer documents in all, there are fewer series.
const RUNS: u64 = 100;

const FRAMES: [u64; 5] = [64, 128, 512, 1518, 9000];
const CORES: [u32; 4] = [1, 2, 4, 8];
const FUNCTIONS: [&str; 25] = [
    "ethip4-ip4base",
    "ethip4-ip4scale20k",
    "ethip4-ip4scale200k",
    "ethip4-ip4scale2m",
    "ethip4-ip4bgp",
    "ethip6-ip6base",
    "ethip6-ip6scale20k",
    "ethip6-ip6bgp",
    "eth-l2xcbase",
    "eth-l2bdbasemaclrn",
    "eth-l2bdscale10k",
    "dot1q-l2bdbasemaclrn",
    "dot1q-ip4base",
    "ethip4-ip4base-iacl1",
    "ethip4-ip4base-iacl50",
    "ethip4-ip4base-copwhtlist",
    "ethip4vxlan-l2bdbase",
    "ethip4-geneve",
    "ethip4-ip4base-policer",
    "ethip6-ip6base-iacl1",
    "ethip4-ip4base-urpf",
    "ethip4udp-encap",
    "ethip4-ip4base-abf",
    "eth-l2xcscale",
    "dot1q-l2xcbase",
];

/// A pool of histograms: to make one takes longer than all else of a document.
const HISTOGRAMS: u64 = 64;

/// So many documents in the order of time, and where they would be stored.
pub fn documents(count: u64) -> impl Iterator<Item = Stored> {
    let series = count.div_ceil(RUNS).max(1);
    let histograms: Vec<Latency> = (0..HISTOGRAMS).filter_map(histogram).collect();
    (0..count).filter_map(move |number| {
        let document = document(number % series, number / series, &histograms)?;
        let path = PathBuf::from(format!("synthetic/{number}.json"));
        Some(Stored { path, document })
    })
}

/// Run `run` of series `series`.
fn document(series: u64, run: u64, histograms: &[Latency]) -> Option<Document> {
    let (mut own, mut random) = (Rng::with_seed(series), Rng::with_seed(series << 32 | run));
    let pick = |size: usize, divisor: u64| (series / divisor) as usize % size;
    let is_mrr = series.is_multiple_of(2);
    let frame = FRAMES[pick(FRAMES.len(), 2)];
    let cores = CORES[pick(CORES.len(), 10)];
    let function = FUNCTIONS[pick(FUNCTIONS.len(), 40)];
    let machine = pick(2, 1000) + pick(2, 4000) * 2;
    let device = ["quiver", "vpp"][pick(2, 2000)];
    let kind = if is_mrr { "mrr" } else { "ndrpdr" };
    let name = format!("1n1l-memif-{function}-{kind}");
    let long = format!("{frame}b-{cores}c-{name}");
    // Two steps somewhere, up or down by up to 8 %.
    let steps: [(u64, f64); 2] = [(); 2].map(|()| (own.u64(10..RUNS), 1.0 + (own.f64() - 0.5) * 0.16));
    let level = (4e6 + own.f64() * 2e7) * f64::from(cores).powf(0.95);
    let factor: f64 = steps.iter().filter(|(at, _)| run >= *at).map(|(_, factor)| factor).product();
    let noise = 1.0 + (random.f64() + random.f64() + random.f64() - 1.5) * 0.006;
    let spike = if random.u32(..100) == 0 { 0.8 } else { 1.0 };
    let pps = level * factor * noise * spike;
    let has_failed = random.u32(..200) == 0;
    let start =
        Time::unix(Duration::from_micros((START + run * 5 * 86_400 / 2 + series * 11) * 1_000_000 + 250_000)).ok()?;
    let seconds = if is_mrr { 12 } else { 240 };
    let end = Time::unix(start.since(Time::unix(Duration::ZERO).ok()?)? + Duration::from_secs(seconds)).ok()?;
    let bits = 8 * (frame + 20);
    let result = match (has_failed, is_mrr) {
        (true, _) => Outcome::Unknown {},
        (_, true) => mrr(pps, bits, &mut random)?,
        _ => ndrpdr(pps, bits, histograms, &mut random)?,
    };
    let version = format!("0.1.0-g{:07x}", 0x0275_0013_u64 + run / 2 * 7919);
    Some(Document {
        duration: amount(seconds as f64)?,
        dut_type: device.into(),
        dut_version: version.clone(),
        end_time: end,
        hosts: vec![format!("perf{}", machine + 1)],
        telemetry: Vec::new(),
        message: if has_failed { "the device did not start".into() } else { String::new() },
        passed: !has_failed,
        result,
        start_time: start,
        tags: ["PERFTEST", &kind.to_uppercase(), &format!("{frame}B"), &format!("{cores}C")]
            .map(str::to_owned)
            .to_vec(),
        test_documentation: String::new(),
        test_id: format!("{name}.{long}"),
        test_name_long: long,
        test_name_short: name,
        test_type: if is_mrr { TestType::Mrr } else { TestType::Ndrpdr },
        tg_type: "quiver".into(),
        tg_version: version.clone(),
        version: UTI.into(),
        quiver: Some(extension(machine, &version, start, pps, &mut random)?),
    })
}

fn extension(machine: usize, version: &str, start: Time, pps: f64, random: &mut Rng) -> Option<Extension> {
    let sent = (pps * 1.0) as u64;
    let trial = Trial {
        start_time: start,
        device: "quiver".into(),
        load_pps: amount(pps / 2.0)?,
        intended_seconds: amount(1.0)?,
        effective_seconds: amount(1.02)?,
        sent_packets: sent,
        received_packets: sent - sent / 1000,
        losses: BTreeMap::from([("tx-full".to_owned(), sent / 1000)]),
        is_limited_by_generator: false,
        repeated_because: None,
        busy: Some(Busy::ThreadTicks { ticks_per_packet: amount(2.6e9 / pps * (0.9 + random.f64() * 0.02))? }),
        core_round_trip: None,
        load_average: None,
        steal_seconds: None,
        clock_hz: None,
        energy: Some(Energy::CpuSeconds { cpu_seconds: 1.0, because: vec!["/sys: no sensor of energy".into()] }),
    };
    let counters =
        |value| BTreeMap::from([("quiver".to_owned(), BTreeMap::from([("memif-output/tx-full".to_owned(), value)]))]);
    Some(Extension {
        times: BTreeMap::new(),
        version: EXTENSION,
        machine: Machine {
            architecture: "x86_64".into(),
            processor: ["made up 9355", "made up 8462Y"][machine % 2].into(),
            cores: 8,
            memory_bytes: 64 << 30,
            kernel: "Linux 6.12.0".into(),
            virtualisation: None,
            tsc_hz: Some(amount([2.6e9, 2.0e9][machine % 2])?),
        },
        versions: BTreeMap::from([
            ("quiver".to_owned(), version.to_owned()),
            ("kernel".to_owned(), "6.12.0".to_owned()),
        ]),
        configuration: BTreeMap::from([("quiver".to_owned(), "interfaces:\n  memif0: {}\n  memif1: {}\n".to_owned())]),
        counters_before: counters(0),
        counters_after: counters(sent / 1000),
        figures: Vec::new(),
        trials: vec![trial],
    })
}

fn mrr(pps: f64, bits: u64, random: &mut Rng) -> Option<Outcome> {
    let values: Option<Vec<Amount>> = (0..10).map(|_| amount(pps * (1.0 + (random.f64() - 0.5) * 0.004))).collect();
    let values = values?;
    let line: Option<Vec<Amount>> = values.iter().map(|value| amount(value.get() * bits as f64)).collect();
    let rate = Samples::of(values, RateUnit::Pps)?;
    Some(Outcome::Mrr { receive_rate: SampledRate { rate, bandwidth: Samples::of(line?, BandwidthUnit::Unit) } })
}

fn ndrpdr(pps: f64, bits: u64, histograms: &[Latency], random: &mut Rng) -> Option<Outcome> {
    let rate = |pps: f64| {
        let bandwidth = Quantity { value: amount(pps * bits as f64)?, unit: BandwidthUnit::Unit };
        Some(Rate { rate: Quantity { value: amount(pps)?, unit: RateUnit::Pps }, bandwidth: Some(bandwidth) })
    };
    let bounds = |pps: f64| Some(Bounds { lower: rate(pps)?, upper: Some(rate(pps * 1.005)?) });
    let mut any = || random.choice(histograms).cloned();
    let mut delays = || Some(Box::new(Latencies { pdr_0: any()?, pdr_10: any()?, pdr_50: any()?, pdr_90: any()? }));
    Some(Outcome::Ndrpdr {
        ndr: bounds(pps * 0.97)?,
        pdr: bounds(pps)?,
        latency_forward: delays(),
        latency_reverse: delays(),
    })
}

/// Delays of a packet in ten thousand, with a tail.
fn histogram(seed: u64) -> Option<Latency> {
    let mut random = Rng::with_seed(seed);
    let mut histogram: Histogram<u64> = Histogram::new_with_max((1 << 36) - 1, 3).ok()?;
    // In microseconds, and every other one in nanoseconds, as in documents of before December 2026.
    let unit = if seed.is_multiple_of(2) { 1000 } else { 1 };
    for _ in 0..2000 {
        let nanoseconds = 5_000 + random.u64(..2_000) + (-random.f64().max(1e-9).ln() * 3_000.0) as u64;
        histogram.saturating_record((nanoseconds + unit / 2) / unit);
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).ok()?;
    let micros = |value: f64| (value * unit as f64 / 1000.0).round() as u64;
    Some(Latency {
        min: micros(histogram.min() as f64),
        avg: micros(histogram.mean()),
        max: NonZeroU64::new(micros(histogram.max() as f64))?,
        hdrh: STANDARD.encode(bytes),
        unit: Microseconds::Unit,
    })
}

fn amount(value: f64) -> Option<Amount> {
    value.try_into().ok()
}
