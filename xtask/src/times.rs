//! How long rustc takes for each crate: this program in place of rustc, as cargo's `RUSTC_WRAPPER`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Names the file that times are written to. Where it is set, this program is started by cargo, and not by anybody else.
pub const FILE: &str = "QUIVER_COMPILE_TIMES";

/// Runs the compiler that the arguments name, and notes its CPU seconds.
pub fn wrap(file: &Path) -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(rustc) = arguments.next() else { return ExitCode::FAILURE };
    let arguments: Vec<_> = arguments.collect();
    let status = Command::new(rustc).args(&arguments).status();
    let name = arguments.iter().skip_while(|argument| *argument != "--crate-name").nth(1);
    let noted = name.map_or(Ok(()), |name| note(file, &name.to_string_lossy()));
    match (status, noted) {
        (Ok(status), Ok(())) => status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("cargo xtask: rustc cannot be timed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn note(file: &Path, name: &str) -> io::Result<()> {
    let seconds = children(&std::fs::read_to_string("/proc/self/stat")?).ok_or(io::ErrorKind::InvalidData)?;
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{name}\t{seconds:.2}\n").as_bytes())
}

/// CPU seconds of a process's children that have ended: proc_pid_stat(5), fields 16 and 17, in hundredths of a second. The
/// name in field 2 may hold anything but ends with the last parenthesis.
fn children(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(13).map(str::parse::<u64>);
    let (user, system) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some((user + system) as f64 / 100.0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_of_children_is_read_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 200 0 0 5 6 150 75 20 0 1 0 1000";
        assert_eq!(super::children(stat), Some(2.25));
        assert_eq!(super::children("7 (a"), None);
    }
}
