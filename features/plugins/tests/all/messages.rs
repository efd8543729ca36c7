//! Messages of VPP's binary API that plugins bring: in C and in Rust, as clients find and send them.

use crate::built;

use crate::router::{self, forward, said};
use quiver_compat::types::{InterfaceIndex, Prefix};
use quiver_compat::{Api, Caller, Message, Retval, Text, json};
use quiver_interface::Interfaces;
use quiver_testkit::daemon::Daemon;
use std::net::Ipv4Addr;

/// Which TTL does an interface demand of its neighbours?
#[derive(Message, Clone, Debug)]
#[message(request, reply = TtlGuardGetReply)]
struct TtlGuardGet {
    sw_if_index: InterfaceIndex,
}

/// This one.
#[derive(Message, Clone, Debug, Default, PartialEq)]
#[message(reply)]
struct TtlGuardGetReply {
    least: u8,
}

/// Which interfaces demand a TTL of their neighbours?
#[derive(Message, Clone, Debug)]
#[message(dump, details = TtlGuardDetails)]
struct TtlGuardDump {}

/// One of those.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct TtlGuardDetails {
    sw_if_index: InterfaceIndex,
    least: u8,
}

/// Tell of packets that are refused, or no more.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct WantTtlGuardEvents {
    enable: bool,
    pid: u32,
}

/// A packet was refused.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
struct TtlGuardEvent {
    sw_if_index: InterfaceIndex,
    ttl: u8,
}

/// Mark packets that an interface receives for a prefix, or do so no more.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct DscpMarkAddDel {
    is_add: bool,
    dscp: u8,
    to: Prefix,
    interface: Text<64>,
}

#[test]
fn clients_find_and_send_what_a_plugin_in_c_brings() {
    let mut daemon = router::with(&built::ttl_guard("cc"));
    let control = daemon.control().clone();
    let values = [("interface".to_owned(), "a".into()), ("least".to_owned(), 5.into())];
    control.put_values("ttl-guards", values.into_iter().collect()).unwrap();
    // It asks by the checksum over the fields.
    let mut caller = Caller::connect(&control);
    let index = |name: &str| control.room::<Interfaces>().find(name).expect("it is there").id.0;
    let mut ask = |number: u32| caller.request(&TtlGuardGet { sw_if_index: InterfaceIndex(number) });
    assert_eq!(ask(index("a")), Ok(TtlGuardGetReply { least: 5 }));
    assert_eq!(ask(index("b")), Ok(TtlGuardGetReply { least: 0 }));
    assert_eq!(ask(1 << 20), Err(Retval::INVALID_SW_IF_INDEX));

    let files = json::files(&control.room::<Api>());
    let (_, file) = files.iter().find(|(name, _)| *name == "ttl_guard").expect("a file of its own");
    let crc = format!("{:#010x}", TtlGuardGet::definition().crc());
    let mut messages = file["messages"].as_array().expect("its messages").iter();
    let get = messages.find(|message| message[0] == "ttl_guard_get").expect("it is there");
    assert_eq!(get[4], serde_json::json!(["vl_api_interface_index_t", "sw_if_index"]));
    assert_eq!(get[5]["crc"], crc);
    assert_eq!(file["services"]["ttl_guard_get"]["reply"], "ttl_guard_get_reply");
    assert_eq!(file["options"]["version"], "1.0.0");
    drop(files);
    dumps_have_details_and_events_go_to_who_asked(&mut daemon);
    daemon.finish().unwrap();
}

/// No test of its own: a plugin is loaded once in a process, and tests run at the same time.
fn dumps_have_details_and_events_go_to_who_asked(daemon: &mut Daemon) {
    let control = daemon.control().clone();
    let index = |name: &str| InterfaceIndex(control.room::<Interfaces>().find(name).expect("it is there").id.0);
    let mut caller = Caller::connect(&control);
    for (name, least) in [("a", 64), ("b", 255)] {
        let values = [("interface".to_owned(), name.into()), ("least".to_owned(), least.into())];
        control.put_values("ttl-guards", values.into_iter().collect()).unwrap();
    }
    let details = |name, least| TtlGuardDetails { sw_if_index: index(name), least };
    assert_eq!(caller.dump(&TtlGuardDump {}), [details("a", 64), details("b", 255)]);

    let mut other = Caller::connect(&control);
    let want = |enable| WantTtlGuardEvents { enable, pid: 7 };
    caller.request(&want(true)).unwrap();
    assert_eq!(forward(daemon, &["ttl 9"]), [""; 0]);
    assert_eq!(caller.events::<TtlGuardEvent>(), [TtlGuardEvent { sw_if_index: index("a"), ttl: 9 }]);
    assert_eq!(other.events::<TtlGuardEvent>(), [], "it has not asked");
    caller.request(&want(false)).unwrap();
    other.request(&want(true)).unwrap();
    assert_eq!(forward(daemon, &["ttl 10"]), [""; 0]);
    assert_eq!(caller.events::<TtlGuardEvent>(), [], "it has asked for no more");
    assert_eq!(other.events::<TtlGuardEvent>(), [TtlGuardEvent { sw_if_index: index("a"), ttl: 10 }]);

    let files = json::files(&control.room::<Api>());
    let (_, file) = files.iter().find(|(name, _)| *name == "ttl_guard").expect("a file of its own");
    assert_eq!(file["services"]["ttl_guard_dump"], serde_json::json!({ "reply": "ttl_guard_details", "stream": true }));
    assert_eq!(file["services"]["want_ttl_guard_events"]["events"], serde_json::json!(["ttl_guard_event"]));
}

#[test]
fn what_a_message_changes_is_configuration() {
    let mut daemon = router::without(1);
    let control = daemon.control().clone();
    // One client is there before the plugin, and one behind it.
    Caller::connect(&control);
    daemon.configure(&format!("load plugin {}", built::dscp_mark().display()));
    let mut caller = Caller::connect(&control);
    let mut mark = |is_add, dscp| {
        let to = Prefix { address: Ipv4Addr::new(10, 0, 1, 0).into(), len: 24 };
        let asked = DscpMarkAddDel { is_add, dscp, to, interface: "a".into() };
        caller.request(&asked).map(drop)
    };
    assert_eq!(mark(true, 10), Ok(()));
    assert_eq!(forward(&mut daemon, &["ttl 9"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 8 dscp 10"]);
    assert!(control.save().text.contains("dscp-marks:\n  - interface: a\n    to: 10.0.1.0/24\n    dscp: 10"));
    assert_eq!(mark(true, 64), Err(Retval::UNSPECIFIED), "as the command is refused");
    assert_eq!(mark(false, 0), Ok(()));
    assert_eq!(forward(&mut daemon, &["ttl 9"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 8"]);
    daemon.finish().unwrap();
}

/// Messages whose descriptions contradict themselves, or others.
#[test]
fn messages_that_cannot_be_are_refused_with_their_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let told = |file: &str, name: &str, fields: &str, more: &str| {
        let source = format!(
            "static int32_t no(void *u, QuiverControl *c, const uint8_t *r, size_t l, QuiverAnswer *a) {{ return 0; }}
             static QuiverStatus setup(const QuiverHost *host, QuiverSetup *setup) {{
               static const QuiverMessageField fields[] = {{ {fields} }};
               static const QuiverMessage message = {{ .name = QUIVER_TEXT(\"{name}\"), .fields = fields,
                 .field_count = sizeof fields / sizeof *fields, .answer = no {more} }};
               return host->add_message(setup, &message);
             }}
             static const QuiverPlugin plugin = {{ .magic = QUIVER_MAGIC, .version = QUIVER_VERSION,
               .name = QUIVER_TEXT(\"{file}\"), .setup = setup }};
             const QuiverPlugin *quiver_plugin_entry(void) {{ return &plugin; }}"
        );
        let library = built::in_c(folder.path(), file, &source);
        let mut daemon = router::without(1);
        let told = said(&mut daemon, &format!("load plugin {}", library.display()));
        assert!(
            daemon.control().room::<Api>().id_of(name).is_none() || name == "show_version",
            "nothing of it is there"
        );
        daemon.finish().unwrap();
        told
    };
    let of = |kind: &str, name: &str, rest: &str| {
        format!("{{ .kind = QUIVER_TEXT(\"{kind}\"), .name = QUIVER_TEXT(\"{name}\") {rest} }}")
    };
    let plain = of("u8", "x", "");
    for (file, name, fields, why) in [
        ("a", "show_version", plain.clone(), "there is a message `show_version`"),
        ("b", "Set-It", plain.clone(), "'Set-It' is no name of a message"),
        ("c", "odd_one", of("u8", "context", ""), "'context' is no name of another field"),
        ("d", "odd_one", of("uint8", "x", ""), "the field `x`: there is no type 'uint8'"),
        ("e", "odd_one", of("u8", "x", ", .count = QUIVER_TEXT(\"n\")"), "no number 'n' stands before it"),
        ("f", "odd_one", format!("{}, {plain}", of("string", "s", "")), "`s` has any length, so it is the last one"),
    ] {
        let told = told(file, name, &fields, "");
        assert!(told.contains(why) && told.contains("nothing of it is registered"), "{told}");
    }
    let details = ", .details = QUIVER_TEXT(\"odd_details\")";
    let [reply, event] = [", .reply_fields = fields, .reply_field_count = 1", ", .event = QUIVER_TEXT(\"odd_event\")"];
    for (file, name, more, why) in [
        ("g", "odd_dump", "", "`odd_dump` is a dump, which has details and no reply"),
        ("h", "odd_dump", &format!("{details} {reply}"), "`odd_dump` is a dump, which has details and no reply"),
        ("i", "odd_details", details, "there is a message `odd_details` already"),
        ("j", "odd_one", event, "the message `odd_one`: the plugin adds no event `odd_event`"),
    ] {
        let told = told(file, name, &plain, more);
        assert!(told.contains(why) && told.contains("nothing of it is registered"), "{told}");
    }
}
