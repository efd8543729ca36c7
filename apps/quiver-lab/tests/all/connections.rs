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
    run_each_profile(5.5, 100_000);
}

mod slow_peers {
    #[test]
    fn each_profile_runs_for_a_minute() {
        let Some(_cores) = super::cores() else { return };
        super::run_each_profile(60.0, 1_190_000);
    }
}

/// 20,000 connections a second, as many as that in this time.
fn run_each_profile(seconds: f64, connections: u64) {
    let [time, connections] = [seconds.to_string(), connections.to_string()];
    for (profile, packets) in [("tcp-cps", [4, 3]), ("udp-cps", [1, 1]), ("tcp-tput", [9, 7]), ("udp-tput", [5, 5])] {
        let load =
            ["--time", &time, "profile", profile, "rate", "20000", "connections", &connections, "at-once", "200"];
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
        // All, where the machine was free all the time.
        let begun = number(client, "attempted") + number(client, "unsent");
        assert!(begun * 100 >= connections.parse::<u64>().unwrap() * 99, "{profile}: {trial:#}");
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
        (
            &["--device", "quiver", "hosts", "9000000", "ports", "1"],
            "the device has routes to 8388608 hosts: lower hosts",
        ),
    ] {
        let output = connections(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(error), "{arguments:?}: {said}");
    }
}

#[test]
fn results_are_kept_as_documents_with_rates_of_connections() {
    let Some(_cores) = cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    let results = results.to_str().unwrap();
    let load =
        ["--one-core", "--time", "0.3", "--results", results, "profile", "tcp-cps", "hosts", "100", "ports", "50"];
    let told = report(&load);
    let search =
        ["--one-core", "--search=soak", "--trial", "0.05", "--results", results, "--csit", "profile", "udp-tput"];
    let soak = report(&[&search[..], &["hosts", "100", "ports", "100"]].concat());
    assert_eq!(
        (&soak["counted"], &soak["bounds"][0]["goal"]),
        (&"packets".into(), &"critical rate".into()),
        "{soak:#}"
    );
    let stored: Vec<_> = quiver_result::Store::new(results).read().unwrap().map(Result::unwrap).collect();
    let of = |name: &str| {
        let found = stored.iter().find(|stored| stored.document.test_name_long == name);
        let names: Vec<_> = stored.iter().map(|stored| &stored.document.test_name_long).collect();
        &found.unwrap_or_else(|| panic!("{name}: {names:?}")).document
    };
    let mrr = of("64b-1c-1n1l-memif-ethip4tcp-ip4base-h100-p50-s5000-cps-tg-mrr");
    let quiver_result::Outcome::Mrr { receive_rate } = &mrr.result else { panic!("{mrr:#?}") };
    let rate = told["trials"][0]["rate"].as_f64().unwrap();
    assert!((receive_rate.rate.avg.get() - rate).abs() < 1.0 && receive_rate.rate.unit.word() == "cps", "{mrr:#?}");
    let extension = mrr.quiver.as_ref().unwrap();
    let shown = &told["trials"][0]["client"]["completion"];
    let completion = &extension.times["completion"];
    assert!((completion.avg as f64 - shown["mean"].as_f64().unwrap() / 1000.0).abs() <= 0.5, "{completion:?} {shown}");
    assert!(!extension.times.contains_key("first_byte"), "there is no payload");
    let critical = of("100b-1c-1n1l-memif-ethip4udp-ip4base-h100-p100-s10000-tput-tg-soak");
    let quiver_result::Outcome::Soak { critical_rate } = &critical.result else { panic!("{critical:#?}") };
    let lower = soak["bounds"][0]["lower"].as_f64().unwrap();
    assert!((critical_rate.lower.rate.value.get() - lower).abs() <= 1e-6 * lower);
}

#[test]
fn a_kernel_that_tracks_connections_and_quiver_are_compared_in_a_table() {
    let Some(_cores) = cores() else { return };
    if matches!(rights(), Rights::None(_)) {
        return println!("left out: namespaces need a right that is missing here");
    }
    let load = ["--device", "linux,quiver", "--conntrack", "--driver", "veth", "--time", "1"];
    let words = ["profile", "tcp-cps", "rate", "300", "hosts", "500", "ports", "10"];
    let output = connections(&[&load[..], &words].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let told = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.len() == 3 && lines[0].contains("rate, connections/s   by linux, conntrack"), "{told}");
    assert!(lines[1].starts_with("linux, conntrack") && lines[1].contains("1.00"), "{told}");
    assert!(lines[2].starts_with("quiver"), "{told}");
    let reports = report(&[&load[..], &words].concat());
    for report in reports.as_array().unwrap() {
        let client = &report["trials"][0]["client"];
        assert!(number(client, "closed") > 100 && number(client, "failed") == 0, "{report:#}");
        assert_eq!(number(client, "bad-checksums"), 0);
    }
}

#[test]
fn suites_of_csit_have_their_names_and_say_what_they_lack() {
    let list = |words: &[&str]| connections(&[&["--list"][..], words].concat());
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let nat = text(&list(&["nat44ed", "cps", "ndrpdr"]));
    assert!(nat.lines().count() >= 10 && nat.lines().all(|line| line.contains("[no device here translates")), "{nat}");
    let plain = text(&list(&["ethip4tcp-ip4base-h1024", "mrr"]));
    assert_eq!(
        plain.lines().collect::<Vec<_>>(),
        ["ethip4tcp-ip4base-h1024-p63-s64512-cps-mrr", "ethip4tcp-ip4base-h1024-p63-s64512-tput-mrr"]
    );
    assert!(!list(&["nothing-such"]).status.success());
    for (arguments, error) in [
        (&["--suite", "ethip4tcp-nat44ed-h1024-p63-s64512-cps-mrr"][..], "-mrr: no device here translates addresses"),
        (&["--suite", "ethip4tcp"], "ethip4tcp: no suite has this name"),
        (&["--conntrack", "--device", "quiver"], "--conntrack: the kernel alone tracks connections"),
        (&["--trial", "0.1"], "--trial: only searches have trials"),
        (&["--csit", "profile", "tcp-tput", "response", "100000"], "--csit counts packets"),
    ] {
        let output = connections(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(error), "{arguments:?}: {said}");
    }
    let Some(_cores) = cores() else { return };
    // Half a second of one, with the addresses of its hosts and the list of its name.
    let name = "ethip4udp-ip4base-iacl10sl-10kflows-mrr";
    let report = report(&["--suite", name, "--time", "0.5"]);
    assert_eq!(report["counted"], "packets");
    assert!(number(&report["trials"][0]["client"], "closed") > 1000, "{report:#}");
    let large = connections(&["--suite", "ethip4tcp-ip4base-h4096-p63-s258048-cps-mrr", "--time", "0.5", "--json"]);
    let large: Value = serde_json::from_slice(&large.stdout).unwrap();
    assert!(large["load"].as_str().unwrap().ends_with("clients 10.0.0.0 servers 20.0.0.0 hosts 4096"), "{large:#}");
    assert!(number(&large["trials"][0]["client"], "closed") > 1000, "{large:#}");
}
