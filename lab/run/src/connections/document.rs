//! The document of a run of connections: names as CSIT has them for its stateful tests, rates in connections per second.

use std::collections::BTreeMap;

use quiver_connections::Load;
use quiver_connections::profile::Transport;
use quiver_result::{
    Bounds, Document, Outcome, Quantity, Rate, RateUnit, SampledRate, Samples, TestType, Time, Trial as Record,
};
use quiver_suite::Case;
use quiver_suite::field::{Device, Feature, Keyword as _};

use super::order::RunOrder;
use super::search::{Bounds as GoalResult, Seek};
use super::through::Through;
use super::trial::{Limit, Trial};
use crate::Error;
use crate::delays::delay;
use crate::document::{Named, Test};
use crate::figure::{amount, figure};
use crate::limits::mark;

/// Bytes of frames with CSIT's smallest data, and of those without.
const DATA_FRAME: u32 = 100;
const BARE_FRAME: u32 = 64;

/// Times of connections: their names in documents, and as the generator tells them.
const TIMES: [(&str, &str); 3] = [("connect", "connect"), ("first_byte", "first-byte"), ("completion", "completion")];

/// Names of a test: `64b-1c-1n1l-memif-ethip4tcp-ip4base-h253-p63-s15939-cps-ndrpdr`. A generator by itself is `tg`, as in CSIT.
pub(super) fn named(load: &Load, asked: &RunOrder) -> Named {
    let profile = &load.profile;
    let transport = if profile.transport == Transport::Tcp { "tcp" } else { "udp" };
    let family = if load.is_ip4() { "ip4" } else { "ip6" };
    let has_data = profile.request > 0 || profile.response > 0;
    let is_one_exchange =
        profile.rounds == 1 && profile.request <= profile.segment && profile.response <= profile.segment;
    let is_cps = if transport == "tcp" { !has_data } else { is_one_exchange };
    let kind = match (load.replay.is_some(), is_cps) {
        (true, _) => "replay",
        (_, true) => "cps",
        (_, false) => "tput",
    };
    let frame = if has_data { DATA_FRAME } else { BARE_FRAME };
    let case = match &asked.through {
        Through::Device(case) => Some(&**case),
        _ => None,
    };
    let search = match asked.search {
        Some((seek, _)) => seek.word(),
        None if load.rate > 0.0 => "fixed",
        None => "mrr",
    };
    let driver = case.map_or("memif", |case| case.driver.word());
    let (device, suffix) = match case.map(|case| case.device) {
        Some(Device::Quiver) => (Device::Quiver.word(), ""),
        Some(device) => (device.word(), device.word()),
        None => (ALONE, "tg"),
    };
    let suffix = if suffix.is_empty() { String::new() } else { format!("-{suffix}") };
    let plan = &load.plan;
    let sessions = u64::from(plan.hosts) * u64::from(plan.ports);
    let feature = feature(case).map(|word| format!("-{word}")).unwrap_or_default();
    let function =
        format!("eth{family}{transport}-{family}base{feature}-h{}-p{}-s{sessions}-{kind}", plan.hosts, plan.ports);
    let suite = format!("1n1l-{driver}-{function}{suffix}-{search}");
    let upper = |text: &str| text.to_uppercase();
    let mut tags: Vec<String> =
        ["1_NODE_SINGLE_LINK_TOPO", "PERFTEST", "ETH", "BASE", "STATEFUL"].map(String::from).to_vec();
    tags.extend([upper(search), format!("DRV_{}", upper(driver)), format!("{}FWD", upper(family))]);
    tags.extend([format!("{}_{}", upper(transport), upper(kind)), format!("HOSTS_{}", plan.hosts)]);
    tags.extend(self::feature(case).map(upper));
    tags.extend([upper(device), format!("{frame}B"), "1C".to_owned(), function]);
    let test_type = match (search, asked.search) {
        (_, Some((Seek::NdrPdr, _))) => TestType::Ndrpdr,
        (_, Some((Seek::Soak, _))) => TestType::Soak,
        ("mrr", None) => TestType::Mrr,
        _ => TestType::Device,
    };
    Named { name: format!("{frame}b-1c-{suite}"), suite, tags, device: device.to_owned(), test_type }
}

/// The device of a run without one.
const ALONE: &str = "generator";

fn feature(case: Option<&Case>) -> Option<&'static str> {
    case.map(|case| case.feature).filter(|feature| *feature != Feature::None).map(|feature| feature.word())
}

/// The document of trials, and of the bounds that a search found.
pub(super) fn document(
    mut test: Test<'_>,
    asked: &RunOrder,
    trials: &[Trial],
    bounds: &[GoalResult],
    ceiling: Option<f64>,
) -> Result<Document, Error> {
    if let Some(ceiling) = ceiling {
        test.figures.push(figure("generator_ceiling", ceiling, "cps")?);
    }
    let shown = shown(trials, bounds);
    if let Some(trial) = shown {
        test.times = TIMES
            .into_iter()
            .filter_map(|(name, field)| Some((name.to_owned(), delay(&trial.client.shown[field], "connections")?)))
            .collect::<BTreeMap<_, _>>();
        for (name, field) in TIMES {
            let of = &trial.client.shown[field];
            for part in ["p50", "p99", "p99.9"].into_iter().filter(|_| test.times.contains_key(name)) {
                let value = of[part].as_f64().unwrap_or(0.0);
                test.figures.push(figure(&format!("{name}_{}", part.replace('.', "_")), value, "ns")?);
            }
        }
        for name in ["attempted", "established", "closed", "failed", "retransmitted", "unsent"] {
            test.figures.push(figure(name, trial.client.count(name) as f64, "connections")?);
        }
    }
    let device = match &asked.through {
        Through::Device(case) => case.device.word(),
        _ => ALONE,
    };
    test.trials = trials.iter().map(|trial| record(trial, device)).collect::<Result<_, _>>()?;
    mark(&mut test.figures, shown.map(|trial| trial.limit == Limit::Generator))?;
    let outcome = outcome(asked, trials, bounds)?;
    test.document(Ok(outcome))
}

/// The trial whose times and counts stand for the result: the last one at the lower bound of the first goal, or the last of all.
fn shown<'trial>(trials: &'trial [Trial], bounds: &[GoalResult]) -> Option<&'trial Trial> {
    let lower = bounds.first().and_then(|(_, lower, _)| *lower);
    let at = lower.and_then(|lower| trials.iter().rev().find(|trial| trial.intended == Some(lower)));
    at.or(trials.last())
}

fn outcome(asked: &RunOrder, trials: &[Trial], bounds: &[GoalResult]) -> Result<Outcome, Error> {
    let rate = |value: f64| -> Result<Rate, Error> {
        Ok(Rate { rate: Quantity { value: amount(value)?, unit: RateUnit::Cps }, bandwidth: None })
    };
    let of = |(_, lower, upper): &GoalResult| -> Result<Bounds, Error> {
        let lower = lower.ok_or(Error::Nothing("no load was good enough"))?;
        Ok(Bounds { lower: rate(lower)?, upper: upper.map(rate).transpose()? })
    };
    match (asked.search, bounds) {
        (Some((Seek::NdrPdr, _)), [ndr, pdr]) => {
            Ok(Outcome::Ndrpdr { ndr: of(ndr)?, pdr: of(pdr)?, latency_forward: None, latency_reverse: None })
        }
        (Some((Seek::Soak, _)), [critical]) => Ok(Outcome::Soak { critical_rate: of(critical)? }),
        (Some(_), _) => Err(Error::Nothing("the search told no bounds")),
        (None, _) if trials.iter().all(|trial| trial.intended.is_none()) => {
            let rates = trials.iter().map(|trial| amount(trial.rate(asked.counting))).collect::<Result<Vec<_>, _>>()?;
            let rate = Samples::of(rates, RateUnit::Cps).ok_or(Error::Nothing("no trial was done"))?;
            Ok(Outcome::Mrr { receive_rate: SampledRate { rate, bandwidth: None } })
        }
        (None, _) => Ok(Outcome::Unknown {}),
    }
}

/// A trial for a document, in packets.
fn record(trial: &Trial, device: &str) -> Result<Record, Error> {
    let both = |name: &str| trial.client.count(name) + trial.server.count(name);
    let sent = both("packets-sent");
    Ok(Record {
        start_time: Time::try_from(trial.begun)?,
        device: device.to_owned(),
        load_pps: amount(sent as f64 / 2.0 / trial.opening.max(1e-6))?,
        intended_seconds: amount(trial.opening)?,
        effective_seconds: amount(trial.effective)?,
        sent_packets: sent,
        received_packets: both("packets-received"),
        losses: trial.losses.clone(),
        is_limited_by_generator: trial.limit == Limit::Generator,
        repeated_because: None,
        busy: None,
        core_round_trip: None,
        load_average: None,
        steal_seconds: None,
        clock_hz: None,
        energy: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::counting::Counting;
    use super::super::through::{Router, words_for};
    use super::*;
    use crate::Lengths;
    use quiver_suite::field::Driver;

    fn name(words: &str, router: Option<Router>, search: Option<Seek>) -> Named {
        let through = router.map_or(Through::OneCore, |router| Through::router(router, words).expect("a router"));
        let search = search.map(|seek| (seek, Lengths::SHORT));
        let asked =
            RunOrder { words: words.into(), through, time: 1.0, counting: Counting::Closed, search, program: None };
        named(&Load::parse(&words_for(words, &asked.through).expect("words")).expect("a load"), &asked)
    }

    #[test]
    fn names_are_those_of_csits_stateful_tests() {
        let router = |device, driver, feature| Some(Router { device, driver, feature });
        let quiver = router(Device::Quiver, Driver::Memif, Feature::None);
        let linux = router(Device::Linux, Driver::Veth, Feature::Conntrack);
        for (words, router, search, name) in [
            (
                "profile ethip4tcp-1024h",
                quiver,
                Some(Seek::NdrPdr),
                "64b-1c-1n1l-memif-ethip4tcp-ip4base-h1024-p63-s64512-cps-ndrpdr",
            ),
            (
                "profile ethip4udp-262144h-pps",
                quiver,
                Some(Seek::Soak),
                "100b-1c-1n1l-memif-ethip4udp-ip4base-h262144-p63-s16515072-tput-soak",
            ),
            (
                "profile tcp-tput ports 100",
                linux,
                Some(Seek::NdrPdr),
                "100b-1c-1n1l-veth-ethip4tcp-ip4base-conntrack-h253-p100-s25300-tput-linux-ndrpdr",
            ),
            ("profile udp-cps", None, None, "100b-1c-1n1l-memif-ethip4udp-ip4base-h1024-p63-s64512-cps-tg-mrr"),
            (
                "rate 5 clients 2001:db8:: servers 2001:db8:1::",
                None,
                None,
                "64b-1c-1n1l-memif-ethip6tcp-ip6base-h1024-p63-s64512-cps-tg-fixed",
            ),
        ] {
            assert_eq!(self::name(words, router, search).name, name);
        }
        let tags = name("profile tcp-tput", linux, Some(Seek::NdrPdr)).tags;
        for tag in ["NDRPDR", "TCP_TPUT", "HOSTS_253", "CONNTRACK", "LINUX", "100B", "IP4FWD"] {
            assert!(tags.iter().any(|own| own == tag), "{tag}: {tags:?}");
        }
    }
}
