//! Golden scenarios of the connection generator, whose interface is joined with one of the packet generator.

use quiver_testkit::crossing;

fn main() -> std::process::ExitCode {
    quiver_testkit::golden::main(
        env!("CARGO_MANIFEST_DIR"),
        quiver_scenarios::rooms![quiver_interface, crossing, quiver_pg, quiver_connections],
    )
}
