//! Golden scenarios of the generator.

mod crossing;

fn main() -> std::process::ExitCode {
    quiver_testkit::golden::main(
        env!("CARGO_MANIFEST_DIR"),
        quiver_testkit::rooms![quiver_interface, crossing, quiver_pg],
    )
}
