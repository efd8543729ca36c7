//! A real daemon with real plugins, built in their own folders by their own compilers and profiles.

#[path = "../../../../features/plugins/tests/all/router/lines.rs"]
mod lines;

use std::fs::{File, read_to_string};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::built;
use crate::quiverd::{Daemon, wait};
use libtest_mimic::{Arguments, Trial};
use lines::ROUTER;
use serde_json::Value;

pub fn trials(arguments: &Arguments) -> Vec<Trial> {
    // Looking for compilers takes a moment, which a process for one trial of another module need not spend.
    if arguments.exact && !arguments.filter.as_ref().is_none_or(|name| name.starts_with("plugins::")) {
        return vec![];
    }
    let mut trials = vec![Trial::test(
        "plugins::plugins_of_other_profiles_work_bad_ones_are_refused_and_failing_ones_are_closed_over",
        || {
            profiles();
            Ok(())
        },
    )];
    let toolchains = other_toolchains();
    if toolchains.is_empty() {
        trials.push(missing("no other Rust toolchain is here"));
    }
    trials.extend(toolchains.into_iter().map(|toolchain| {
        Trial::test(format!("plugins::a_plugin_works_that_was_built_by_rust ({toolchain})"), move || {
            works(&dscp_mark_by(&toolchain), true);
            Ok(())
        })
    }));
    trials.push(match Command::new("clang").arg("--version").output() {
        Ok(_) => Trial::test("plugins::a_plugin_works_that_was_built_by_clang", || {
            works(&built::ttl_guard("clang"), false);
            Ok(())
        }),
        Err(_) => missing("clang is not here"),
    });
    trials
}

/// Trial for a missing compiler: ignored, and a failure when ignored tests run.
fn missing(what: &'static str) -> Trial {
    let name = format!("plugins::a_plugin_works_that_was_built_by_another_compiler ({what})");
    Trial::test(name, move || Err(what.into())).with_ignored_flag(true)
}

/// A daemon with plugins, and what it logs.
struct Host {
    daemon: Daemon,
    folder: tempfile::TempDir,
}

impl Host {
    fn with(plugins: &[&Path]) -> Host {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let daemon = Daemon::start_in(folder.path(), |command| {
            command.args(["--buffers", "4096"]).stderr(log);
            for plugin in plugins {
                command.arg("--plugin").arg(plugin);
            }
        });
        Host { daemon, folder }
    }
    fn log(&self) -> String {
        read_to_string(self.folder.path().join("log")).unwrap()
    }
    fn ask(&self, line: &str) -> Value {
        self.daemon.run(line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }
    fn run(&self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.ask(line);
        }
    }
    /// Routes packets with a TTL from one interface of the packet generator to another; returns how many arrived, when
    /// all others have been dropped.
    fn forward(&self, name: &str, packets: u64, ttl: u8) -> u64 {
        let before = self.dropped();
        self.run(&format!(
            "packet-generator new {{ name {name} limit {packets} rate 100000 size 100 ttl {ttl} interface a data {{ \
             IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:0a UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1 -> 2 }} }}
             packet-generator enable-stream {name}"
        ));
        let mut received = 0;
        wait("the end of the stream", || {
            received = self.ask(&format!("show packet-generator {name}"))[0]["received"].as_u64().unwrap();
            received + self.dropped() - before == packets
        });
        received
    }
    /// Packets that were dropped since the start.
    fn dropped(&self) -> u64 {
        let errors = self.ask("show errors");
        errors.as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum()
    }
}

fn profiles() {
    let folder = tempfile::tempdir().unwrap();
    let other_version = built::in_c(
        folder.path(),
        "other",
        "static const QuiverPlugin plugin = { .magic = QUIVER_MAGIC, .version = 7 };\n\
         const QuiverPlugin *quiver_plugin_entry(void) { return &plugin; }",
    );
    let (dscp_mark, ttl_guard, trial) = (built::dscp_mark(), built::ttl_guard("cc"), built::trial());
    let daemon = Host::with(&[&other_version, &dscp_mark, &ttl_guard, &trial]);
    let sentence = "it was built for version 7 of the plugin contract, and this daemon has version 5";
    assert!(daemon.log().contains(sentence), "{}", daemon.log());

    daemon.run(ROUTER);
    daemon.run("set dscp-mark a 10.0.1.0/24 46");
    assert_eq!(daemon.forward("marked", 2000, 9), 2000);
    assert_eq!(daemon.ask("show dscp-mark")[0]["packets"], 2000);

    daemon.run("trial enable ip4-unicast trial-feature a");
    assert_eq!(daemon.forward("passing", 1000, 9), 1000);
    let arrived = daemon.forward("failing", 2000, 66);
    assert!(arrived < 2000, "a vector of them was dropped");
    let errors = daemon.ask("show errors");
    let failed = errors.as_array().unwrap().iter().find(|row| row["reason"] == "plugin-failed").expect("a row").clone();
    assert_eq!(failed["count"].as_u64(), Some(2000 - arrived), "all that is missing has the reason's name");
    assert!(failed["count"].as_u64() <= Some(256), "one vector only");
    assert_eq!(daemon.forward("behind", 1000, 66), 1000, "forwarding goes on");
    let log = daemon.log();
    assert!(log.contains("ERROR") && log.contains("node `trial-feature` failed on worker 0 and is disabled"), "{log}");
    let plugins = daemon.ask("show plugins").to_string();
    assert!(plugins.contains("disabled: it panicked: packet"), "{plugins}");
}

/// Toolchains of rustup other than the running one.
fn other_toolchains() -> Vec<String> {
    let listed = Command::new("rustup").args(["toolchain", "list"]).output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let version = |cargo: &mut Command| {
        let output = cargo.env_remove("RUSTUP_TOOLCHAIN").arg("--version").output();
        output.ok().filter(|output| output.status.success()).map(|output| output.stdout)
    };
    let ours = version(&mut built::cargo());
    let names = listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names
        .filter(|name| {
            let theirs = version(Command::new("rustup").args(["run", name, "cargo"]));
            theirs.is_some() && theirs != ours
        })
        .collect()
}

/// The example in Rust, built by another toolchain.
fn dscp_mark_by(toolchain: &str) -> PathBuf {
    let mut cargo = Command::new("rustup");
    cargo.args(["run", toolchain, "cargo"]);
    let folder = built::repository("examples/plugins/dscp-mark");
    built::by_cargo(cargo, &folder, &format!("dscp-mark-{toolchain}"), &[], "libdscp_mark.so")
}

/// Packets pass an example of a plugin, which `marks` them or not.
fn works(library: &Path, marks: bool) {
    let host = Host::with(&[library]);
    host.run(ROUTER);
    if marks {
        host.run("set dscp-mark a 10.0.1.0/24 46");
    }
    assert_eq!(host.forward("one", 500, 9), 500);
    if marks {
        assert_eq!(host.ask("show dscp-mark")[0]["packets"], 500);
    }
}
