//! Peers in turns: the same measurement of several devices, A B B A, and their ratio with its interval.

use quiver_suite::Case;
use quiver_suite::field::{Device, Feature, Keyword as _};
use quiver_verdict::compare::{Confidence, Incomparable, Ratio, paired};

/// A device in a comparison, in one of its modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    device: Device,
    swaps: bool,
}

impl Peer {
    /// The device of a case.
    pub(crate) fn of(case: &Case) -> Peer {
        Peer { device: case.device, swaps: case.feature == Feature::MacSwap }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        if self.swaps { "testpmd macswap" } else { self.device.word() }
    }
}

/// Cases that differ in nothing but the peer. Quiver, where it is there, comes first: others are compared with it.
pub fn groups(cases: &[Case]) -> Vec<Vec<Case>> {
    let mut groups: Vec<Vec<Case>> = Vec::new();
    for case in cases {
        let job = |case: &Case| {
            let feature = if Peer::of(case).swaps { Feature::None } else { case.feature };
            Case { device: Device::Quiver, feature, ..*case }
        };
        let alike = |other: &Case| job(other) == job(case);
        match groups.iter_mut().find(|group| group.first().is_some_and(alike)) {
            Some(group) => group.push(*case),
            None => groups.push(vec![*case]),
        }
    }
    groups.iter_mut().for_each(|group| group.sort_by_key(|case| case.device != Device::Quiver));
    groups
}

/// How two peers of a group compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The one that is compared.
    pub peer: Peer,
    /// With which.
    pub with: Peer,
    /// How many times as much it does; or why that cannot be said.
    pub ratio: Result<Ratio, Incomparable>,
}

/// Ratios of a group's first device to each other one, from rounds of measurements in the order of the group. A round that
/// lacks a measurement does not count for it.
pub fn compare(group: &[Case], rounds: &[Vec<Option<f64>>], confidence: Confidence) -> Vec<Comparison> {
    let Some((first, others)) = group.split_first() else { return Vec::new() };
    let of = |(at, other): (usize, &Case)| {
        let pair = |round: &Vec<Option<f64>>| {
            let (own, other) = (round.first().copied().flatten(), round.get(at + 1).copied().flatten());
            other.zip(own)
        };
        let pairs: Vec<(f64, f64)> = rounds.iter().filter_map(pair).collect();
        Comparison { peer: Peer::of(first), with: Peer::of(other), ratio: paired(&pairs, confidence) }
    };
    others.iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_of_one_group_and_missing_rounds_do_not_count() {
        let suite =
            "suites: [{function: l2xc, driver: memif, device: [testpmd, quiver], frame: [64, 1518], search: mrr}]";
        let groups = groups(&quiver_suite::read([("test.yaml", suite)]).expect("a suite"));
        let devices: Vec<Vec<_>> = groups.iter().map(|group| group.iter().map(|case| case.device).collect()).collect();
        assert_eq!(devices, [[Device::Quiver, Device::Testpmd], [Device::Quiver, Device::Testpmd]]);
        let rounds = [vec![Some(4e6), Some(2e6)], vec![None, Some(1e6)], vec![Some(6e6), Some(3e6)]];
        let found = compare(&groups[0], &rounds, Confidence::HIGH);
        assert_eq!((found.len(), found[0].peer.word(), found[0].with.word()), (1, "quiver", "testpmd"));
        let ratio = found[0].ratio.as_ref().expect("a ratio");
        assert!((ratio.estimate - 2.0).abs() < 1e-9 && ratio.high.is_infinite(), "{ratio:?}");
    }

    #[test]
    fn testpmd_is_a_peer_in_both_of_its_ways_and_features_of_routers_are_apart() {
        let suite = "suites:\n  - {function: l2xc, driver: memif, device: [testpmd, vpp, quiver], frame: 64, search: mrr}\n  \
            - {function: l2xc, driver: memif, device: testpmd, feature: macswap, frame: 64, search: mrr}\n  \
            - {function: ip4, driver: memif, device: [vpp, quiver], feature: [none, vrf], frame: 64, search: mrr}";
        let groups = groups(&quiver_suite::read([("test.yaml", suite)]).expect("suites"));
        let peers: Vec<Vec<_>> =
            groups.iter().map(|group| group.iter().map(|case| Peer::of(case).word()).collect()).collect();
        let [swapping, routers] = [["quiver", "testpmd", "vpp", "testpmd macswap"].as_slice(), &["quiver", "vpp"]];
        assert_eq!(peers, [swapping, routers, routers]);
    }
}
