//! Fuzz targets of this room: no text makes it panic, errors point inside it, and what is printed is read as the same. How
//! to run: fuzz/README.md.

use std::collections::HashSet;

use quiver_suite::{Selection, read};

/// The tags that selections are matched with.
const TAGS: [&str; 5] = ["64B", "1C", "NDRPDR", "IP4_ROUTING", "FIB_2M"];

/// Printing and parsing an expression agree, and select the same.
fn check_selection(text: &str) {
    match Selection::parse(text) {
        Ok(selection) => {
            let again = Selection::parse(&selection.to_string()).expect("what is printed is an expression");
            assert_eq!(again.to_string(), selection.to_string());
            for mask in 0..1 << TAGS.len() {
                let tags: Vec<_> = (0..TAGS.len()).filter(|at| mask >> at & 1 == 1).map(|at| TAGS[at]).collect();
                assert_eq!(again.matches_tags(&tags), selection.matches_tags(&tags), "{text}");
            }
        }
        Err(error) => {
            assert!(text.get(error.place.clone()).is_some(), "{text:?}: {error}");
        }
    }
}

/// Any text is an expression or an error.
#[test]
fn selections() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            check_selection(text);
        }
    });
}

/// The grammar's own words in any order.
#[test]
fn selection_sentences() {
    const WORDS: [&str; 14] =
        ["AND", "OR", "NOT", "&", "(", ")", "64b", "1c", "ndrpdr", "mrr", "fib_*", "ip?_routing", "[16]c", "and"];
    bolero::check!().for_each(|bytes: &[u8]| {
        let words = bytes.iter().map(|byte| WORDS[usize::from(*byte) % WORDS.len()]);
        check_selection(&words.take(40).collect::<Vec<_>>().join(" "));
    });
}

/// Names are unique, and errors point inside the text.
fn check_suites(text: &str) {
    match read([("a.yaml", text)]) {
        Ok(cases) => {
            let names: HashSet<_> = cases.iter().map(|case| case.name()).collect();
            assert_eq!(names.len(), cases.len());
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            let lines = text.split(['\n', '\r']).count();
            assert!(errors.iter().all(|error| (1..=lines).contains(&error.at.line)), "{text:?}: {errors:?}");
        }
    }
}

/// Any text is suites or errors.
#[test]
fn suites() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            check_suites(text);
        }
    });
}

/// Suites of the fields' own words, right and wrong.
#[test]
fn suite_sentences() {
    const LINES: [&str; 17] = [
        "  - function: l2xc",
        "  - function: [l2bd, ip4]",
        "  - encap: dot1q",
        "    function: ip4",
        "    scale: [base, 2m]",
        "    scale: 20k",
        "    feature: routecount",
        "    feature: [none, macswap]",
        "    device: [quiver, testpmd]",
        "    device: linux",
        "    driver: [memif, tap]",
        "    driver: pg",
        "    frame: [64, imix]",
        "    cores: [1, 2]",
        "    search: [mrr, reconf]",
        "    search: latency",
        "    memory-gib: 4",
    ];
    bolero::check!().for_each(|bytes: &[u8]| {
        let lines = bytes.iter().map(|byte| LINES[usize::from(*byte) % LINES.len()]);
        let lines: Vec<_> = std::iter::once("suites:").chain(lines.take(30)).collect();
        check_suites(&lines.join("\n"));
    });
}
