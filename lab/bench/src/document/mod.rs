//! `bench document`: the tables of docs/performance.md and the README's, between their markers, and the plots beside it, all of them
//! made of the rows in bench/*.csv. So no figure there is typed by hand, and each says when it was measured.

mod plots;
mod rows;
mod summary;

use std::path::Path;

use rows::Rows;
use summary::Extent;

/// A table of the page.
struct Listing {
    /// Its name in the markers.
    name: &'static str,
    file: &'static str,
    /// Columns that identify a row; of rows with equal ones the last counts.
    key: &'static [&'static str],
    /// The columns, and what the page calls them.
    columns: &'static [(&'static str, &'static str)],
    /// Which rows; the last ones are chosen among these.
    chosen: fn(&rows::Row) -> bool,
}

/// Whether a row is of a way that packets still go: fused products are gone since 2026-11-28.
fn is_present(row: &rows::Row) -> bool {
    !row.get("way").starts_with("fused")
}

/// Pages of a machine on which none of 2 MB are reserved.
const SMALL_PAGES: &str = "4 KB";

const LISTINGS: [Listing; 9] = [
    Listing {
        name: "graph",
        file: "graph.csv",
        key: &["path", "way", "vector"],
        columns: &[
            ("path", "path"),
            ("way", "way"),
            ("ticks", "ticks"),
            ("least", "least"),
            ("vpp_ticks", "VPP"),
            ("ratio", "VPP by Quiver"),
            ("ratio_low", "from"),
            ("ratio_high", "to"),
            ("level", "instruction set"),
            ("pages", "pages"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: |row| row.get("vector") == "256" && row.get("pages") != SMALL_PAGES && is_present(row),
    },
    Listing {
        name: "small-pages",
        file: "graph.csv",
        key: &["path", "way", "vector"],
        columns: &[
            ("path", "path"),
            ("ticks", "ticks"),
            ("least", "least"),
            ("level", "instruction set"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: |row| row.get("vector") == "256" && row.get("pages") == SMALL_PAGES,
    },
    Listing {
        name: "memif",
        file: "memif.csv",
        key: &["placement", "bytes", "way"],
        columns: &[
            ("placement", "peers"),
            ("bytes", "bytes"),
            ("way", "way"),
            ("ticks", "ticks"),
            ("least", "least"),
            ("round_trip_before", "round trip before"),
            ("round_trip_after", "and after"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: |row| ["64", "512", "1518", "9000"].contains(&row.get("bytes")) && is_present(row),
    },
    Listing {
        name: "workers",
        file: "workers.csv",
        key: &["path", "case", "way"],
        columns: &[
            ("path", "path"),
            ("case", "case"),
            ("way", "way"),
            ("workers", "workers"),
            ("ticks_0", "ticks, worker 0"),
            ("ticks_1", "worker 1"),
            ("mpps", "Mpps"),
            ("round_trip_before", "round trip before"),
            ("round_trip_after", "and after"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: is_present,
    },
    Listing {
        name: "tables",
        file: "tables.csv",
        key: &["what", "of"],
        columns: &[
            ("what", "what"),
            ("of", "of"),
            ("value", "value"),
            ("unit", "unit"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: |_| true,
    },
    Listing {
        name: "stall",
        file: "stall.csv",
        key: &["work"],
        columns: &[
            ("work", "control does"),
            ("commands", "commands"),
            ("packets", "packets"),
            ("lost", "lost"),
            ("longest_gap_us", "longest gap, us"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: |_| true,
    },
    Listing {
        name: "load",
        file: "load.csv",
        key: &["load"],
        columns: &[
            ("load", "packets/s"),
            ("worker_percent", "worker, % of a core"),
            ("control_percent", "control, %"),
            ("p50_us", "P50, us"),
            ("p99_us", "P99, us"),
            ("direct_p50_us", "without quiverd, P50"),
            ("direct_p99_us", "and P99"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: |_| true,
    },
    Listing {
        name: "control",
        file: "control.csv",
        key: &["change"],
        columns: &[
            ("change", "change"),
            ("count", "count"),
            ("first_us", "first, us each"),
            ("last_us", "last, us each"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: |_| true,
    },
    Listing {
        name: "api",
        file: "api.csv",
        key: &["cpu"],
        columns: &[
            ("ping_us", "a ping, us"),
            ("pings_per_second", "pings/s"),
            ("million_routes_s", "a million routes, s"),
            ("revision", "revision"),
            ("date", "date"),
        ],
        chosen: |_| true,
    },
];

/// Name of the summary's markers, in the README and in docs/performance.md.
const SUMMARY: &str = "summary";
/// Pages with a summary.
const SUMMARIES: [(&str, Extent); 2] = [("README.md", Extent::Readme), ("docs/performance.md", Extent::Full)];

/// Writes the pages and their plots, in the workspace at `root`.
pub fn write(root: &Path) -> Result<(), String> {
    let page = root.join("docs/performance.md");
    let told = |error: std::io::Error| format!("{}: {error}", page.display());
    let mut text = std::fs::read_to_string(&page).map_err(told)?;
    for listing in &LISTINGS {
        let rows = Rows::read(&root.join("bench").join(listing.file))?.only(listing.chosen).last_by(listing.key);
        text = between(&text, listing.name, &table(listing, &rows))?;
    }
    std::fs::write(&page, text).map_err(told)?;
    for (page, extent) in SUMMARIES {
        let page = root.join(page);
        let told = |error: std::io::Error| format!("{}: {error}", page.display());
        let text = std::fs::read_to_string(&page).map_err(told)?;
        let text = between(&text, SUMMARY, &summary::table(&root.join("bench"), extent)?)?;
        std::fs::write(&page, text).map_err(told)?;
    }
    plots::draw(root)
}

/// The table in Markdown.
fn table(listing: &Listing, rows: &Rows) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(listing.columns.iter().map(|(_, head)| *head).collect());
    text.push_str(&line(vec!["---"; listing.columns.len()]));
    for row in rows.iter() {
        text.push_str(&line(listing.columns.iter().map(|(column, _)| row.get(column)).collect()));
    }
    text
}

/// The page with another text between the markers of a name.
fn between(page: &str, name: &str, text: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->\n"));
    let missing = || format!("the page has no `{}` before `{}`", begin.trim(), end.trim());
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_what_is_between_its_markers() {
        let page = "# Page\n<!-- a: begin -->\nold\n<!-- a: end -->\nrest\n";
        assert_eq!(
            between(page, "a", "new\n").expect("markers"),
            "# Page\n<!-- a: begin -->\nnew\n<!-- a: end -->\nrest\n"
        );
        assert!(between(page, "b", "").is_err());
    }

    #[test]
    fn summaries_have_what_was_counted_and_measured_last() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (name, extent) in SUMMARIES {
            let page = std::fs::read_to_string(root.join(name)).expect("the page");
            let table = summary::table(&root.join("bench"), extent).expect("rows");
            let expected = between(&page, SUMMARY, &table).expect("markers");
            assert!(page == expected, "{name}: write it anew: cargo run --release -p quiver-bench -- document");
        }
    }

    /// Every line of the page's tables comes from a row of a CSV file. The files may hold newer rows.
    #[test]
    fn each_line_of_the_page_is_a_row_that_was_measured() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = std::fs::read_to_string(root.join("docs/performance.md")).expect("the page");
        for listing in &LISTINGS {
            let rows = Rows::read(&root.join("bench").join(listing.file)).expect("rows");
            let all = table(listing, &rows.only(listing.chosen));
            let (_, rest) = page.split_once(&format!("<!-- {}: begin -->\n", listing.name)).expect("its beginning");
            let (lines, _) = rest.split_once(&format!("<!-- {}: end -->\n", listing.name)).expect("its end");
            assert!(lines.lines().count() > 2, "{} has rows", listing.name);
            for line in lines.lines() {
                assert!(all.lines().any(|row| row == line), "{}: no row says `{line}`", listing.name);
            }
        }
    }
}
