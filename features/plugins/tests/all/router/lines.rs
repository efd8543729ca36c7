//! The commands of a router between two interfaces of the packet generator: for daemons in tests, and for quiverd itself.

/// From `a`, 02:00:00:00:00:0a, to the neighbour 10.0.1.2 behind `b`.
pub const ROUTER: &str = "
    create packet-generator interface a hw-addr 02:00:00:00:00:0a
    create packet-generator interface b hw-addr 02:00:00:00:00:0b
    set interface state a up
    set interface state b up
    set interface ip address a 10.0.0.1/24
    set interface ip address b 10.0.1.1/24
    ip neighbor b 10.0.1.2 02:00:00:00:01:02
";
