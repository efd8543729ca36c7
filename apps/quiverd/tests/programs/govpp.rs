//! GoVPP's own programs, and ours that use GoVPP (`clients/go`), with a quiverd that knows nothing of them.

use std::fs::{File, read_to_string};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::go::{self, Programs, said};
use crate::quiverd::{self, Daemon, wait};
use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub fn trials(arguments: &Arguments) -> Vec<Trial> {
    let packages = &[
        "./interfaces",
        "./watch",
        "go.fd.io/govpp/cmd/govpp",
        "go.fd.io/govpp/examples/perf-bench",
        "go.fd.io/govpp/examples/simple-client",
        "go.fd.io/govpp/examples/stats-client",
    ];
    go::trials(
        arguments,
        "govpp",
        "go",
        packages,
        [
            ("our example configures an interface and hears of it", interfaces),
            ("simple-client configures an interface and hears of it", simple_client),
            ("stats-client reads everything it can", stats_client),
            ("perf-bench has all its requests answered", perf_bench),
            ("govpp cli runs commands", cli),
            ("its generator makes packages of our definitions", generator),
            ("it connects again after a restart", restart),
            ("its probes are answered under full load", load),
        ],
    )
}

/// A daemon, and where its sockets are.
struct Host {
    daemon: Daemon,
    folder: tempfile::TempDir,
}

impl Host {
    fn start(workers: usize) -> Host {
        let folder = tempfile::tempdir().expect("a folder");
        Host { daemon: start_in(folder.path(), workers), folder }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    fn run(&self, lines: &str) -> Result<(), String> {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.daemon.run(line).map_err(|error| format!("{line}: {error}"))?;
        }
        Ok(())
    }
    /// Runs a command, and returns its text.
    fn shown(&self, line: &str) -> Result<String, String> {
        let answer = self.daemon.ask(&serde_json::json!({"command": {"line": line}}));
        answer["done"]["text"].as_str().map(str::to_owned).ok_or_else(|| answer.to_string())
    }
}

fn start_in(folder: &Path, workers: usize) -> Daemon {
    let log = File::options().append(true).create(true).open(folder.join("log")).expect("a log");
    Daemon::start_in(folder, |command| {
        command.arg("--api-socket").arg(folder.join("api.sock")).arg("--stats-socket").arg(folder.join("stats.sock"));
        command.args(["--workers", &workers.to_string(), "--buffers", "4096", "--stats-interval", "0.05"]).stderr(log);
    })
}

/// Says what is missing in a text.
fn contains(text: &str, parts: &[&str]) -> Result<(), Failed> {
    let missing: Vec<_> = parts.iter().filter(|part| !text.contains(**part)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} is not in\n{text}").into()) }
}

/// The number that stands behind some words.
fn number(text: &str, behind: &str) -> Result<u64, String> {
    let rest = text.split_once(behind).ok_or_else(|| format!("no {behind:?} in\n{text}"))?.1;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| format!("no number behind {behind:?} in\n{text}"))
}

fn interfaces(programs: &Programs) -> Result<(), Failed> {
    let host = Host::start(0);
    host.run("create packet-generator interface pg0")?;
    let text = said(programs.program("interfaces").arg("-socket").arg(host.path("api.sock")))?;
    let index = number(&text, "interface ")?;
    let version = format!("connected to quiver {}", env!("CARGO_PKG_VERSION"));
    let (up, gone) = (format!("interface {index} is up"), format!("interface {index} is deleted"));
    let loopback = format!("\n{index} loop0 mtu 9000 192.0.2.1/24\n");
    contains(
        &text,
        &[&version, &up, &gone, &loopback, " pg0 mtu 9000\n", "refused: VPPApiError: Invalid sw_if_index"],
    )?;
    assert!(!host.shown("show interface")?.contains("loop0"), "it is left behind");
    Ok(())
}

fn simple_client(programs: &Programs) -> Result<(), Failed> {
    let host = Host::start(0);
    let text = said(programs.program("simple-client").arg("-sock").arg(host.path("api.sock")))?;
    let index = number(&text, "loopback created: ")?;
    let version = format!("VPP version: {:?}", env!("CARGO_PKG_VERSION"));
    let listed = format!(" - interface: loop0 (ifIndex: {index})");
    let address = format!(" - IP address: &{{SwIfIndex:{index} Prefix:10.10.0.{index}/32}}");
    let event = "incoming interface event: &{PID:";
    contains(&text, &[&version, "system time: 2", &listed, &address, event, "watcher done"])?;
    let flags: Vec<_> = text.lines().filter(|line| line.contains("incoming interface event")).collect();
    let is_up = flags.iter().map(|line| line.contains("Flags:IF_STATUS_API_FLAG_ADMIN_UP")).collect::<Vec<_>>();
    assert_eq!(is_up, [true, false], "the third change is told to nobody: {flags:?}");
    contains(&host.shown("show interface address")?, &[&format!("10.10.0.{index}/32")])?;
    contains(&host.shown("show interface loop0")?, &["up"])
}

/// Two interfaces, the packets of one leave by the other; then packets are dropped.
const TRAFFIC: &str = "
    create packet-generator interface pg0
    create packet-generator interface pg1
    set interface state pg0 up
    set interface state pg1 up
    set interface l2 xconnect pg0 pg1
    packet-generator new { name s interface pg0 limit 1000 rate 1e6 size 64 data { \
        IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02 UDP: 10.0.0.1 -> 10.0.1.1 UDP: 1 -> 2 } }
    packet-generator enable s";

fn stats_client(programs: &Programs) -> Result<(), Failed> {
    let host = Host::start(1);
    host.run(TRAFFIC)?;
    let received = || host.daemon.run("show packet-generator").is_ok_and(|streams| streams[0]["received"] == 1000);
    wait("the packets arrive", received);
    host.run("set interface l3 pg0\npacket-generator disable s\npacket-generator enable s")?;
    let dropped = || host.daemon.run("show errors").is_ok_and(|rows| rows[0]["count"] == 1000);
    wait("the packets are dropped", dropped);
    let errors = host.daemon.run("show errors")?;
    let reason =
        format!(" - /err/{}/{} 1000 ", errors[0]["node"].as_str().unwrap(), errors[0]["reason"].as_str().unwrap());

    let client = || {
        let mut command = programs.program("stats-client");
        command.arg("-socket").arg(host.path("stats.sock"));
        command
    };
    let of = |words: &[&str]| said(client().args(words));
    // Rates and the like are computed every 50 ms.
    wait("nodes are told", || of(&["nodes"]).is_ok_and(|text| text.contains("NodeName:pg-input")));

    let listed = of(&["ls"])?;
    contains(&listed, &["/if/names", "/interfaces/pg1/tx", "/sys/heartbeat", "/err/", "/quiver/"])?;
    assert!(number(&listed, "\nListed ")? > 100, "{listed}");
    let listed = of(&["ls", "/if/t"])?;
    contains(&listed, &["/if/tx\n", "/if/tx-error\n"])?;
    assert!(!listed.contains("/if/rx"), "{listed}");
    let dumped = of(&["dump", "/interfaces/pg1/tx"])?;
    contains(&dumped, &["CombinedCounterVector", "[[[0 0]] [[1000 64000]]]", "Dumped 1 ("])?;
    contains(&of(&["-all", "dump"])?, &["/if/names", "/mem/", "/sys/vector_rate"])?;
    contains(&of(&["errors"])?, &[&reason])?;
    contains(&of(&["interfaces"])?, &["InterfaceName:pg1", "Tx:{Packets:1000 Bytes:64000}", "interface counters"])?;
    contains(&of(&["nodes"])?, &["NodeName:pg-input", "node counters"])?;
    assert!(number(&of(&["system"])?, "Heartbeat:")? > 0);
    contains(&of(&["buffers"])?, &["PoolName:default-numa-0"])?;
    contains(&of(&["memory"])?, &["Memory stats: &{Total:6.442450944e+09"])?;
    assert!(number(&of(&["epoch"])?, "Epoch ")? > 0);

    // It polls until it is ended; its second look is enough.
    let (out, seen) = (File::create(host.path("polled"))?, || read_to_string(host.path("polled")).unwrap_or_default());
    let mut polling = client().args(["-period", "20ms", "poll", "/if/tx"]).stdout(out).spawn()?;
    wait("a second look", || seen().matches("/if/tx").count() >= 2);
    kill(Pid::from_raw(polling.id().cast_signed()), Signal::SIGTERM)?;
    polling.wait()?;
    contains(&seen(), &["[1000 64000]"])
}

fn perf_bench(programs: &Programs) -> Result<(), Failed> {
    let host = Host::start(0);
    for (words, count) in [(&["-sync"][..], 500), (&[], 20_000), (&["-sync", "-v2"], 500), (&["-v2"], 2_000)] {
        let mut bench = programs.program("perf-bench");
        bench.arg("-api-socket").arg(host.path("api.sock")).args(["-count", &count.to_string()]).args(words);
        let text = said(&mut bench)?;
        let kind = if words.contains(&"-sync") { "synchronous" } else { "asynchronous" };
        contains(&text, &[&format!("{kind} perf test with {count} requests"), "Requests per second: "])?;
    }
    Ok(())
}

fn cli(programs: &Programs) -> Result<(), Failed> {
    let host = Host::start(0);
    let govpp = || {
        let mut command = programs.program("govpp");
        command.arg("cli").arg("--apisock").arg(host.path("api.sock"));
        command
    };
    let version = format!("vpp# show version\nquiver v{}\n", env!("CARGO_PKG_VERSION"));
    contains(&said(govpp().args(["show", "version"]))?, &[&version])?;
    said(govpp().args(["create", "loopback", "interface"]))?;
    contains(&host.shown("show interface")?, &["loop0"])?;

    // From a pipe, a command a line; the first that is refused ends it.
    let script = host.path("script");
    std::fs::write(
        &script,
        "set interface mtu 1400 loop0\nshow interface loop0\nset interface state loop7 up\necho on\n",
    )?;
    let output = govpp().stdin(File::open(&script)?).output()?;
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    contains(&text, &["vpp# show interface loop0\n", "1400"])?;
    assert!(!output.status.success() && !text.contains("vpp# echo on"), "{text}{error}");
    Ok(())
}

fn generator(programs: &Programs) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    said(quiverd::command().arg("--write-api").arg(path("api")))?;
    let mut generate = programs.program("govpp");
    generate.args(["generate", "--no-version-info", "--import-prefix", "generated/binapi", "--input"]);
    said(generate.arg(path("api")).arg("--output").arg(path("binapi")))?;
    // The packages of GoVPP that generated ones use are those that the module pins.
    let (module, sums) = (read_to_string(programs.source().join("go.mod"))?, programs.source().join("go.sum"));
    let (_, pinned) = module.split_once('\n').ok_or("an empty go.mod")?;
    std::fs::write(path("go.mod"), format!("module generated\n{pinned}"))?;
    std::fs::copy(sums, path("go.sum"))?;
    said(programs.go(folder.path()).args(["build", "./..."]))?;

    // What it has made says what our definitions say.
    let text = read_to_string(path("binapi/interface/interface.ba.go"))?;
    let definitions = read_to_string(path("api/interface.api.json"))?;
    let definitions: serde_json::Value = serde_json::from_str(&definitions)?;
    let messages = definitions["messages"].as_array().ok_or("no messages")?;
    for message in messages {
        let (name, crc) = (&message[0], message.as_array().and_then(|fields| fields.last()).ok_or("no checksum")?);
        let crc = crc["crc"].as_str().ok_or("no checksum")?.trim_start_matches("0x");
        contains(&text, &[&format!("return {name}"), &format!("return \"{crc}\"")])?;
    }
    assert!(messages.len() > 40, "{}", messages.len());
    Ok(())
}

/// Our program that stays connected, and what it has said.
struct Watch {
    program: Child,
    input: Option<ChildStdin>,
    said: PathBuf,
}

impl Watch {
    fn start(programs: &Programs, host: &Host, how: &[&str]) -> Result<Watch, Failed> {
        let said = host.path("watched");
        let mut command: Command = programs.program("watch");
        command.arg("-socket").arg(host.path("api.sock")).args(how);
        let mut program = command.stdin(Stdio::piped()).stdout(File::create(&said)?).spawn()?;
        Ok(Watch { input: program.stdin.take(), program, said })
    }
    fn lines(&self) -> Vec<String> {
        read_to_string(&self.said).unwrap_or_default().lines().map(str::to_owned).collect()
    }
    /// Waits until its last word is that it is connected to this daemon.
    fn connected(&self, daemon: &Daemon) {
        let word = format!("connected to process {}", daemon.id());
        wait(&word, || self.lines().last() == Some(&word));
    }
    /// Has it end; all that it has said.
    fn end(mut self) -> Result<Vec<String>, Failed> {
        drop(self.input.take());
        assert!(self.program.wait()?.success());
        Ok(self.lines())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.program.wait();
    }
}

fn restart(programs: &Programs) -> Result<(), Failed> {
    let mut host = Host::start(0);
    let watch = Watch::start(programs, &host, &["-probe", "20ms"])?;
    watch.connected(&host.daemon);
    // A daemon that does not answer is told from one that is gone.
    let process = Pid::from_raw(host.daemon.id().cast_signed());
    kill(process, Signal::SIGSTOP)?;
    wait("the silence is noticed", || watch.lines().iter().any(|line| line == "NotResponding"));
    kill(process, Signal::SIGCONT)?;
    watch.connected(&host.daemon);
    // One is ended, and its sockets are removed; the next one is killed, and leaves its own behind.
    for is_killed in [false, true] {
        let Host { daemon, folder } = host;
        if is_killed {
            drop(daemon)
        } else {
            daemon.stop()
        }
        host = Host { daemon: start_in(folder.path(), 0), folder };
        watch.connected(&host.daemon);
    }
    assert_eq!(watch.end()?.last().map(String::as_str), Some("end"));
    Ok(())
}

fn load(programs: &Programs) -> Result<(), Failed> {
    let host = Host::start(2);
    host.run(TRAFFIC)?;
    host.run(
        "packet-generator new { name full interface pg0 rate 1e8 size 64 data { \
         IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02 UDP: 10.0.0.1 -> 10.0.1.1 UDP: 1 -> 2 } }
         packet-generator enable full",
    )?;
    let sent = || host.daemon.run("show interface pg1").ok().and_then(|rows| rows[0]["tx-packets"].as_u64());
    // GoVPP's own patience of 250 ms is for machines that have a core for it.
    let watch = Watch::start(programs, &host, &["-probe", "5ms", "-patience", "2s"])?;
    watch.connected(&host.daemon);
    // The control side has its hands full as well.
    let before = sent();
    for turn in 0..3 {
        let mut bench = programs.program("perf-bench");
        bench.arg("-api-socket").arg(host.path("api.sock")).args(["-count", "20000"]);
        said(&mut bench)?;
        host.run(&format!("ip route add count 20000 10.{turn}.0.0/32 via drop"))?;
    }
    assert!(sent() > before, "packets flow: {before:?}, {:?}", sent());
    let connected = format!("connected to process {}", host.daemon.id());
    assert_eq!(watch.end()?, [connected, "end".to_owned()]);
    Ok(())
}
