//! Tag expressions select what Robot Framework's do, which CSIT uses.

use std::path::Path;

use libtest_mimic::{Arguments, Failed};
use quiver_oracle::Packages;
use quiver_suite::{Case, Selection, builtin};

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requirements.txt");
const EXPRESSIONS: u64 = 2_000;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let packages = Packages::install(&arguments, env!("CARGO_TARGET_TMPDIR"), "robotframework", REQUIREMENTS);
    let trial = packages.test("expressions select what Robot Framework's do", same_selection);
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

/// Tags and patterns joined by operators, without what only one of both has: parentheses, AND NOT.
fn expression(random: &mut fastrand::Rng) -> String {
    const PATTERNS: [&str; 18] = [
        "64b",
        "64B",
        "imix",
        "1c",
        "2C",
        "[14]c",
        "?c",
        "ndrpdr",
        "MRR",
        "ip4_routing",
        "IP4ROUTING",
        "fib_*",
        "l2bd*",
        "vpp",
        "[!v]*",
        "drv__memif",
        "feature",
        "urpf*",
    ];
    let mut text = if random.u8(..8) == 0 { "NOT " } else { "" }.to_owned();
    for number in 0..random.usize(1..=5) {
        if number > 0 {
            text.push_str(random.choice([" AND ", " AND ", " OR ", " NOT "]).unwrap_or_default());
        }
        text.push_str(random.choice(PATTERNS).unwrap_or_default());
    }
    text
}

fn same_selection(python: &Path) -> Result<(), Failed> {
    let cases = builtin().map_err(|errors| format!("{errors:?}"))?;
    let pairs = (0..EXPRESSIONS).map(|seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        (cases[random.usize(..cases.len())], expression(&mut random))
    });
    let pairs: Vec<(Case, String)> = pairs.collect();
    let lines = pairs.iter().map(|(case, expression)| format!("{}\n", serde_json::json!([case.tags(), expression])));
    let answer = quiver_oracle::answer(python, &Path::new(TESTS).join("match.py"), &lines.collect::<String>())?;
    let answers: Vec<bool> = answer.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert_eq!(answers.len(), pairs.len());
    for ((case, expression), answer) in pairs.iter().zip(&answers) {
        let matches = Selection::parse(expression)?.matches(case);
        assert_eq!(matches, *answer, "{expression}: {:?}", case.tags());
    }
    let matching = answers.iter().filter(|answer| **answer).count();
    println!("{} expressions, {matching} of which match: as Robot Framework's", answers.len());
    assert!(matching > 200 && matching < answers.len() - 200, "{matching}");
    Ok(())
}
