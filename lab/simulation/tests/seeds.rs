//! Seeds that must pass, bugs that must be found, and runs that must be the same twice.

use std::collections::BTreeMap;
use std::process::Command;

use quiver_simulation::network::KINDS;
use quiver_simulation::{Bug, Settings, Tunneled, memif, run};

/// Seeds of every day; `cargo xtask simulate` runs more.
const SEEDS: u64 = 200;
/// Within so many of them each planted bug is found.
const SEEDS_TO_FIND: u64 = 20;

#[test]
fn seeds_pass() {
    let (mut naps, mut handed_over, mut left6, mut cut) = (0, 0, 0, 0);
    let (mut left, mut judged, mut met) = (0, 0, BTreeMap::new());
    let mut tunneled = Tunneled::default();
    for seed in 0..SEEDS {
        match run(seed, Settings::default()) {
            Ok(report) => {
                (naps, handed_over) = (naps + report.naps, handed_over + report.handed_over);
                (left6, cut) = (left6 + report.left6, cut + report.cut);
                (left, judged) = (left + report.left, judged + report.judged);
                tunneled += report.tunneled;
                report.met.into_iter().for_each(|(kind, packets)| *met.entry(kind).or_insert(0) += packets);
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(
        naps > SEEDS / 10 && handed_over > 100 * SEEDS,
        "{naps} naps, {handed_over} packets handed from worker to worker"
    );
    assert!(left6 > 100 * SEEDS && cut > SEEDS, "{left6} packets of IPv6 left, {cut} packets in fragments");
    let Tunneled { into, routed, deep, out_of } = tunneled;
    assert!(
        into > 10 * SEEDS && routed > SEEDS / 4 && out_of > SEEDS / 2 && deep > SEEDS / 10,
        "{into} packets into tunnels, {routed} of them by routes, {deep} into more than one, {out_of} out of them"
    );
    assert!(judged > left / 4, "of {judged} of {left} packets it was known where they might go");
    for kind in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let packets = met.get(&kind).copied().unwrap_or_default();
        // The rarest kinds leave some 30 packets of all seeds, more or less as steps of workers take turns.
        assert!(packets > SEEDS / 10, "{packets} packets left by {kind:?}: {met:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_events_twice() {
    for seed in 0..10 {
        let [first, second] = [(), ()].map(|()| run(seed, Settings::default()).expect("it passes"));
        assert_eq!(first, second, "seed {seed}");
    }
}

#[test]
fn memif_seeds_pass() {
    let mut reports = vec![];
    for seed in 0..SEEDS {
        reports.push(memif::run(seed).unwrap_or_else(|found| panic!("seed {seed}: {found}")));
    }
    let sum = |count: fn(&memif::Report) -> u64| reports.iter().map(count).sum::<u64>();
    assert!(sum(|r| r.connections) > 2 * SEEDS && sum(|r| r.refused) > SEEDS / 4, "{reports:?}");
    assert!(sum(|r| r.full) > SEEDS && sum(|r| r.lost) > SEEDS && sum(|r| r.slept) > SEEDS, "{reports:?}");
    assert!(sum(|r| r.passed) > 100 * SEEDS, "{reports:?}");
    assert_eq!(memif::run(1).ok(), Some(reports[1]), "the same seed, the same run");
}

/// A planted bug is found by these seeds; without the bug they pass.
fn is_found(bug: Bug, finding: &str) {
    let planted = Settings { bug: Some(bug), ..Settings::default() };
    let failure = (0..SEEDS_TO_FIND).find_map(|seed| run(seed, planted).err());
    let failure = failure.unwrap_or_else(|| panic!("{bug:?} is not found within {SEEDS_TO_FIND} seeds"));
    assert!(failure.what.contains(finding), "{bug:?} is found as: {failure}");
    let replayed = run(failure.seed, planted).expect_err("a failure replays");
    assert_eq!((replayed.step, replayed.what), (failure.step, failure.what));
    assert!(run(failure.seed, Settings::default()).is_ok(), "without it, seed {} passes", failure.seed);
}

#[test]
fn a_skipped_grace_period_is_found() {
    is_found(Bug::SkippedGracePeriod, "use after free: reader");
}

#[test]
fn a_double_free_is_found() {
    is_found(Bug::DoubleFree, "double free: buffer");
}

#[test]
fn a_lost_handoff_is_found() {
    is_found(Bug::LostHandoff, "vanished without a name");
}

/// Neither seams nor planted bugs are in the daemon that is released: it is built without the feature.
#[test]
fn the_daemon_is_not_built_for_simulation() {
    let features = |package| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["tree", "--locked", "--offline", "--edges", "features,normal", "--package", package]);
        let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo is there");
        String::from_utf8(output.stdout).expect("text")
    };
    let feature = "feature \"simulation\"";
    assert!(features("quiver-simulation").contains(feature));
    let daemon = features("quiverd");
    assert!(daemon.contains("quiver-engine") && !daemon.contains(feature), "{daemon}");
}
