//! The searches against what others have published: MLRsearch against FD.io's library, PLRsearch against mpmath.
//!
//! All is reported as ignored where these cannot be installed: without Python, or without a network.

mod mlrsearch;
mod plrsearch;

use libtest_mimic::Arguments;
use quiver_oracle::Packages;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requirements.txt");

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let packages = Packages::install(&arguments, env!("CARGO_TARGET_TMPDIR"), "search", REQUIREMENTS);
    let trials = [mlrsearch::trials(&packages), plrsearch::trials(&packages)];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}
