//! The messages, as a client sends them to a daemon with packet generators pg0 and pg1, numbers 1 and 2.

use quiver_compat::Caller;
use quiver_compat::types::{AddressWithPrefix, NONE, Prefix};
use quiver_testkit::daemon::Daemon;

use super::*;

fn house() -> (Daemon, Caller) {
    let daemon =
        quiver_scenarios::daemon("create packet-generator interface pg0\ncreate packet-generator interface pg1");
    let caller = Caller::connect(daemon.control());
    (daemon, caller)
}

/// Which interfaces are there? As the room of interfaces answers.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SwInterfaceDetails)]
struct SwInterfaceDump {
    sw_if_index: InterfaceIndex,
    name_filter_valid: bool,
    name_filter: String,
}

fn details(caller: &mut Caller, index: InterfaceIndex) -> SwInterfaceDetails {
    let name_filter = String::new();
    caller.dump(&SwInterfaceDump { sw_if_index: index, name_filter_valid: false, name_filter }).remove(0)
}

fn subif(flags: SubIfFlags, outer_vlan_id: u16, inner_vlan_id: u16) -> CreateSubif {
    CreateSubif { sw_if_index: InterfaceIndex(1), sub_id: 20, sub_if_flags: flags, outer_vlan_id, inner_vlan_id }
}

#[test]
fn sub_interfaces_come_show_their_tags_and_go() {
    let (_daemon, mut caller) = house();
    let pg0 = InterfaceIndex(1);
    let vlan = caller.request(&CreateVlanSubif { sw_if_index: pg0, vlan_id: 10 }).expect("new").sw_if_index;
    let shown = details(&mut caller, vlan);
    assert_eq!((shown.interface_name.as_str(), shown.sup_sw_if_index, shown.sub_id), ("pg0.10", 1, 10));
    assert_eq!((shown.sub_number_of_tags, shown.sub_outer_vlan_id, shown.sub_if_flags), (1, 10, SubIfFlags(2 | 16)));
    let again = caller.request(&CreateVlanSubif { sw_if_index: pg0, vlan_id: 10 });
    assert_eq!(again.err(), Some(Retval::VLAN_ALREADY_EXISTS));

    let flags = SubIfFlags::DOT1AD | SubIfFlags::TWO_TAGS | SubIfFlags::EXACT_MATCH;
    let two = caller.request(&subif(flags, 200, 100)).expect("new").sw_if_index;
    let shown = details(&mut caller, two);
    assert_eq!((shown.interface_name.as_str(), shown.sub_if_flags), ("pg0.20", flags));
    assert_eq!((shown.sub_number_of_tags, shown.sub_outer_vlan_id, shown.sub_inner_vlan_id), (2, 200, 100));
    caller.request(&DeleteSubif { sw_if_index: two }).expect("there");
    assert_eq!(caller.request(&DeleteSubif { sw_if_index: two }).err(), Some(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(caller.request(&DeleteSubif { sw_if_index: pg0 }).err(), Some(Retval::INVALID_SUB_SW_IF_INDEX));

    for flags in [SubIfFlags::NO_TAGS, SubIfFlags::DEFAULT, SubIfFlags::ONE_TAG | SubIfFlags::OUTER_VLAN_ID_ANY] {
        let part = caller.request(&subif(flags, 0, 0)).expect("new").sw_if_index;
        assert_eq!(details(&mut caller, part).sub_if_flags, flags);
        caller.request(&DeleteSubif { sw_if_index: part }).expect("there");
    }
    let refusals = [
        (subif(SubIfFlags::ONE_TAG, 0, 0), Retval::INVALID_VLAN),
        (subif(SubIfFlags::TWO_TAGS, 1, 4095), Retval::INVALID_VLAN),
        (subif(SubIfFlags::EXACT_MATCH, 1, 0), Retval::INVALID_VALUE),
        (subif(SubIfFlags::DOT1AH, 1, 0), Retval::UNIMPLEMENTED),
        (
            CreateSubif { sw_if_index: InterfaceIndex(9), ..subif(SubIfFlags::ONE_TAG, 1, 0) },
            Retval::INVALID_SW_IF_INDEX,
        ),
        // A part has no parts.
        (CreateSubif { sw_if_index: vlan, ..subif(SubIfFlags::ONE_TAG, 1, 0) }, Retval::INVALID_VALUE),
    ];
    for (request, retval) in refusals {
        assert_eq!(caller.request(&request).err(), Some(retval), "{request:?}");
    }
    for vlan_id in [0, 4095, 70_000] {
        let refused = caller.request(&CreateVlanSubif { sw_if_index: pg0, vlan_id });
        assert_eq!(refused.err(), Some(Retval::INVALID_VLAN), "{vlan_id}");
    }
}

#[test]
fn tags_are_rewritten_as_a_client_says() {
    let (_daemon, mut caller) = house();
    let flags = SubIfFlags::DOT1AD | SubIfFlags::TWO_TAGS;
    let sw_if_index = caller.request(&subif(flags, 200, 100)).expect("new").sw_if_index;
    let rewrite =
        |vtr_op, push_dot1q| L2InterfaceVlanTagRewrite { sw_if_index, vtr_op, push_dot1q, tag1: 300, tag2: 400 };
    let shown = |caller: &mut Caller| {
        let shown = details(caller, sw_if_index);
        (shown.vtr_op, shown.vtr_push_dot1q, shown.vtr_tag1, shown.vtr_tag2)
    };
    let expected = [
        (1, 1, (1, 1, 300, 0)),
        (2, 0, (2, 0, 300, 400)),
        (3, 0, (3, 0, 0, 0)),
        (4, 0, (4, 0, 0, 0)),
        (5, 0, (5, 0, 300, 0)),
        (6, 1, (6, 1, 300, 400)),
        (7, 0, (7, 0, 300, 0)),
        (8, 0, (8, 0, 300, 400)),
        (0, 0, (0, 0, 0, 0)),
    ];
    for (operation, dot1q, expected) in expected {
        caller.request(&rewrite(operation, dot1q)).expect("understood");
        assert_eq!(shown(&mut caller), expected);
    }
    caller.request(&rewrite(0, 0)).expect("nothing to leave");
    assert_eq!(caller.request(&rewrite(9, 0)).err(), Some(Retval::INVALID_VALUE));
    let wrong = L2InterfaceVlanTagRewrite { tag1: 5000, ..rewrite(1, 0) };
    assert_eq!(caller.request(&wrong).err(), Some(Retval::INVALID_VLAN));
    let gone = L2InterfaceVlanTagRewrite { sw_if_index: InterfaceIndex(NONE), ..rewrite(1, 0) };
    assert_eq!(caller.request(&gone).err(), Some(Retval::INVALID_SW_IF_INDEX));
    // The whole interface's frames are not known to have tags.
    let whole = L2InterfaceVlanTagRewrite { sw_if_index: InterfaceIndex(1), ..rewrite(3, 0) };
    assert_eq!(caller.request(&whole).err(), Some(Retval::INVALID_VALUE));
}

/// Give an interface an address. As the room of IP answers.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SwInterfaceAddDelAddress {
    sw_if_index: InterfaceIndex,
    is_add: bool,
    del_all: bool,
    prefix: AddressWithPrefix,
}

/// Let an interface use the addresses of another one. As the room of IP answers.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SwInterfaceSetUnnumbered {
    sw_if_index: InterfaceIndex,
    unnumbered_sw_if_index: InterfaceIndex,
    is_add: bool,
}

fn prefix(text: &str) -> AddressWithPrefix {
    let (address, len) = text.split_once('/').expect("both");
    let address: std::net::IpAddr = address.parse().expect("an address");
    AddressWithPrefix(Prefix { address: address.into(), len: len.parse().expect("a length") })
}

#[test]
fn what_does_not_name_its_tags_gets_no_address_from_anybody() {
    let (mut daemon, mut caller) = house();
    let any = SubIfFlags::OUTER_VLAN_ID_ANY;
    for flags in [
        SubIfFlags::ONE_TAG | any,
        SubIfFlags::TWO_TAGS | SubIfFlags::INNER_VLAN_ID_ANY,
        SubIfFlags::TWO_TAGS | any | SubIfFlags::EXACT_MATCH,
        SubIfFlags::DEFAULT,
    ] {
        let sw_if_index = caller.request(&subif(flags, 60, 61)).expect("new").sw_if_index;
        for text in ["10.0.0.1/24", "2001:db8::1/64", "fe80::1/64"] {
            let prefix = prefix(text);
            let request = SwInterfaceAddDelAddress { sw_if_index, is_add: true, del_all: false, prefix };
            assert_eq!(caller.request(&request).err(), Some(Retval::INVALID_VALUE), "{flags:?} {text}");
        }
        let (lender, unnumbered_sw_if_index) = (InterfaceIndex(2), sw_if_index);
        let request = SwInterfaceSetUnnumbered { sw_if_index: lender, unnumbered_sw_if_index, is_add: true };
        assert_eq!(caller.request(&request).err(), Some(Retval::INVALID_VALUE), "{flags:?}");
        let saved = daemon.control().save();
        for (section, object) in [
            ("interface-addresses", "{interface: pg0.20, address: 10.0.0.1/24}"),
            ("interface-ip6-addresses", "{interface: pg0.20, address: 2001:db8::1/64}"),
            ("ip6-interfaces", "{interface: pg0.20}"),
            ("unnumbered-interfaces", "{interface: pg0.20, lender: pg1}"),
        ] {
            let refused = daemon.apply("f", &format!("{}\n{section}: [{object}]\n", saved.text)).unwrap_err();
            let told = refused.to_string();
            assert!(told.contains("pg0.20 does not name the VLAN tags"), "{flags:?}: {told}");
            assert!(told.contains(section) && told.contains("use a sub-interface that names them"), "{told}");
        }
        assert_eq!(daemon.control().save(), saved, "nothing of it is left");
        caller.request(&DeleteSubif { sw_if_index }).expect("there");
    }
    // Frames without a tag need none.
    let sw_if_index = caller.request(&subif(SubIfFlags::NO_TAGS, 0, 0)).expect("new").sw_if_index;
    let prefix = prefix("10.0.0.1/24");
    let request = SwInterfaceAddDelAddress { sw_if_index, is_add: true, del_all: false, prefix };
    caller.request(&request).expect("it sends them without a tag");
}
