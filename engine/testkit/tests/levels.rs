//! A level that a machine lacks is ignored, and never passes. This program runs itself again as on such a machine.

use std::process::{Command, ExitCode};

use libtest_mimic::Trial;
use quiver_engine::Level;
use quiver_testkit::{level_tests, levels, trials};

fn passes(level: Level) {
    assert_eq!(level.name(), "baseline");
}
level_tests![passes];

fn main() -> ExitCode {
    if std::env::var_os(levels::WITHOUT).is_some() {
        return trials::run([LEVEL_TESTS.trials()]);
    }
    trials::run([vec![
        Trial::test("a_missing_level_is_ignored", || {
            let (printed, success) = run(&[])?;
            assert!(success, "{printed}");
            for line in ["passes (baseline)", "1 passed; 0 failed; 2 ignored"] {
                assert!(printed.contains(line), "{printed}");
            }
            let ignored = |level: &str| {
                let name = format!("passes ({level} is not on this CPU)");
                printed.lines().any(|line| line.contains(&name) && line.ends_with("ignored"))
            };
            assert!(ignored("avx2") && ignored("avx512"), "{printed}");
            Ok(())
        }),
        Trial::test("a_missing_level_fails_whoever_insists", || {
            let (printed, success) = run(&["--include-ignored"])?;
            assert!(!success && printed.contains("1 passed; 2 failed"), "{printed}");
            Ok(())
        }),
    ]])
}

fn run(arguments: &[&str]) -> Result<(String, bool), std::io::Error> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(arguments).env(levels::WITHOUT, "avx2,avx512").output()?;
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success()))
}
