//! The page of requirements: each has a row, and the tests that a row names exist, those with real programs among them.

use std::fs;
use std::path::Path;

/// Documents, with the number of their requirements.
const DOCUMENTS: [(&str, usize); 3] = [("RFC 4787", 14), ("RFC 5382", 10), ("RFC 5508", 11)];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a text has a word that no digit follows.
fn names(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[at + word.len()..].starts_with(|next: char| next.is_ascii_digit()))
}

/// Checks a test: `FILE::FUNCTION`, or a scenario, which has the requirement in a comment.
fn check(test: &str, requirement: &str) {
    if let Some((file, function)) = test.split_once("::") {
        let declared = format!("#[test]\nfn {function}()");
        let lines: Vec<_> = read(file).lines().map(|line| line.trim_start().to_owned()).collect();
        assert!(lines.join("\n").contains(&declared), "{requirement}: {file} has no test {function}");
        return;
    }
    let text = read(test);
    let comments = text.lines().filter(|line| line.starts_with('#')).collect::<Vec<_>>().join("\n");
    assert!(names(&comments, requirement), "{requirement}: {test} has no comment that names it");
}

#[test]
fn each_requirement_has_a_row_whose_tests_exist() {
    let page = read("../../docs/nat-requirements.md");
    for (document, number) in DOCUMENTS {
        let section = page.split("\n## ").find_map(|section| section.strip_prefix(document)).expect(document);
        let rows: Vec<_> = section.lines().filter_map(|line| line.strip_prefix("| REQ-")).collect();
        assert_eq!(rows.len(), number, "{document}");
        for (at, row) in rows.into_iter().enumerate() {
            let requirement = format!("{document} REQ-{}", at + 1);
            let cells: Vec<_> = row.split(" | ").map(|cell| cell.trim().trim_end_matches('|').trim()).collect();
            let [what, how, tests] = cells[..] else { panic!("{requirement}: {cells:?}") };
            assert!(names(&format!("{document} REQ-{what}"), &requirement), "{requirement}: the row of {what}");
            let tests: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
            assert!(tests.is_empty() == (how == "Not offered"), "{requirement}: tests");
            tests.into_iter().for_each(|test| check(test, &requirement));
        }
    }
}

#[test]
fn rows_of_real_programs_name_requirements_and_tests_that_exist() {
    let page = read("../../docs/nat-requirements.md");
    let (_, section) = page.split_once("\n## Real programs").expect("the section");
    let rows: Vec<_> = section.lines().filter(|line| line.starts_with('|')).skip(2).collect();
    assert!(!rows.is_empty());
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [_, _, requirements, test, _] = cells[..] else { panic!("{row}") };
        for requirement in requirements.split(", ") {
            let (document, number) = requirement.split_once(" REQ-").expect(requirement);
            let last = DOCUMENTS.iter().find(|(name, _)| *name == document).expect(requirement).1;
            assert!((1..=last).contains(&number.parse::<usize>().expect(requirement)), "{requirement}");
        }
        let (file, function) = test.trim_matches('`').split_once("::").expect(test);
        let text = read(&format!("../../scenarios/tests/namespaces/gateway/{file}"));
        assert!(text.contains(&format!("pub fn {function}(")), "{file} has no {function}");
    }
}
