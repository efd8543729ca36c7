//! Debian's Prometheus scrapes a quiverd that knows nothing of it.
//!
//! The test is reported as ignored where Prometheus is missing: `harness/provide test` installs it.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::quiverd::{self, Daemon, wait};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

pub fn trials() -> Vec<Trial> {
    let is_missing = Command::new("prometheus").arg("--version").output().is_err();
    let scraped = Trial::test("prometheus::prometheus scrapes the counters of an interface", scraped);
    vec![scraped.with_ignored_flag(is_missing)]
}

/// Packets go out by `pg1`.
const PACKETS: u64 = 1000;

fn scraped() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let log = File::create(path("log"))?;
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.args(["--metrics", "127.0.0.1:0", "--workers", "1", "--buffers", "4096"]);
        command.env("RUST_LOG", "info").stderr(log);
    });
    let url = quiverd::said(&path("log"), "serving metrics at ");
    let prometheus = Prometheus::start(folder.path(), &url)?;
    for line in [
        "create packet-generator interface pg0",
        "create packet-generator interface pg1",
        "sfdp tenant add 1",
        "set interface state pg0 up",
        "set interface state pg1 up",
        "set interface l2 xconnect pg0 pg1",
        "packet-generator new { name s interface pg0 limit 1000 rate 1e6 size 64 data { \
         IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02 UDP: 10.0.0.1 -> 10.0.1.1 UDP: 1 -> 2 } }",
        "packet-generator enable s",
    ] {
        daemon.run(line).map_err(|error| format!("{line}: {error}"))?;
    }
    let sent = |of: &str| prometheus.ask(&format!("sum(quiver_interface_tx_packets_total{{interface=\"{of}\"}})"));
    wait("Prometheus has counted the packets", || sent("pg1") == Some(PACKETS));
    wait("Prometheus has counted nothing of what pg0 received", || sent("pg0") == Some(0));
    wait("Prometheus knows that it is there", || prometheus.ask("up") == Some(1));
    // Prometheus understands what the dashboard asks, and knows the states of interfaces.
    let dashboard: Value = serde_json::from_str(include_str!("../../dashboards/quiver.json"))?;
    let panels = dashboard["panels"].as_array().ok_or("the dashboard has no panels")?;
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array()).flatten();
    let queries: Vec<&str> = targets.filter_map(|target| target["expr"].as_str()).collect();
    assert!(queries.len() > 20, "{queries:?}");
    for query in queries {
        let query = query.replace("$__rate_interval", "1m").replace("$instance", ".*").replace("$interface", ".*");
        // Only what is lost, or timed, may have no answer.
        let may_be_empty = query.starts_with("topk");
        let answer = || prometheus.answer(&query).unwrap_or_default();
        wait(&format!("Prometheus understands {query}"), || answer()["status"] == "success");
        let has_rows = || answer()["data"]["result"].as_array().is_some_and(|rows| !rows.is_empty());
        wait(&format!("Prometheus has an answer to {query}"), || may_be_empty || has_rows());
    }
    for (query, expected) in
        [("admin_up{interface=\"pg1\"}", 1), ("admin_up{interface=\"local0\"}", 0), ("link_up{interface=\"pg1\"}", 1)]
    {
        assert_eq!(prometheus.ask(&format!("quiver_interface_{query}")), Some(expected), "{query}");
    }
    // What is gone is told from what does not change any more.
    daemon.stop();
    wait("Prometheus knows that it is gone", || prometheus.ask("up") == Some(0));
    Ok(())
}

/// A Prometheus, killed when dropped.
struct Prometheus {
    process: Child,
    address: String,
}

impl Prometheus {
    /// One that scrapes a URL every second.
    fn start(folder: &Path, url: &str) -> Result<Prometheus, Failed> {
        let target = url.trim_start_matches("http://");
        let (target, metrics) = target.split_once('/').ok_or_else(|| format!("{url} has no path"))?;
        let configuration = format!(
            "scrape_configs:\n- job_name: quiver\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  \
             metrics_path: /{metrics}\n  static_configs: [{{targets: [\"{target}\"]}}]\n"
        );
        std::fs::write(folder.join("prometheus.yml"), configuration)?;
        let mut command = Command::new("prometheus");
        command.current_dir(folder).args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"]);
        command.arg("--web.listen-address=127.0.0.1:0").stdin(Stdio::null()).stdout(Stdio::null());
        let process = command.stderr(File::create(folder.join("prometheus.log"))?).spawn()?;
        let mut prometheus = Prometheus { process, address: String::new() };
        prometheus.address = quiverd::said(&folder.join("prometheus.log"), "msg=\"Listening on\" address=");
        Ok(prometheus)
    }
    /// The one value that a query has now, if it has one.
    fn ask(&self, query: &str) -> Option<u64> {
        self.answer(query)?["data"]["result"][0]["value"][1].as_str()?.parse().ok()
    }
    /// The answer of Prometheus to a query, if there is one.
    fn answer(&self, query: &str) -> Option<Value> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--max-time", "20", "--data-urlencode", &format!("query={query}")]);
        let answer = curl.arg(format!("http://{}/api/v1/query", self.address)).output().ok()?;
        serde_json::from_slice(&answer.stdout).ok()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
