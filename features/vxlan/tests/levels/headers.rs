//! Eight headers at once are read as RFC 7348 says, and as plain code reads each.

use quiver_engine::Level;
use quiver_scenarios::tunnels::networks;
use quiver_tunnel::{Kind, Malformed};
use quiver_vxlan::Vxlan;
use quiver_wire::{EtherType, Vni};

quiver_testkit::level_tests![networks_are_those_of_valid_headers];

fn networks_are_those_of_valid_headers(level: Level) {
    let found = networks::<Vxlan>(
        level,
        &[
            *b"\x08\0\0\0\x12\x34\x56\0",
            // Receivers ignore reserved bits.
            *b"\xff\xff\xff\xff\0\0\x07\xff",
            *b"\x08\0\0\0\xff\xff\xff\0",
            *b"\x08\0\0\0\0\0\0\0",
            // The flag that there is a network is missing, whatever else is set.
            *b"\0\0\0\0\x12\x34\x56\0",
            *b"\xf7\xff\xff\xff\x12\x34\x56\0",
            *b"\x07\0\0\0\0\0\x01\0",
            *b"\x10\0\0\x08\0\0\x01\0",
        ],
    );
    let [one, two, three, four] = [0x12_3456, 7, 0xff_ffff, 0].map(Vni::new);
    assert_eq!(found, [one, two, three, four, None, None, None, None]);
    let parsed = Vxlan::parse(b"\xff\xff\xff\xff\x12\x34\x56\xff frame").expect("it has a network");
    assert_eq!((Some(parsed.vni), parsed.length, parsed.has_options, parsed.protocol), (one, 8, false, None));
    assert_eq!(Vxlan::parse(b"\xf7\0\0\0\x12\x34\x56\0frame"), Err(Malformed::Header));
    assert_eq!(Vxlan::parse(b"\x08\0\0\0\x12\x34\x56"), Err(Malformed::Header));
    let written = Vxlan::header(Vni::of([0x12, 0x34, 0x56]), EtherType::IP4);
    assert_eq!(written, b"\x08\0\0\0\x12\x34\x56\0");
}
