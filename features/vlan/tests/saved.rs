//! Layer-2 configuration made by commands is saved, and loads into another daemon unchanged.

use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};

const LINES: &str = "
    create packet-generator interface pg0
    create packet-generator interface pg1
    set interface state pg0 up
    set interface mtu packet 1400 pg0
    set interface mac address pg1 02:00:00:00:00:77
    create sub-interfaces pg0 10
    create sub-interfaces pg0 20 dot1ad 20 inner-dot1q any
    create sub-interfaces pg0 30 default
    set interface state pg0.10 up
    create bridge-domain 5 learn 0 mac-age 3 uu-flood 0
    set interface l2 bridge pg0.10 5 7
    set interface l2 tag-rewrite pg0.10 translate 1-2 dot1ad 100 200
    bvi create mac 02:00:00:00:00:bb
    set interface l2 bridge bvi0 5 bvi
    l2fib add 02:00:00:00:00:01 5 pg0.10 static
    l2fib add 02:00:00:00:00:02 5 filter
    set interface l2 xconnect pg0.20 pg1
    set interface l2 xconnect pg1 pg0.20
";

#[test]
fn layer_2_is_saved_and_comes_back() {
    let mut first = Daemon::new(ROOMS, Setup::default()).unwrap();
    first.configure(LINES);
    let saved = first.control().save().text;
    let mut second = Daemon::new(ROOMS, Setup::default()).unwrap();
    second.apply("saved.yaml", &saved).unwrap();
    assert_eq!(second.control().save().text, saved);
    second.settle().unwrap();
    for line in ["show bridge-domain detail", "show l2fib verbose", "show mode pg0 pg1 pg0.10 pg0.20"] {
        assert_eq!(names(&mut second, line), names(&mut first, line), "{line}");
    }
    // Nothing at all is a configuration, too: everything goes, in the right order.
    second.apply("empty.yaml", "{}").unwrap();
    second.settle().unwrap();
    assert_eq!(second.run("show l2fib").unwrap().json["total"], 0);
    assert_eq!(second.run("show interface").unwrap().json.as_array().unwrap().len(), 1);
    first.finish().unwrap();
    second.finish().unwrap();
}

#[test]
fn the_mtu_of_a_part_is_saved_as_it_was_configured() {
    let mut first = Daemon::new(ROOMS, Setup::default()).unwrap();
    first.configure(
        "create packet-generator interface pg0
         create sub-interfaces pg0 10
         create sub-interfaces pg0 20
         set interface mtu packet 9000 pg0.10
         set interface mtu packet 1500 pg0",
    );
    let saved = first.control().save().text;
    assert!(saved.contains("mtu: 9000") && saved.contains("mtu: 1500"), "{saved}");
    let mut second = Daemon::new(ROOMS, Setup::default()).unwrap();
    second.apply("saved.yaml", &saved).unwrap();
    assert_eq!(second.control().save().text, saved);
    for daemon in [&mut first, &mut second] {
        assert_eq!(mtus(daemon), [1500, 1500, 1500]);
        daemon.configure("set interface mtu packet 6000 pg0");
        assert_eq!(mtus(daemon), [6000, 6000, 6000]);
        daemon.configure("set interface mtu packet 9900 pg0");
        assert_eq!(mtus(daemon), [9900, 9000, 9900]);
    }
    first.finish().unwrap();
    second.finish().unwrap();
}

/// The MTUs of pg0 and its parts.
fn mtus(daemon: &mut Daemon) -> [u64; 3] {
    ["pg0", "pg0.10", "pg0.20"].map(|name| {
        let shown = daemon.run(&format!("show interface {name}")).unwrap().json;
        shown[0]["mtu"].as_u64().unwrap()
    })
}

/// The lines of an answer without numbers: those of interfaces follow from the order of their creation.
fn names(daemon: &mut Daemon, line: &str) -> Vec<String> {
    let text = daemon.run(line).unwrap().text;
    let is_name = |word: &&str| word.parse::<u16>().is_err();
    let mut lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().filter(is_name).collect::<Vec<_>>().join(" ")).collect();
    lines.sort();
    lines
}
