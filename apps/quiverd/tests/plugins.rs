//! A real daemon with real plugins, built in their own folders by their own compilers and profiles.

#[path = "../../../features/plugins/tests/built/mod.rs"]
mod built;
#[path = "../../../features/plugins/tests/router/lines.rs"]
mod lines;

use lines::ROUTER;
use quiver_control::protocol::{Request, Response};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A daemon, and what it logs.
struct Daemon {
    process: Child,
    folder: tempfile::TempDir,
}

impl Daemon {
    fn with(plugins: &[&Path]) -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiverd"));
        command.arg("--socket").arg(folder.path().join("socket")).args(["--buffers", "4096"]);
        for plugin in plugins {
            command.arg("--plugin").arg(plugin);
        }
        let process = command.stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let daemon = Daemon { process, folder };
        daemon.wait_for("the socket", || daemon.folder.path().join("socket").exists().then_some(()));
        daemon
    }
    fn wait_for<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "{what} did not come; the daemon says:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
    fn ask(&self, line: &str) -> Result<serde_json::Value, String> {
        let mut stream = UnixStream::connect(self.folder.path().join("socket")).unwrap();
        let request = Request::Command { line: line.to_owned(), json: true };
        writeln!(stream, "{}", serde_json::to_string(&request).unwrap()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        match serde_json::from_str(&answer).unwrap() {
            Response::Done(answer) => Ok(answer.json),
            Response::Error(refusal) => Err(refusal.what),
            other => panic!("{line}: {other:?}"),
        }
    }
    fn run(&self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.ask(line).unwrap_or_else(|error| panic!("{line}: {error}"));
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
        self.wait_for("the end of the stream", || {
            let stream = &self.ask(&format!("show packet-generator {name}")).unwrap()[0];
            let received = stream["received"].as_u64().unwrap();
            (received + self.dropped() - before == packets).then_some(received)
        })
    }
    /// Packets that were dropped since the start.
    fn dropped(&self) -> u64 {
        let errors = self.ask("show errors").unwrap();
        errors.as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn plugins_of_other_profiles_work_bad_ones_are_refused_and_failing_ones_are_closed_over() {
    let folder = tempfile::tempdir().unwrap();
    let other_version = built::in_c(
        folder.path(),
        "other",
        "static const QuiverPlugin plugin = { .magic = QUIVER_MAGIC, .version = 7 };\n\
         const QuiverPlugin *quiver_plugin_entry(void) { return &plugin; }",
    );
    let (dscp_mark, ttl_guard, trial) = (built::dscp_mark(), built::ttl_guard("cc"), built::trial());
    let daemon = Daemon::with(&[&other_version, &dscp_mark, &ttl_guard, &trial]);
    let sentence = "it was built for version 7 of the plugin contract, and this daemon has version 1";
    assert!(daemon.log().contains(sentence), "{}", daemon.log());

    daemon.run(ROUTER);
    daemon.run("set dscp-mark a 10.0.1.0/24 46");
    assert_eq!(daemon.forward("marked", 2000, 9), 2000);
    assert_eq!(daemon.ask("show dscp-mark").unwrap()[0]["packets"], 2000);

    daemon.run("trial enable ip4-unicast trial-feature a");
    assert_eq!(daemon.forward("passing", 1000, 9), 1000);
    let arrived = daemon.forward("failing", 2000, 66);
    assert!(arrived < 2000, "a vector of them was dropped");
    let errors = daemon.ask("show errors").unwrap();
    let failed = errors.as_array().unwrap().iter().find(|row| row["reason"] == "plugin-failed").expect("a row").clone();
    assert_eq!(failed["count"].as_u64(), Some(2000 - arrived), "all that is missing has the reason's name");
    assert!(failed["count"].as_u64() <= Some(256), "one vector only");
    assert_eq!(daemon.forward("behind", 1000, 66), 1000, "forwarding goes on");
    let log = daemon.log();
    assert!(log.contains("ERROR") && log.contains("node `trial-feature` failed on worker 0 and is disabled"), "{log}");
    let plugins = daemon.ask("show plugins").unwrap().to_string();
    assert!(plugins.contains("disabled: it panicked: packet"), "{plugins}");
}

/// Toolchains of rustup other than the one that runs.
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

#[test]
fn plugins_of_other_compilers_work() {
    let mut plugins: Vec<(String, PathBuf)> = vec![];
    for toolchain in other_toolchains() {
        let mut cargo = Command::new("rustup");
        cargo.args(["run", &toolchain, "cargo"]);
        let folder = built::repository("examples/plugins/dscp-mark");
        let library = built::by_cargo(cargo, &folder, &format!("dscp-mark-{toolchain}"), &[], "libdscp_mark.so");
        plugins.push((toolchain, library));
    }
    if plugins.is_empty() {
        println!("skipped: there is no other Rust toolchain here");
    }
    match Command::new("clang").arg("--version").output() {
        Ok(_) => plugins.push(("clang".into(), built::ttl_guard("clang"))),
        Err(_) => println!("skipped: there is no clang here"),
    }
    for (compiler, library) in plugins {
        let daemon = Daemon::with(&[&library]);
        daemon.run(ROUTER);
        let marks = compiler != "clang";
        if marks {
            daemon.run("set dscp-mark a 10.0.1.0/24 46");
        }
        assert_eq!(daemon.forward("one", 500, 9), 500, "{compiler}");
        if marks {
            assert_eq!(daemon.ask("show dscp-mark").unwrap()[0]["packets"], 500, "{compiler}");
        }
        let built_by = daemon.ask("show plugins").unwrap()[0]["built-by"].clone();
        println!("{compiler}: loaded, built by {built_by}");
    }
}
