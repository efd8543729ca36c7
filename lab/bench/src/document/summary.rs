//! The summary of the README and of docs/performance.md: ticks of a packet on the usual paths from the last run beside VPP,
//! instructions from the kept counts, and the run they come from.

use std::path::Path;

use super::rows::{Row, Rows};

/// Paths of the summary in docs/performance.md: their titles, and their names in the rows.
const PATHS: [(&str, &str); 10] = [
    ("cross-connect", "cross-connect"),
    ("bridge, one pair of stations", "bridge"),
    ("IPv4, 8 routes", "ip4, 8 routes"),
    ("IPv4, 1,100 routes as in BGP", "ip4, 1,100 routes as in BGP"),
    ("IPv4, ECMP over 16 paths", "ip4, ECMP over 16 paths"),
    ("IPv4, strict uRPF", "ip4, strict uRPF"),
    ("IPv4, by policies (ABF)", "ip4, ABF"),
    ("IPv6, 8 routes", "ip6, 8 routes"),
    ("IPv4 in a VLAN, 8 routes", "vlan, ip4, 8 routes"),
    ("cross-connect in a VLAN", "vlan, cross-connect"),
];

/// Titles of the paths in the README.
const README: [&str; 5] = [
    "cross-connect",
    "bridge, one pair of stations",
    "IPv4, 8 routes",
    "IPv4, 1,100 routes as in BGP",
    "IPv6, 8 routes",
];

/// Extent of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All paths, for docs/performance.md.
    Full,
    /// The paths of the README.
    Readme,
}

/// Columns that are equal in all rows of a run.
const RUN: [&str; 6] = ["date", "revision", "cpu", "tsc_mhz", "pages", "level"];

/// The table in Markdown, of the files in the workspace's folder `bench`.
///
/// # Errors
/// If a file cannot be read, or has no row for a path, or if the last rows beside VPP are of several runs.
pub fn table(bench: &Path, extent: Extent) -> Result<String, String> {
    let ticks = Rows::read(&bench.join("graph.csv"))?;
    let counts = Rows::read(&bench.join("instructions.csv"))?;
    let is_of = |row: &Row, path, vector| row.get("path") == path && row.get("vector") == vector;
    let mut text =
        "| path | instructions | ticks | VPP's ticks | VPP by Quiver | instructions, 8 packets |\n".to_owned();
    text.push_str("|---|---|---|---|---|---|\n");
    let (mut run, mut at_8) = (None, vec![]);
    let is_chosen = |title: &str| extent == Extent::Full || README.contains(&title);
    for (title, path) in PATHS.into_iter().filter(|(title, _)| is_chosen(title)) {
        let missing = |what| format!("{path}: no {what} in {}", bench.display());
        let beside = |vector| {
            let beside = ticks.iter().filter(|row| is_of(row, path, vector) && !row.get("ratio").is_empty()).last();
            beside.ok_or_else(|| missing("row beside VPP"))
        };
        at_8.extend(beside("8")?.number("ratio"));
        let beside = beside("256")?;
        let of_path = RUN.map(|column| beside.get(column).to_owned());
        if *run.get_or_insert_with(|| of_path.clone()) != of_path {
            return Err(format!(
                "{path}: its last row beside VPP is of another run than those of other paths; measure them together"
            ));
        }
        let count = |vector| {
            let counted = counts.iter().filter(|row| is_of(row, path, vector) && row.get("level") == "avx2");
            let count = counted.filter_map(|row| row.number("instructions")).last();
            count.ok_or_else(|| missing("count"))
        };
        let tenths = |column| beside.number(column).map_or(String::new(), |value| format!("{value:.1}"));
        let whole = |column| beside.number(column).map_or(String::new(), |value| format!("{value:.0}"));
        text.push_str(&format!(
            "| {title} | {:.0} | {} | {} | {} ({} to {}) | {:.0} |\n",
            count("256")?,
            tenths("ticks"),
            whole("vpp_ticks"),
            tenths("ratio"),
            tenths("ratio_low"),
            tenths("ratio_high"),
            count("8")?,
        ));
    }
    let [date, revision, cpu, tsc_mhz, pages, level] = run.unwrap_or_default();
    let (least, most) =
        at_8.iter().fold((f64::MAX, 0.0_f64), |(least, most), ratio| (least.min(*ratio), most.max(*ratio)));
    text.push_str(&format!(
        "\nTicks: {date}, revision {revision}, {cpu} at {tsc_mhz} MHz, pages of {pages}, {level}. When 8 packets come at once, VPP takes {least:.1} to \
         {most:.1} times as many ticks as Quiver.\n"
    ));
    Ok(text)
}
