//! Eight headers at once are read as RFC 8926 says, and as plain code reads each.

use quiver_engine::Level;
use quiver_geneve::Geneve;
use quiver_scenarios::tunnels::networks;
use quiver_tunnel::{Kind, Malformed};
use quiver_wire::{EtherType, Vni};

quiver_testkit::level_tests![ordinary_headers_have_no_options_and_carry_frames];

fn ordinary_headers_have_no_options_and_carry_frames(level: Level) {
    let found = networks::<Geneve>(
        level,
        &[
            *b"\0\0\x65\x58\x12\x34\x56\0",
            // Receivers ignore reserved bits, and the flag of critical options where there are none.
            *b"\0\x7f\x65\x58\0\0\x07\xff",
            // Another version; options; a control message.
            *b"\x40\0\x65\x58\x12\x34\x56\0",
            *b"\x01\0\x65\x58\x12\x34\x56\0",
            *b"\0\x80\x65\x58\x12\x34\x56\0",
            // Other payloads.
            *b"\0\0\x65\x59\x12\x34\x56\0",
            *b"\0\0\xe5\x58\x12\x34\x56\0",
            *b"\0\0\x08\0\x12\x34\x56\0",
        ],
    );
    let (one, other) = (Vni::new(0x12_3456), Vni::new(7));
    assert_eq!(found, [one, other, None, None, None, None, None, None]);
    let parsed = |bytes: &[u8]| {
        Geneve::parse(bytes).map(|own| (own.vni.get(), own.length, own.has_options, own.protocol.map(|it| it.0.get())))
    };
    assert_eq!(parsed(b"\0\x40\x08\0\x12\x34\x56\xffpacket"), Ok((0x12_3456, 8, false, Some(0x0800))));
    assert_eq!(parsed(b"\x02\0\x65\x58\0\0\x07\0\x01\x02\x03\x01dataframe"), Ok((7, 16, true, Some(0x6558))));
    // RFC 8926, 3.5: the highest bit of an option's type says that it must be understood.
    assert_eq!(parsed(b"\x02\0\x65\x58\0\0\x07\0\x01\x02\x83\x01dataframe"), Err(Malformed::CriticalOption));
    // An option whose data ends behind the others; options that end behind the packet.
    assert_eq!(parsed(b"\x02\0\x65\x58\0\0\x07\0\x01\x02\x03\x02dataframe"), Err(Malformed::Options));
    assert_eq!(parsed(b"\x02\0\x65\x58\0\0\x07\0\x01\x02\x03\x01dat"), Err(Malformed::Options));
    for header in [b"\x40\0\x65\x58\0\0\x07\0", b"\0\x80\x65\x58\0\0\x07\0"] {
        assert_eq!(parsed(header), Err(Malformed::Header), "another version, and a control message");
    }
    assert_eq!(parsed(b"\0\0\x65\x58\0\0\x07"), Err(Malformed::Header));
    assert_eq!(Geneve::header(Vni::of([0x12, 0x34, 0x56]), EtherType::IP6), b"\0\0\x86\xdd\x12\x34\x56\0");
}
