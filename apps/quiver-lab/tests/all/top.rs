//! `quiver lab top` in Chromium, beside a quiverd whose packet generator sends: the page's rates and counters against the
//! daemon's own answers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quiver_browser::Browser;
use quiver_control::protocol::Response;
use quiver_stop::Stop;
use serde_json::{Value, json};

const CONFIGURATION: [&str; 10] = [
    "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0",
    "create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1",
    "set interface state pg0 up",
    "set interface state pg1 up",
    "set interface ip address pg0 10.0.0.1/24",
    "set interface ip address pg1 10.0.1.1/24",
    "ip neighbor pg1 10.0.1.2 02:00:00:00:00:12",
    "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
    "ip route add 30.0.0.0/8 via drop",
    "packet-generator new { name there source pg0 rate 2000 data { IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 UDP: \
     10.0.0.2 -> 20.0.0.1 UDP: 1 -> 2 } }",
];
const LOST: &str = "packet-generator new { name lost source pg0 rate 300 data { IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 UDP: \
                    10.0.0.2 -> 30.0.0.1 UDP: 1 -> 2 } }";

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The daemon's answer to a command, in JSON.
fn ask(socket: &Path, line: &str) -> Value {
    match quiver_daemon::ask(socket, line, Stop::default().wait(Duration::from_secs(30))) {
        Ok(Response::Done(answer)) => answer.json,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn rates_and_counters_are_the_daemons() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("cli.sock");
    let quiverd = Path::new(env!("CARGO_BIN_EXE_quiver-lab")).with_file_name("quiverd");
    let mut command = Command::new(quiverd);
    command.arg("--socket").arg(&socket).arg("--stats-socket").arg(folder.path().join("stats.sock"));
    command.args(["--workers", "1", "--stats-interval", "0.1"]).stdin(Stdio::null());
    let log = fs::File::create(folder.path().join("log")).unwrap();
    let _daemon = Running(command.stderr(log).spawn().expect("build it: cargo build -p quiverd"));
    let begun = Instant::now();
    while UnixStream::connect(&socket).is_err() {
        let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        assert!(begun.elapsed() < Duration::from_secs(60), "quiverd does not serve: {}", log());
        thread::sleep(Duration::from_millis(20));
    }
    CONFIGURATION.iter().chain([&LOST]).for_each(|line| drop(ask(&socket, line)));
    ask(&socket, "packet-generator enable-stream");

    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    command.args(["top", "--listen", "127.0.0.1:0", "--socket"]).arg(&socket).stdout(Stdio::piped());
    let mut top = Running(command.spawn().unwrap());
    let mut url = String::new();
    BufReader::new(top.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let mut browser = Browser::start(1400, 1000);
    browser.call("Page.navigate", json!({ "url": url.trim() }));
    browser.wait("typeof quiver !== 'undefined' && quiver.live !== undefined && document.querySelector('.graph img').naturalWidth > 100");
    let is_there = "quiver.live.rates.drops.some(row => row.arc === 'route-drop' && row.rate > 0)";
    browser.wait(is_there);
    browser.wait("quiver.charts.length > 0");

    // Rates follow from two states, each of the page's own.
    let live = browser.value("quiver.live");
    let (then, now, rates) = (&live["then"], &live["now"], &live["rates"]);
    let seconds = now["seconds"].as_f64().unwrap() - then["seconds"].as_f64().unwrap();
    let count = |state: &Value, name: &str| {
        let names = state["counts"]["arcs"]["name"].as_array().unwrap();
        let at = names.iter().position(|own| own == name).unwrap_or_else(|| panic!("no arc {name}"));
        state["counts"]["arcs"]["packets"][at].as_f64().unwrap_or(0.0)
    };
    let mut positive = 0;
    for row in rates["arcs"].as_array().unwrap() {
        let name = format!("{}/{}", row["node"].as_str().unwrap(), row["arc"].as_str().unwrap());
        let rate = (count(now, &name) - count(then, &name)) / seconds;
        assert!((row["rate"].as_f64().unwrap() - rate).abs() < 1e-6, "{row} {rate}");
        positive += usize::from(rate > 0.0);
    }
    assert!(positive > 5, "{positive} arcs");
    let shown = browser.value("quiver.tables.find(table => table.label === 'Interfaces').rows()");
    assert!(
        shown.as_array().unwrap().iter().any(|row| row["Interface"] == "pg1" && row["Sent"].as_f64() > Some(0.0)),
        "{shown}"
    );
    let workers = rates["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 1);
    assert!(workers[0]["rate"].as_f64() > Some(0.0) && workers[0]["load"].as_f64() > Some(0.0), "{workers:?}");

    // While packets pass.
    browser.wait("document.querySelector('.graph img').naturalWidth > 500");
    for (width, name) in [(1400, "top-1400"), (390, "top-390")] {
        browser.resize(width, 844);
        let wide = browser.value("document.documentElement.scrollWidth - innerWidth").as_f64().unwrap();
        assert!(wide <= 0.0, "{name}: {wide} pixels are out of sight");
        let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("dashboard");
        browser.keep(&pictures.join(format!("{name}.png")));
    }

    // Counters that stand still are those that the daemon tells.
    ask(&socket, "packet-generator disable-stream");
    let (graph, interfaces) = loop {
        let told = (ask(&socket, "show graph"), ask(&socket, "show interface"));
        thread::sleep(Duration::from_millis(300));
        if (ask(&socket, "show graph"), ask(&socket, "show interface")) == told {
            break told;
        }
    };
    browser.wait("new Promise(resolve => { const own = quiver.live; setTimeout(() => resolve(own.rates.arcs.every(row => row.rate === 0)), 0); })");
    let live = browser.value("quiver.live");
    let mut counted = 0;
    for row in graph.as_array().unwrap() {
        let name = format!("{}/{}", row["node"].as_str().unwrap(), row["arc"].as_str().unwrap());
        assert_eq!(Some(count(&live["now"], &name)), row["packets"].as_f64(), "{name}");
        counted += usize::from(row["packets"].as_u64() > Some(0));
    }
    assert!(counted > 5, "{counted}");
    let names = live["now"]["counts"]["interfaces"]["name"].as_array().unwrap();
    for row in interfaces.as_array().unwrap() {
        let Some(at) = names.iter().position(|name| name == &row["name"]) else { continue };
        let own = &live["now"]["counts"]["interfaces"];
        for (side, packets, bytes) in [("rx", "rx-packets", "rx-bytes"), ("tx", "tx-packets", "tx-bytes")] {
            let shown = own[side].get(at).cloned().unwrap_or_else(|| json!([0, 0]));
            assert_eq!((&shown[0], &shown[1]), (&row[packets], &row[bytes]), "{row}");
        }
    }
    assert_eq!(browser.errors, Vec::<String>::new());
    let own = url.trim();
    assert!(
        browser.asked.iter().all(|asked| [own, "data:", "about:"].iter().any(|from| asked.starts_with(from))),
        "{:?}",
        browser.asked
    );
}

#[test]
fn a_daemon_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    let output = command.args(["top", "--socket"]).arg(folder.path().join("cli.sock")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success()
            && said.contains("stats.sock: ")
            && said.contains("start quiverd, or name its sockets"),
        "{said}"
    );
}
