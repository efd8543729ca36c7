//! Clients in Python, with the packages that VPP's users have: `clients/python`.
//!
//! They are reported as ignored where these packages cannot be installed: without Python, or without a network.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};

mod quiverd;

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python");

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let python = match arguments.list {
        true => Ok(PathBuf::new()),
        false => installed(Path::new(env!("CARGO_TARGET_TMPDIR"))),
    };
    if let Err(error) = &python {
        eprintln!("the packages of clients/python cannot be installed, so their tests are ignored: {error}");
    }
    let (is_missing, python) = (python.is_err(), python.unwrap_or_default());
    let trials = [0, 2].map(|workers| {
        let python = python.clone();
        let name = format!("statistics are the same for all who read them, with {workers} workers");
        Trial::test(name, move || statistics(&python, workers)).with_ignored_flag(is_missing)
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// Python with the packages, which are installed once. The error says why there is none.
fn installed(folder: &Path) -> Result<PathBuf, String> {
    let said = |output: io::Result<Output>| match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let requirements = Path::new(CLIENTS).join("requirements.txt");
    let (environment, done) = (folder.join("python"), folder.join("python-requirements.txt"));
    let wanted = std::fs::read(&requirements).map_err(|error| error.to_string())?;
    let python = environment.join("bin/python");
    if std::fs::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    said(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment).output())?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--retries", "1", "--timeout", "20", "--requirement"]);
    said(pip.arg(&requirements).output())?;
    std::fs::write(&done, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

fn statistics(python: &Path, workers: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let log = std::fs::File::create(path("log"))?;
    let mut command = quiverd::command();
    command.arg("--socket").arg(path("cli.sock")).arg("--stats-socket").arg(path("stats.sock"));
    command.args(["--metrics", "127.0.0.1:0", "--stats-interval", "0.05", "--workers", &workers.to_string()]);
    command.args(["--buffers", "4096"]).env("RUST_LOG", "info").stderr(log);
    let _daemon = quiverd::Daemon::start(&mut command, path("cli.sock"));
    let mut url = None;
    quiverd::wait("quiverd says where its metrics are", || {
        let log = std::fs::read_to_string(path("log")).expect("its log");
        let told = log.split("serving metrics at ").nth(1).and_then(|rest| rest.split_once('\n'));
        url = told.map(|(url, _)| url.to_owned());
        url.is_some()
    });
    let script = Path::new(CLIENTS).join("statistics.py");
    let check = Command::new(python)
        .arg(&script)
        .arg("--check")
        .args([path("stats.sock"), path("cli.sock")])
        .args(url)
        .output()?;
    let show = Command::new(python).arg(&script).arg(path("stats.sock")).output()?;
    for output in [&check, &show] {
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{said}\nquiverd: {}", std::fs::read_to_string(path("log"))?).into());
        }
    }
    let shown = String::from_utf8_lossy(&show.stdout);
    assert!(shown.contains("pg1: 0 packets received, 1000 sent, 0 dropped"), "{shown}");
    Ok(())
}
