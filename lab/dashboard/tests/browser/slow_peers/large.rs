//! Large stores.

use std::fs;

use serde_json::Value;

use crate::made::site;
use quiver_browser::Browser;

/// Most of the page's memory, in MB.
const MEGABYTES_MAX: u64 = 200;

/// A hundred thousand results: each view opens, and stays small. Times are printed; they are judged by eye, as of all
/// measurements on a shared machine.
#[test]
fn a_hundred_thousand_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("site");
    let summary = site(&place, quiver_dashboard::synthetic::documents(100_000));
    assert_eq!((summary.documents, summary.series), (100_000, 1000));
    let url = format!("file://{}", place.join("index.html").display());
    for view in ["trending", "comparisons", "coverage", "news?days=200", "energy", "search"] {
        // A browser that has shown other views keeps memory of theirs for as long as it likes.
        let mut browser = Browser::start(1400, 1000);
        browser.open(&format!("{url}#/{view}"));
        let time = browser.value("performance.now()").as_f64().expect("a time");
        let heap = browser.value("performance.memory.usedJSHeapSize").as_u64().expect("bytes") >> 20;
        let memory = renderer(browser.process()) >> 20;
        println!(
            "{view}: there {time:.0} ms after the page began to load, {heap} MB of heap, {memory} MB of the page's process"
        );
        assert!(memory < MEGABYTES_MAX, "{view}: {memory} MB");
        assert_eq!(browser.errors, Vec::<String>::new(), "{view}");
        if view == "search" {
            let shown = browser.value("quiver.tables[0].rows().length");
            assert!(shown.as_u64() > Some(1000), "{shown}");
            assert_ne!(browser.value("document.querySelector('.more').hidden"), Value::Null);
        }
    }
}

/// Proportional memory in bytes of the largest process that shows pages, of a browser.
fn renderer(browser: u32) -> u64 {
    let mut most = 0;
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let folder = entry.path();
        let command = fs::read_to_string(folder.join("cmdline")).unwrap_or_default();
        if !command.contains("--type=renderer") || !descends(&folder, browser) {
            continue;
        }
        let rollup = fs::read_to_string(folder.join("smaps_rollup")).unwrap_or_default();
        let pss =
            rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        most = most.max(pss.unwrap_or(0) << 10);
    }
    assert!(most > 0, "no process of the browser shows pages");
    most
}

/// Whether a process comes from another one.
fn descends(folder: &std::path::Path, from: u32) -> bool {
    let mut folder = folder.to_owned();
    for _ in 0..8 {
        let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
        let parent =
            status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<u32>().ok()).unwrap_or(0);
        if parent == from {
            return true;
        }
        folder = std::path::Path::new("/proc").join(parent.to_string());
    }
    false
}
