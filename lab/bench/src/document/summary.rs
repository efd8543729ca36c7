//! The README's table: what a packet costs on the paths that most people ask for, of the last run beside VPP and of the counts that
//! are kept.

use std::path::Path;

use super::rows::{Row, Rows};

/// What the README calls a path, and its name in the rows.
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

/// The table in Markdown, of the files in the workspace's folder `bench`.
///
/// # Errors
/// If a file cannot be read, or has no row for a path.
pub fn table(bench: &Path) -> Result<String, String> {
    let ticks = Rows::read(&bench.join("graph.csv"))?;
    let counts = Rows::read(&bench.join("instructions.csv"))?;
    let is_of = |row: &Row, path, vector| row.get("path") == path && row.get("vector") == vector;
    let mut text =
        "| path | instructions | ticks | VPP's ticks | VPP by Quiver | instructions, 8 packets |\n".to_owned();
    text.push_str("|---|---|---|---|---|---|\n");
    for (title, path) in PATHS {
        let missing = |what| format!("{path}: no {what} in {}", bench.display());
        let beside = ticks.iter().filter(|row| is_of(row, path, "256") && !row.get("ratio").is_empty()).last();
        let beside = beside.ok_or_else(|| missing("row beside VPP"))?;
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
    Ok(text)
}
