//! A router between two networks of both families, behind pg0 and pg1, for tests of rooms whose packets it forwards.

use quiver_testkit::packet::Packet;

/// The router's commands: both interfaces with their addresses, and a host behind each.
pub const ROUTER: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a0
    set interface state pg0 up
    set interface state pg1 up
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 2001:db8:1::1/64
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
    ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
    ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
    ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:12
";

/// The frame of a datagram from a UDP port of the host behind pg0 to port 53 of the host behind pg1, or back. `payload` is a layer of a
/// packet's text.
///
/// # Panics
/// If the payload is no layer.
pub fn datagram(ip6: bool, back: bool, port: u32, payload: &str) -> Vec<u8> {
    let [client, server] = if ip6 { ["2001:db8::2", "2001:db8:1::2"] } else { ["10.0.0.2", "10.0.1.2"] };
    let ports = if back { format!("53 > {port}") } else { format!("{port} > 53") };
    let (from, to) = if back { (server, client) } else { (client, server) };
    let (family, hops) = if ip6 { ("ip6", "hlim") } else { ("ip4", "ttl") };
    let text = format!(
        "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {family} {from} > {to} {hops} 64 / udp {ports} / {payload}"
    );
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}
