//! CPU seconds of each compiler run and each test: this program in place of rustc (cargo's `RUSTC_WRAPPER`), and in front of
//! each test (cargo's `runner`).

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Names the file that times are appended to. Where it is set, cargo or nextest started this program.
pub const FILE: &str = "QUIVER_TIMES";

/// Runs the program that the arguments name, and appends its CPU seconds to the file.
pub fn wrap(file: &Path) -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else { return ExitCode::FAILURE };
    let arguments: Vec<_> = arguments.collect();
    let status = match Command::new(&program).args(&arguments).status() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("cargo xtask: {} cannot be started: {error}", program.display());
            return ExitCode::FAILURE;
        }
    };
    let is_crate = arguments.iter().any(|argument| argument == "--crate-name");
    let is_list = arguments.iter().any(|argument| argument == "--list");
    let variable = |name| std::env::var(name).ok();
    let what = match (variable("NEXTEST_BINARY_ID"), variable("NEXTEST_TEST_NAME"), variable("CARGO_PKG_NAME")) {
        (_, _, Some(package)) if is_crate => Some(format!("crate\t{package}")),
        (Some(binary), Some(test), _) if !is_crate && !is_list => Some(format!("test\t{binary} {test}")),
        _ => None,
    };
    if let Some(what) = what
        && let Err(error) = note(file, &what)
    {
        eprintln!("cargo xtask: {}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    // Shells report a signal this way, too.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn note(file: &Path, what: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    // One write, so that lines of several processes do not mix.
    file.write_all(format!("{what}\t{:.2}\n", of_children()?).as_bytes())
}

/// CPU seconds of this process's children that have ended, and of theirs.
pub fn of_children() -> io::Result<f64> {
    children(&std::fs::read_to_string("/proc/self/stat")?).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Fields 16 and 17 of proc_pid_stat(5), in hundredths of a second. The name in field 2 may hold anything but ends with the
/// last parenthesis.
fn children(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(13).map(str::parse::<u64>);
    let (user, system) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some((user + system) as f64 / 100.0)
}

/// The sums of a file by kind (`crate`, `test`) and name. A crate is compiled several times: for its users, for its tests, for
/// lints.
pub fn sums(text: &str) -> BTreeMap<(String, String), f64> {
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let mut cells = line.splitn(2, '\t');
        let (Some(kind), Some((name, seconds))) = (cells.next(), cells.next().and_then(|rest| rest.rsplit_once('\t')))
        else {
            continue;
        };
        if let Ok(seconds) = seconds.parse::<f64>() {
            *sums.entry((kind.to_owned(), name.to_owned())).or_insert(0.0) += seconds;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_of_children_is_read_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 200 0 0 5 6 150 75 20 0 1 0 1000";
        assert_eq!(super::children(stat), Some(2.25));
        assert_eq!(super::children("7 (a"), None);
    }

    #[test]
    fn times_of_one_name_are_added_and_broken_lines_skipped() {
        let sums = super::sums("crate\ta\t1.50\ntest\ta b\tc\t2.00\ncrate\ta\t0.25\ncrate\tb\ncrate\tc\tx\n");
        let expected = [(("crate".into(), "a".into()), 1.75), (("test".into(), "a b\tc".into()), 2.0)];
        assert_eq!(sums.into_iter().collect::<Vec<_>>(), expected);
    }
}
