//! Golden scenarios of this room.
fn main() -> std::process::ExitCode {
    let rooms = quiver_testkit::rooms![
        quiver_interface,
        quiver_ethernet,
        quiver_bridge,
        quiver_vlan,
        quiver_ip,
        quiver_neighbor,
        quiver_icmp,
        quiver_pg,
    ];
    quiver_testkit::golden::main(env!("CARGO_MANIFEST_DIR"), rooms)
}
