//! The connection generator: connections per second and core, ticks of a connection, and the memory of 16.5 million open ones. All
//! are processes, as `quiver lab connections` starts them.

use std::path::Path;

use quiver_run::connections::{Counting, Report, RunOrder, Through, Trial, connections};
use quiver_run::{Place, Stop};

use crate::figures::{Row, report};

/// Trials, of which the median counts.
const TRIALS: usize = 5;
const TRIAL_SECONDS: f64 = 2.0;
/// Profiles and their packets.
const PROFILES: [(&str, &str); 2] = [("tcp-cps", "7 packets"), ("tcp-tput", "16 packets")];
/// Connections per second of one core that has the clients, and of one that has both ends; with 7 packets.
const CLIENT_GOAL: f64 = 4e6;
const BOTH_GOAL: f64 = 1.5e6;
/// CSIT's largest load: 262,144 hosts with 63 ports each.
const OPEN: u64 = 262_144 * 63;
const OPEN_RATE: f64 = 400_000.0;
/// Seconds after the last one is due: what was lost meanwhile goes again.
const OPEN_MORE: f64 = 30.0;
const OPEN_GOAL: f64 = 1.1e9;

/// Measures, prints, and writes the rows to a file. `only` is a part of the rows' names.
pub fn run(only: &str, csv: Option<&Path>) -> Result<(), String> {
    let place = Place::enter().map_err(|error| error.to_string())?;
    let mut rows = vec![];
    for (profile, packets) in PROFILES {
        let with_goal = |goal| (profile == "tcp-cps").then_some(goal);
        let name = format!("clients on a core, servers on the other, {packets}");
        if name.contains(only) {
            rows.extend(rates(&name, Through::TwoCores, profile, with_goal(CLIENT_GOAL), &place)?);
        }
        let name = format!("both ends on a core, {packets}");
        if name.contains(only) {
            rows.extend(rates(&name, Through::OneCore, profile, with_goal(BOTH_GOAL), &place)?);
        }
    }
    if "open sessions".contains(only) {
        rows.extend(memory(&place)?);
    }
    if rows.is_empty() {
        return Err(format!("no row has `{only}` in its name: write `clients`, `both` or `open`"));
    }
    report("Rates are of closed connections, through memif; memory is what a process has more than before.", &rows, csv)
}

fn measured(through: Through, words: String, time: f64, place: &Place) -> Result<Trial, String> {
    let asked = RunOrder { words, through, time, counting: Counting::Closed, search: None, program: None };
    let Report { trials, .. } =
        connections(&asked, place, &Stop::default(), &mut |_| {}).map_err(|error| error.to_string())?;
    trials.into_iter().next().ok_or_else(|| "no trial was done".into())
}

/// The rate without a limit, and the busy ticks of a connection.
fn rates(name: &str, through: Through, profile: &str, goal: Option<f64>, place: &Place) -> Result<Vec<Row>, String> {
    let (mut rates, mut clients, mut servers) = (vec![], vec![], vec![]);
    for trial in 1..=TRIALS {
        eprintln!("{name}, {trial} of {TRIALS} ...");
        let trial = measured(through.clone(), format!("profile {profile}"), TRIAL_SECONDS, place)?;
        let closed = trial.client.count("closed").max(1) as f64;
        rates.push(trial.rate(Counting::Closed));
        clients.push(trial.ticks as f64 / closed);
        servers.extend(trial.server_ticks.map(|ticks| ticks as f64 / closed));
    }
    let is_apart = !servers.is_empty();
    let ticks = |end: &str, mut values: Vec<f64>| {
        let what = format!("{name}: ticks{end}");
        (!values.is_empty()).then(|| Row { what, value: median(&mut values), unit: "ticks/connection", goal: None })
    };
    let most = rates.iter().copied().fold(0.0, f64::max);
    let mut rows = vec![
        Row { what: name.into(), value: median(&mut rates), unit: "connections/s", goal },
        Row { what: format!("{name}: best trial"), value: most, unit: "connections/s", goal },
    ];
    let own = ticks(if is_apart { " of the client" } else { "" }, clients);
    // What the core would do if others did not have it half of the time.
    rows.extend(own.as_ref().map(|own| Row {
        what: format!("{name}: in a second of busy time"),
        value: 1e9 / quiver_engine::thread::tick_length() / own.value,
        unit: "connections/s",
        goal,
    }));
    rows.extend(own);
    rows.extend(ticks(" of the server", servers));
    Ok(rows)
}

/// Memory of both processes with all connections of CSIT's largest load open.
fn memory(place: &Place) -> Result<Vec<Row>, String> {
    eprintln!("{OPEN} open sessions ...");
    let words = format!("profile ethip4tcp-262144h stay yes connections {OPEN} rate {OPEN_RATE} timeout 2000");
    let trial = measured(Through::TwoCores, words, OPEN as f64 / OPEN_RATE + OPEN_MORE, place)?;
    let ends = [("client", &trial.client), ("server", &trial.server)];
    let mut rows = vec![];
    for ((name, end), (resident, before)) in ends.into_iter().zip(trial.resident.iter().zip(&trial.resident_before)) {
        let open = end.count("established").saturating_sub(end.count("failed"));
        rows.push(Row {
            what: format!("open sessions of the {name}"),
            value: open as f64,
            unit: "sessions",
            goal: Some(OPEN as f64),
        });
        rows.push(Row {
            what: format!("open sessions, memory of the {name}"),
            value: *resident - *before,
            unit: "bytes",
            goal: Some(OPEN_GOAL),
        });
        rows.push(Row {
            what: format!("open sessions, whole process of the {name}"),
            value: *resident,
            unit: "bytes",
            goal: None,
        });
        let records = end.count("memory") as f64;
        rows.push(Row {
            what: format!("open sessions, records of the {name}"),
            value: records,
            unit: "bytes",
            goal: None,
        });
    }
    Ok(rows)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
