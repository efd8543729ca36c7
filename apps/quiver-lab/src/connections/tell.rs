//! Prints results of connections, and the list of suites.

use std::process::ExitCode;

use quiver_run::connections::suites;
use quiver_run::connections::{Counting, Report, Trial};
use quiver_terminal::{print, say};
use serde_json::{Value, json};

/// Prints the suites whose names contain all words.
pub fn list(words: &[String], json: bool) -> ExitCode {
    let mut found = suites::all();
    found.retain(|suite| words.iter().all(|word| suite.name.contains(word.as_str())));
    if json {
        let rows = found.iter().map(|suite| json!({"name": suite.name, "load": suite.words, "lacking": suite.lacking}));
        print(format_args!("{:#}", Value::from_iter(rows)));
    } else {
        for suite in &found {
            let lacking = suite.lacking.map(|why| format!("  [{why}]")).unwrap_or_default();
            print(format_args!("{}{lacking}", suite.name));
        }
    }
    if found.is_empty() {
        say(format_args!("no suite has {} in its name", words.join(" and ")));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Prints the results of one device, or of several with a table that compares them.
pub fn all(reports: &[(String, Report)], json: bool) -> ExitCode {
    match reports {
        [(_, only)] if json => print(format_args!("{:#}", only.to_json())),
        _ if json => {
            let each = reports.iter().map(|(name, report)| {
                let mut of = report.to_json();
                of["device"] = name.as_str().into();
                of
            });
            print(format_args!("{:#}", Value::from_iter(each)));
        }
        [(_, only)] => one(only),
        _ => table(reports).iter().for_each(print),
    }
    let has_failed = |report: &Report| {
        let is_idle = |trial: &Trial| trial.client.count("closed") == 0 && trial.client.count("established") == 0;
        report.trials.is_empty() || report.bounds.is_empty() && report.trials.iter().any(is_idle)
    };
    if reports.iter().any(|(_, report)| has_failed(report)) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn one(report: &Report) {
    if let Some(ceiling) = report.ceiling {
        print(format_args!("generator's ceiling   {ceiling:.0} connections/s with both ends on its core"));
    }
    if report.bounds.is_empty() {
        report.trials.iter().for_each(|trial| tell_trial(report, trial));
    }
    for (goal, lower, upper) in &report.bounds {
        print(format_args!("{goal}   {} to {} {}", number(*lower), number(*upper), unit(report)));
    }
}

/// Unit of a report's rates.
fn unit(report: &Report) -> &'static str {
    match report.counting {
        Counting::Packets { .. } => "transactions/s",
        Counting::Closed | Counting::Established => "connections/s",
    }
}

fn number(rate: Option<f64>) -> String {
    rate.map_or_else(|| "none".into(), |rate| format!("{rate:.0}"))
}

/// Rates that stand for a report, with their names: lower bounds of a search, or the rate of the last trial.
fn rates(report: &Report) -> Vec<(String, Option<f64>)> {
    if report.bounds.is_empty() {
        return vec![("rate".into(), report.trials.last().map(|trial| trial.rate(report.counting)))];
    }
    report.bounds.iter().map(|(goal, lower, _)| (goal.clone(), *lower)).collect()
}

/// A line for each device: its rates, their ratios to those of the first one, and what was the limit of its last trial.
fn table(reports: &[(String, Report)]) -> Vec<String> {
    let Some((first, base)) = reports.first() else { return vec![] };
    let base = rates(base);
    let (mut head, unit) = (vec!["device".to_owned()], reports.first().map_or("", |(_, report)| unit(report)));
    for (goal, _) in &base {
        head.extend([format!("{goal}, {unit}"), format!("by {first}")]);
    }
    head.extend(["generator's ceiling".to_owned(), "limit of the last trial".to_owned()]);
    let mut rows = vec![head];
    for (name, report) in reports {
        let mut row = vec![name.clone()];
        for ((_, rate), (_, base)) in rates(report).into_iter().zip(&base) {
            let ratio =
                rate.zip(*base).filter(|(_, base)| *base > 0.0).map(|(rate, base)| format!("{:.2}", rate / base));
            row.extend([number(rate), ratio.unwrap_or_else(|| "none".into())]);
        }
        row.push(number(report.ceiling));
        row.push(report.trials.last().map_or("none", |trial| trial.limit.word()).to_owned());
        rows.push(row);
    }
    let wide = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(wide).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, wide)| format!("{cell:<wide$}"));
        cells.collect::<Vec<_>>().join("   ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn tell_trial(report: &Report, trial: &Trial) {
    let (client, server) = (&trial.client, &trial.server);
    let line = |what: &str, text: String| print(format_args!("{what:<22}{text}"));
    let rule = match report.counting {
        Counting::Closed => "closed, nothing sent twice".to_owned(),
        Counting::Established => "SYN and SYN-ACK, CSIT's rule".to_owned(),
        Counting::Packets { each } => format!("{each} packets each, CSIT's rule"),
    };
    line("rate", format!("{:.0} {} ({rule})", trial.rate(report.counting), unit(report)));
    let counts = ["attempted", "established", "closed", "failed", "retransmitted", "unsent", "open"];
    let of =
        |ends: &quiver_run::connections::Ends| counts.map(|name| format!("{name} {}", ends.count(name))).join(", ");
    line("client", of(client));
    line("server", of(server));
    let [there, back] = trial.lost();
    line("packets lost", format!("{there} to the server, {back} to the client"));
    for (name, count) in &trial.losses {
        line("", format!("{count} {name}"));
    }
    for time in ["connect", "first-byte", "completion"] {
        let micros = |part: &str| client.shown[time][part].as_f64().unwrap_or(0.0) / 1000.0;
        if client.shown[time]["connections"].as_u64().unwrap_or(0) > 0 {
            let parts = ["min", "p50", "p99", "p99.9", "max"].map(|part| format!("{part} {:.1}", micros(part)));
            line(&format!("{time} in us"), parts.join(", "));
        }
    }
    let closed = client.count("closed").max(1) as f64;
    let ticks = |ticks: u64| format!("{:.0} busy ticks a connection", ticks as f64 / closed);
    line("client's worker", format!("{}, {} bytes of records", ticks(trial.ticks), client.count("memory")));
    if let Some(spent) = trial.server_ticks {
        line("server's worker", ticks(spent));
    }
    for (end, bytes) in ["client", "server"].into_iter().zip(&trial.resident) {
        line(&format!("memory of {end}"), format!("{:.0} MB resident", bytes / 1e6));
    }
    line("limit", trial.limit.word().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Report of a search.
    fn report(bounds: [(&str, Option<f64>); 2]) -> Report {
        let bounds = bounds.map(|(goal, lower)| (goal.to_owned(), lower, None)).to_vec();
        Report {
            words: String::new(),
            ceiling: Some(1e6),
            trials: vec![],
            bounds,
            versions: Default::default(),
            document: quiver_dashboard::synthetic::documents(1).next().expect("a document").document,
            counting: Counting::Closed,
        }
    }

    #[test]
    fn devices_are_compared_with_the_first_one() {
        let linux = ("linux, conntrack".to_owned(), report([("ndr", Some(50_000.0)), ("pdr", Some(60_000.0))]));
        let quiver = ("quiver".to_owned(), report([("ndr", Some(175_000.0)), ("pdr", None)]));
        let lines = table(&[linux, quiver]);
        assert_eq!(
            lines,
            [
                "device             ndr, connections/s   by linux, conntrack   pdr, connections/s   by linux, conntrack   \
                 generator's ceiling   limit of the last trial",
                "linux, conntrack   50000                1.00                  60000                1.00                  \
                 1000000               none",
                "quiver             175000               3.50                  none                 none                  \
                 1000000               none",
            ]
        );
    }
}
