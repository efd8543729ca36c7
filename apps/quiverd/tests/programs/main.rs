//! quiverd beside programs of others: clients in Go and Python, plugins of other compilers, Prometheus, processes of other users.
//! Trials are reported as ignored where a program or a right is missing.

#[path = "../../../../features/plugins/tests/built/mod.rs"]
mod built;
mod go;
mod govpp;
mod ligato;
mod peers;
mod plugins;
mod prometheus;
mod python;
#[path = "../quiverd/mod.rs"]
mod quiverd;
mod realtime;
mod rights;

use std::process::ExitCode;

use libtest_mimic::Arguments;
use quiver_testkit::trials;

fn main() -> ExitCode {
    if let Some(ended) = peers::is_this() {
        return ended;
    }
    let arguments = Arguments::from_args();
    trials::run([
        govpp::trials(&arguments),
        ligato::trials(&arguments),
        peers::trials(),
        plugins::trials(&arguments),
        prometheus::trials(),
        python::trials(&arguments),
        realtime::trials(),
        rights::trials(),
    ])
}
