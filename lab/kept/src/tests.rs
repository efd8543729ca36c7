use super::*;

const RUSTC: &str = "1.95.0 (59807616e 2026-04-14)";
const COMMAND: &str = "cargo xtask count";

fn folder(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("quiver-kept-{}-{test}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn counts(rows: &[(&str, f64)]) -> Counts {
    rows.iter().map(|(path, count)| (vec![(*path).to_owned(), "avx2".to_owned()], *count)).collect()
}

fn open(file: &Path) -> Result<KeptCounts, KeptError> {
    KeptCounts::read(file, &["path", "level"], "instructions", COMMAND)
}

/// Compares new counts with the counts that were kept before.
fn told(test: &str, before: &[(&str, f64)], compiler: &str, after: &[(&str, f64)]) -> Outcome {
    let folder = folder(test);
    let file = folder.join("counts.csv");
    open(&file).expect("nothing yet").settle(RUSTC, counts(before), true).expect("kept");
    let outcome = open(&file).expect("rows").settle(compiler, counts(after), false).expect("compared");
    std::fs::remove_dir_all(folder).expect("a folder");
    outcome
}

fn problem(outcome: Outcome) -> String {
    match outcome {
        Outcome::Changed(problems) => problems.join("\n"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_within_two_percent_is_the_same() {
    let before = [("ip4, 8 routes", 100.0), ("bridge", 50.0)];
    let outcome = told("same", &before, RUSTC, &[("ip4, 8 routes", 102.0), ("bridge", 49.0)]);
    assert_eq!(outcome, Outcome::Same(2));
}

#[test]
fn more_and_less_are_told_with_both_figures_and_what_to_do() {
    let problem = problem(told(
        "more",
        &[("ip4, 8 routes", 100.0), ("b", 50.0)],
        RUSTC,
        &[("ip4, 8 routes", 102.01), ("b", 48.5)],
    ));
    let lines: Vec<_> = problem.lines().collect();
    assert_eq!(
        lines,
        [
            "b, avx2: 48.50 now, 50 before (-3.0 %); so that the gain stays, keep it by `UPDATE=1 cargo xtask count`",
            "ip4, 8 routes, avx2: 102.01 now, 100 before (+2.0 %); find out why; if it is worth it, keep it by `UPDATE=1 \
             cargo xtask count`",
        ]
    );
}

#[test]
fn a_row_that_is_missing_or_too_many_is_told() {
    let problem = problem(told("rows", &[("old", 1.0)], RUSTC, &[("new", 7.0)]));
    assert!(problem.contains("new, avx2: 7 now, and "), "{problem}");
    assert!(problem.contains("has a row of it, but it is not there"), "{problem}");
}

#[test]
fn nothing_is_compared_for_a_compiler_without_rows() {
    match told("other", &[("a", 1.0)], "1.96.0", &[("a", 9.0)]) {
        Outcome::Skipped(sentence) => {
            assert!(sentence.ends_with("no rows for rustc 1.96.0; make them with `UPDATE=1 cargo xtask count`"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_update_leaves_the_rows_of_other_compilers() {
    let folder = folder("update");
    let file = folder.join("counts.csv");
    for (compiler, count) in [("1.94.0", 5.0), (RUSTC, 6.0), (RUSTC, 7.25)] {
        open(&file).expect("rows").settle(compiler, counts(&[("a, b", count)]), true).expect("kept");
    }
    let text = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(text, format!("rustc,path,level,instructions\n1.94.0,\"a, b\",avx2,5\n{RUSTC},\"a, b\",avx2,7.25\n"));
    std::fs::remove_dir_all(folder).expect("a folder");
}

#[test]
fn a_broken_file_is_named_with_its_line() {
    let folder = folder("broken");
    let file = folder.join("counts.csv");
    for (text, expected) in [
        ("a,b\n", ":1: the first line is `a,b`"),
        ("rustc,path,level,instructions\n1,a,b,many\n", ":2: the last cell is no number"),
        ("rustc,path,level,instructions\n1,a,5\n", ":2: there are 2 cells in front of the count"),
        ("rustc,path,level,instructions\n1,a,b,5\n1,a,b,6\n", ":3: an earlier line says the same"),
    ] {
        std::fs::write(&file, text).expect("written");
        let error = open(&file).err().expect("an error").to_string();
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_dir_all(folder).expect("a folder");
}
