//! Golden scenarios: those of this crate, which cross rooms, and those of all rooms that need no program of their own; captures
//! of other programs' tests; and random sets of rooms' features, on every instruction set.
//! `cargo test -p quiver-scenarios --test golden bridge` runs those of the room `bridge`.

mod features;
mod replay;

use std::fs;
use std::path::Path;

use libtest_mimic::Trial;
use quiver_scenarios::{ROOMS, all, rooms};
use quiver_testkit::{golden, trials};

/// The rooms whose scenarios run in programs of theirs: beside tests on every instruction set, or with other rooms.
const APART: [&str; 9] = [
    "features/acl",
    "features/geneve",
    "features/ip",
    "features/plugins",
    "features/urpf",
    "features/vxlan",
    "drivers/connections",
    "drivers/memif",
    "drivers/pg",
];

/// The scenarios of the other rooms.
fn of_rooms() -> Vec<Trial> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut trials = vec![];
    for kind in ["features", "drivers"] {
        let rooms = fs::read_dir(workspace.join(kind)).into_iter().flatten().flatten();
        let mut names: Vec<_> = rooms.map(|room| format!("{kind}/{}", room.file_name().to_string_lossy())).collect();
        names.sort();
        for name in names.iter().filter(|name| !APART.contains(&name.as_str())) {
            let root = workspace.join(name);
            if golden::scenarios_below(&root.join("tests")).is_ok_and(|files| !files.is_empty()) {
                trials.extend(golden::trials_called(&format!("{name}/"), &root.to_string_lossy(), ROOMS));
            }
        }
    }
    trials
}

/// Those of the room that new ones are copied from, which the daemon does not have.
fn of_template() -> Vec<Trial> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/room");
    golden::trials_called("examples/room/", root, rooms![all, quiver_hop_floor])
}

fn main() -> std::process::ExitCode {
    let of_levels = features::LEVEL_TESTS.trials();
    let of_crate = golden::trials(env!("CARGO_MANIFEST_DIR"), ROOMS);
    trials::run([of_crate, of_rooms(), of_template(), vec![replay::trial()], of_levels])
}
