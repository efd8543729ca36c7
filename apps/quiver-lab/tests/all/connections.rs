//! `quiver lab connections`, as users call it, with real daemons and a real router. Nothing here judges time.

use std::process::{Command, Output};

use quiver_netns::{Rights, rights};
use serde_json::Value;

use crate::run::cores;

fn connections(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quiver-lab")).arg("connections").args(arguments).output().unwrap()
}

fn report(arguments: &[&str]) -> Value {
    let output = connections(&[arguments, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name}: {value:#}"))
}

/// As long and as many as CI is to run each profile: 5 s, 100,000 connections.
#[test]
fn each_profile_runs_with_as_many_packets_as_it_has() {
    let Some(_cores) = cores() else { return };
    for (profile, packets) in [("tcp-cps", [4, 3]), ("udp-cps", [1, 1]), ("tcp-tput", [9, 7]), ("udp-tput", [5, 5])] {
        let load = ["--time", "5.5", "profile", profile, "rate", "20000", "connections", "100000", "at-once", "200"];
        let report = report(&load);
        let trial = &report["trials"][0];
        let (client, server) = (&trial["client"], &trial["server"]);
        assert_eq!(number(client, "attempted"), number(client, "established"), "{profile}: {trial:#}");
        assert_eq!(number(client, "closed") + number(client, "failed"), number(client, "attempted"), "{profile}");
        // A packet that found no room goes again; otherwise all are as the profile has them.
        let [there, back] = [number(&trial["lost"], "to-server"), number(&trial["lost"], "to-client")];
        if there + back == 0 && number(client, "retransmitted") == 0 {
            let closed = number(client, "closed");
            assert_eq!(
                [number(client, "packets-sent"), number(server, "packets-sent")],
                packets.map(|each| each * closed),
                "{profile}"
            );
        }
        // All, where the machine was free for five seconds.
        assert!(number(client, "attempted") + number(client, "unsent") >= 99_000, "{profile}: {trial:#}");
    }
}

#[test]
fn both_ends_on_one_core_and_a_file_with_the_load() {
    let Some(_cores) = cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load");
    std::fs::write(
        &file,
        "# Two rounds of a question and an answer.\nprofile tcp-tput rounds 2\nrequest 100 response 3000\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let report = report(&["--one-core", "--time", "0.5", "--load", file, "hosts", "10", "ports", "10", "rate", "2000"]);
    let trial = &report["trials"][0];
    let closed = number(&trial["client"], "closed");
    assert!(closed > 100, "{trial:#}");
    assert_eq!(number(&trial["client"], "bytes-received"), closed * 6000);
    assert_eq!(report["counted"], "closed");
    assert!(
        report["load"].as_str().unwrap().starts_with("profile tcp-tput rounds 2 request 100 response 3000 hosts 10")
    );
}

#[test]
fn the_kernel_routes_connections_of_both_families() {
    let Some(_cores) = cores() else { return };
    if matches!(rights(), Rights::None(_)) {
        return println!("left out: namespaces need a right that is missing here");
    }
    for family in [&[][..], &["clients", "2001:db8::", "servers", "2001:db8:1::"]] {
        let load = [
            "--device", "linux", "--driver", "veth", "--time", "1", "profile", "tcp-tput", "rate", "500", "hosts",
            "20", "ports", "50",
        ];
        let report = report(&[&load, family].concat());
        let trial = &report["trials"][0];
        let (client, server) = (&trial["client"], &trial["server"]);
        let closed = number(client, "closed");
        assert!(closed > 100 && number(client, "failed") == 0, "{trial:#}");
        assert_eq!(number(client, "bad-checksums") + number(server, "bad-checksums"), 0, "{trial:#}");
        assert_eq!(number(client, "bytes-received"), closed * 5 * 42, "{trial:#}");
        assert!(report["generator-ceiling"].as_f64().is_some_and(|ceiling| ceiling > 100.0), "{report:#}");
        assert!(report["versions"]["linux"].is_string(), "{report:#}");
    }
}

#[test]
fn a_search_finds_bounds_of_the_rate() {
    let Some(_cores) = cores() else { return };
    let report =
        report(&["--one-core", "--search", "--trial", "0.05", "profile", "udp-cps", "hosts", "100", "ports", "100"]);
    let bounds = report["bounds"].as_array().unwrap();
    assert_eq!(bounds.iter().map(|bounds| bounds["goal"].as_str().unwrap()).collect::<Vec<_>>(), ["ndr", "pdr"]);
    // How many trials it takes depends on the machine: the first one may lose nothing at the highest rate.
    let trials = report["trials"].as_array().unwrap();
    for bounds in bounds {
        let known: Vec<f64> = ["lower", "upper"].into_iter().filter_map(|end| bounds[end].as_f64()).collect();
        let is_tried = |rate: &f64| trials.iter().any(|trial| trial["intended"].as_f64() == Some(*rate));
        assert!(!known.is_empty() && known.iter().all(is_tried), "{report:#}");
    }
}

#[test]
fn what_is_wrong_is_said_with_the_remedy() {
    for (arguments, error) in [
        (&["rate", "fast"][..], "the load: rate fast: write a number from 0 to 1000000000"),
        (&["hots", "1"], "the load: `hots` is unknown: write one of profile"),
        (&["--load", "/nowhere"], "/nowhere: No such file or directory"),
        (&["--time", "0"], "--time 0: write seconds from 0.01 to 86400"),
        (&["--device", "linux"], "write --driver veth or --driver tap"),
        (&["--device", "quiver", "--one-core"], "--one-core: a device has a core of its own; leave it out"),
        (&["--device", "quiver", "hosts", "1000"], "the device has routes to 253 hosts: lower hosts"),
    ] {
        let output = connections(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(error), "{arguments:?}: {said}");
    }
}
