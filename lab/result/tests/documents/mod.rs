//! Documents as the lab would write them, one for each kind of result.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use quiver_energy::{Energy, Origin, Share};
use quiver_result::{
    Amount, BandwidthUnit, Bounds, Busy, Document, EXTENSION, Extension, Figure, Latencies, Latency, Loss, Machine,
    Microseconds, Outcome, Packets, Quantity, Rate, RateUnit, Requests, RoundTrip, SampledRate, Samples, Seconds,
    TestType, Time, Trial, UTI,
};

/// 2026-11-22T14:00:00Z.
const START: u64 = 1_795_356_000;

pub fn amount(number: f64) -> Amount {
    number.try_into().unwrap()
}

pub fn at(second: u64) -> Time {
    Time::unix(Duration::from_secs(START + second)).unwrap()
}

fn rate(pps: f64) -> Rate {
    let bandwidth = Quantity { value: amount(pps * 84.0 * 8.0), unit: BandwidthUnit::Unit };
    Rate { rate: Quantity { value: amount(pps), unit: RateUnit::Pps }, bandwidth: Some(bandwidth) }
}

fn latencies() -> Latencies {
    let latency = |max: u64| Latency {
        min: 0,
        avg: max / 2,
        max: NonZeroU64::new(max).unwrap(),
        hdrh: "HISTFAAAAB54nJNpmSzMwMDAxQABzFCaEUoz2H+AsAAbHgKC".into(),
        unit: Microseconds::Unit,
    };
    Latencies { pdr_0: latency(9), pdr_10: latency(12), pdr_50: latency(20), pdr_90: latency(95) }
}

/// One of each kind, and one with everything that may be left out left out.
pub fn outcomes() -> Vec<(TestType, Outcome)> {
    let quantity = |value| Quantity { value: amount(value), unit: Requests::Unit };
    let values = [9.5e6, 1.0e7, 1.05e7].map(amount).to_vec();
    let bits = values.iter().map(|pps| amount(pps.get() * 672.0)).collect();
    vec![
        (TestType::Device, Outcome::Unknown {}),
        (
            TestType::Mrr,
            Outcome::Mrr {
                receive_rate: SampledRate {
                    rate: Samples::of(values, RateUnit::Pps).unwrap(),
                    bandwidth: Samples::of(bits, BandwidthUnit::Unit),
                },
            },
        ),
        (
            TestType::Ndrpdr,
            Outcome::Ndrpdr {
                ndr: Bounds { lower: rate(19_933_279.974_135_8), upper: Some(rate(20_033_405.927_591_6)) },
                pdr: Bounds { lower: Rate { bandwidth: None, ..rate(2e7) }, upper: None },
                latency_forward: Some(latencies().into()),
                latency_reverse: None,
            },
        ),
        (TestType::Soak, Outcome::Soak { critical_rate: Bounds { lower: rate(9e6), upper: Some(rate(9.1e6)) } }),
        (
            TestType::Reconf,
            Outcome::Reconf {
                aggregate_rate: rate(2e7),
                loss: Loss {
                    packet: Quantity { value: amount(1000.0), unit: Packets::Unit },
                    time: Quantity { value: amount(5e-5), unit: Seconds::Unit },
                },
            },
        ),
        (
            TestType::Hoststack,
            Outcome::Hoststack {
                bandwidth: Quantity { value: amount(9.4e9), unit: BandwidthUnit::Unit },
                completed_requests: Some(quantity(1e6)),
                failed_requests: Some(quantity(0.0)),
                retransmits: Some(Quantity { value: amount(3.0), unit: Packets::Unit }),
                latency: Some(Quantity { value: amount(1.25), unit: "ms".into() }),
                duration: Some(Quantity { value: amount(30.0), unit: Seconds::Unit }),
                rate: Some(Quantity { value: amount(33_333.3), unit: RateUnit::Rps }),
            },
        ),
    ]
}

fn extension() -> Extension {
    let named = |text: &str| BTreeMap::from([("quiver".to_owned(), text.to_owned())]);
    let counters = |value| BTreeMap::from([("quiver".into(), BTreeMap::from([("ip4-lookup/no-route".into(), value)]))]);
    let trial = Trial {
        start_time: at(1),
        device: "quiver".into(),
        load_pps: amount(1e7),
        intended_seconds: amount(1.0),
        effective_seconds: amount(1.02),
        sent_packets: 20_000_000,
        received_packets: 19_999_000,
        losses: BTreeMap::from([("ip4-lookup/no-route".into(), 1000)]),
        is_limited_by_generator: false,
        repeated_because: None,
        busy: Some(Busy::ThreadTicks { ticks_per_packet: amount(41.5) }),
        core_round_trip: Some(RoundTrip { before_ns: amount(110.0), after_ns: amount(112.0) }),
        load_average: Some(amount(2.1)),
        steal_seconds: Some(amount(0.0)),
        clock_hz: Some(amount(3e9)),
        energy: Some(Energy::CpuSeconds { cpu_seconds: 1.0, because: vec!["/sys: no sensor of energy".into()] }),
    };
    let joules = Energy::Joules {
        joules: 30.5,
        origin: Origin::RaplPackages,
        sensors: vec![Share { sensor: "package-0".into(), joules: 30.5 }],
        platform_joules: Some(45.0),
    };
    let bare = Trial {
        start_time: at(3),
        repeated_because: Some("the cores' round trip changed from 110 to 240 ns".into()),
        busy: None,
        core_round_trip: None,
        load_average: None,
        steal_seconds: None,
        clock_hz: None,
        energy: Some(joules),
        ..trial.clone()
    };
    Extension {
        times: BTreeMap::from([("connect".into(), latencies().pdr_0)]),
        version: EXTENSION,
        machine: Machine {
            architecture: "x86_64".into(),
            processor: "made up".into(),
            cores: 2,
            memory_bytes: 24 << 30,
            kernel: "Linux 6.12.0".into(),
            virtualisation: Some("kvm".into()),
            tsc_hz: Some(amount(2.5e9)),
        },
        versions: named("0.1.0-g0275013"),
        configuration: named("interfaces: {}\n"),
        counters_before: counters(0),
        counters_after: counters(1000),
        figures: vec![Figure { name: "closed_loop_pps".into(), value: amount(2.2e7), unit: "pps".into() }],
        trials: vec![trial, bare],
    }
}

pub fn document(test_type: TestType, result: Outcome) -> Document {
    let name = "1n1l-memif-ethip4-ip4base-ndrpdr";
    Document {
        duration: amount(25.0),
        dut_type: "Quiver".into(),
        dut_version: "0.1.0-g0275013".into(),
        end_time: at(25),
        hosts: vec!["localhost".into()],
        telemetry: vec![],
        message: String::new(),
        passed: true,
        result,
        start_time: at(0),
        tags: vec!["NDRPDR".into(), "64B".into()],
        test_documentation: String::new(),
        test_id: format!("{name}.64b-1c-{name}"),
        test_name_long: format!("64b-1c-{name}"),
        test_name_short: name.into(),
        test_type,
        tg_type: "Quiver".into(),
        tg_version: "0.1.0-g0275013".into(),
        version: UTI.into(),
        quiver: Some(extension()),
    }
}

/// All kinds of results, and a test that failed.
pub fn documents() -> Vec<Document> {
    let mut all: Vec<Document> = outcomes().into_iter().map(|(kind, outcome)| document(kind, outcome)).collect();
    let failed = document(TestType::Ndrpdr, Outcome::Unknown {});
    all.push(Document { passed: false, message: "the device did not start".into(), ..failed });
    all
}
