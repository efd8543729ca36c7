//! The examples work: nodes, configuration, commands, counters, trace.

use crate::built;

use crate::router::{self, forward, said};
use quiver_testkit::daemon::Daemon;

#[test]
fn dscp_mark_marks_counts_and_traces() {
    let mut daemon = router::with(&built::dscp_mark());
    assert_eq!(forward(&mut daemon, &["ttl 9"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 8"], "loaded, and nothing is enabled");
    daemon.configure("set dscp-mark a 10.0.1.0/24 46\n set dscp-mark a 10.0.1.2/32 10\n trace add pg-input 1");
    let marked = forward(&mut daemon, &["ttl 9 ecn 1", "ttl 9 dscp 63 id 65535"]);
    assert_eq!(
        marked,
        ["ip4 10.0.0.2 > 10.0.1.2 ttl 8 dscp 10 ecn 1", "ip4 10.0.0.2 > 10.0.1.2 ttl 8 dscp 10 id 65535"]
    );
    let rows = "Interface  To           DSCP  Packets  Bytes\na          10.0.1.2/32    10        2    256\na          10.0.1.0/24    46        0      0";
    assert_eq!(said(&mut daemon, "show dscp-mark"), rows);
    assert_eq!(daemon.run("show dscp-mark").unwrap().json[0]["packets"], 2);
    let counters = said(&mut daemon, "show plugins counters");
    assert!(
        counters.contains("dscp-mark  marked       1        2    256  packets marked, by the number of the rule"),
        "{counters}"
    );
    let trace = said(&mut daemon, "show trace");
    assert!(trace.contains(": dscp-mark\n  128 bytes from a, to next-feature\n  came with DSCP 0\n"), "{trace}");
    assert!(daemon.counts().contains_key(&("dscp-mark", "next-feature")));

    daemon.configure("delete dscp-mark a 10.0.1.2/32");
    assert_eq!(forward(&mut daemon, &["ttl 9"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 8 dscp 46"]);
    daemon.configure("delete dscp-mark a 10.0.1.0/24");
    assert_eq!(forward(&mut daemon, &["ttl 9"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 8"]);
    assert!(
        said(&mut daemon, "show features").contains("ip4-unicast       dscp-mark"),
        "{}",
        said(&mut daemon, "show features")
    );
    daemon.finish().unwrap();
}

#[test]
fn what_plugins_configure_is_in_files_diffs_completion_and_schema() {
    let plugin = built::dscp_mark();
    let mut daemon = router::without(1);
    let control = daemon.control().clone();
    // The section stands before the plugin that brings it.
    let file = format!(
        "{}dscp-marks:\n  - interface: a\n    to: 10.0.1.0/24\n    dscp: 8\nplugins:\n  - path: {}\n",
        control.save().text + "\n",
        plugin.display()
    );
    let difference = daemon.diff("site.yaml", &file).unwrap().text;
    assert!(difference.contains("+ dscp-marks a 10.0.1.0/24\n    dscp: 8"), "{difference}");
    assert_eq!(forward(&mut daemon, &["ttl 9"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 8"], "comparing changes nothing");
    daemon.apply("site.yaml", &file).unwrap();
    assert_eq!(forward(&mut daemon, &["ttl 9"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 8 dscp 8"]);
    let saved = control.save().text;
    assert!(saved.contains("dscp-marks:\n  - interface: a\n    to: 10.0.1.0/24\n    dscp: 8"), "{saved}");
    assert_eq!(daemon.diff("saved.yaml", &saved).unwrap().text, "");

    let (_, words) = control.commands().complete(&control, "set dscp-mark ");
    let words: Vec<_> = words.iter().map(|word| word.word.as_str()).collect();
    assert_eq!(words, ["a", "b"], "interfaces are completed");
    assert!(said(&mut daemon, "help set dscp-mark").contains("dscp-mark"));
    let schema = quiver_control::docs::schema(&control);
    assert_eq!(schema["properties"]["dscp-marks"]["items"]["properties"]["dscp"]["default"], 46);

    let told = |daemon: &mut Daemon, text: &str| daemon.apply("f", text).unwrap_err().to_string();
    let wrong = told(&mut daemon, &saved.replace("dscp: 8", "dscp: 64"));
    assert!(wrong.ends_with("dscp-marks a 10.0.1.0/24: dscp: 64 has more than 6 bits; from 0 to 63"), "{wrong}");
    let wrong = told(&mut daemon, &saved.replace("  - interface: a\n    to:", "  - interface: c\n    to:"));
    assert!(wrong.contains("dscp-marks c 10.0.1.0/24: interface: there is no interface c"), "{wrong}");
    assert_eq!(
        said(&mut daemon, "set dscp-mark a 10.0.1.0/24 99"),
        "refused: dscp-marks a 10.0.1.0/24: dscp: 99 has more than 6 bits; from 0 to 63"
    );

    // A file without the plugin: its objects go, and it stays loaded.
    let is_ours = |section: &&str| ["dscp-marks:", "plugins:"].iter().any(|ours| section.starts_with(ours));
    let mut sections: Vec<&str> = saved.split_inclusive("\n").collect();
    let mut ours = false;
    sections.retain(|line| {
        ours = if line.starts_with(' ') { ours } else { is_ours(line) };
        !ours
    });
    let without = sections.concat();
    daemon.apply("f", &without).unwrap();
    assert_eq!(forward(&mut daemon, &["ttl 9"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 8"]);
    let shown = said(&mut daemon, "show plugins");
    let words: Vec<_> = shown.lines().last().unwrap().split_whitespace().skip(1).take(4).collect();
    assert_eq!(words, ["dscp-mark", "1.0.0", "dscp-mark", "loaded,"], "{shown}");
    daemon.finish().unwrap();
}

#[test]
fn a_plugin_in_c_drops_counts_and_describes() {
    let mut daemon = router::with(&built::ttl_guard("cc"));
    let configure = |daemon: &Daemon, least: u8| {
        let values = [("interface", "a".into()), ("least", least.into())];
        let values = values.map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value));
        daemon.control().put_values("ttl-guards", values.into_iter().collect())
    };
    configure(&daemon, 5).unwrap();
    daemon.configure("trace add pg-input 9");
    assert_eq!(forward(&mut daemon, &["ttl 4", "ttl 5", "ttl 6"]).len(), 2);
    assert_eq!(daemon.drops()[&("ttl-guard", "low-ttl")], 1);
    assert_eq!(said(&mut daemon, "show ttl-guard"), "Interface  Least TTL\na                  5");
    assert_eq!(said(&mut daemon, "show ttl-guard total"), "Refused\n      1");
    let trace = said(&mut daemon, "show trace");
    assert!(trace.contains(": ttl-guard\n  128 bytes from a, to low-ttl\n  TTL 004\n"), "{trace}");
    configure(&daemon, 7).unwrap();
    assert_eq!(forward(&mut daemon, &["ttl 6", "ttl 7"]).len(), 1);
    let refused = configure(&daemon, 0).unwrap_err().to_string();
    assert_eq!(refused, "ttl-guards a: least: every packet has a TTL of 0 or more; from 1 to 255");
    let values = [("interface".to_owned(), "a".into())];
    daemon.control().delete_values("ttl-guards", values.into_iter().collect()).unwrap();
    assert_eq!(forward(&mut daemon, &["ttl 3"]).len(), 1);
    daemon.finish().unwrap();
}

#[test]
fn two_plugins_share_an_arc() {
    let mut daemon = router::with(&built::dscp_mark());
    daemon.configure(&format!("load plugin {}", built::ttl_guard("cc").display()));
    daemon.configure(&format!("load plugin {}", built::ttl_guard("cc").display()));
    daemon.configure("set dscp-mark a 10.0.1.0/24 46");
    let values = [("interface".to_owned(), "a".into()), ("least".to_owned(), 5.into())];
    daemon.control().put_values("ttl-guards", values.into_iter().collect()).unwrap();
    assert_eq!(forward(&mut daemon, &["ttl 4", "ttl 5"]), ["ip4 10.0.0.2 > 10.0.1.2 ttl 4 dscp 46"]);
    let shown = said(&mut daemon, "show plugins");
    assert_eq!(shown.matches("ttl-guard loaded").count(), 1, "loaded once, however often it is asked for: {shown}");
    daemon.finish().unwrap();
}
