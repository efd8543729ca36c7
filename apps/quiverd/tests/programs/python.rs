//! Clients in Python, with the packages that VPP's users have: `clients/python`.
//!
//! They are reported as ignored where these packages cannot be installed: without Python, or without a network.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use quiver_oracle::Packages;
use quiver_testkit::trials;

use crate::{built, quiverd};

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python");

/// Names of trials.
const CONTROL: &str = "python::vpp_papi calls, one by one and at once, and hears of all that happens";
const PLUGINS: &str = "python::vpp_papi calls what plugins bring, lists it, and hears of it";

pub fn trials(arguments: &Arguments) -> Vec<Trial> {
    let statistics_of =
        |workers: usize| format!("python::statistics are the same for all who read them, with {workers} workers");
    let names = [CONTROL.to_owned(), PLUGINS.to_owned(), statistics_of(0), statistics_of(2)];
    // Nothing is installed if the arguments choose none of them.
    let are_needed = !arguments.list && names.iter().any(|name| trials::chosen(arguments, name));
    let arguments = Arguments { list: !are_needed, ..arguments.clone() };
    let requirements = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python/requirements.txt");
    let packages = Packages::install(&arguments, env!("CARGO_TARGET_TMPDIR"), "python", requirements);
    let of_control = packages.test(CONTROL, control);
    let of_statistics =
        [0, 2].map(|workers| packages.test(statistics_of(workers), move |python| statistics(python, workers)));
    let of_plugins = packages.test(PLUGINS, plugins);
    [of_control, of_plugins].into_iter().chain(of_statistics).collect()
}

/// Standard output of a script of the folder, if it succeeds.
fn run(python: &Path, script: &str, arguments: &[&OsStr]) -> Result<String, String> {
    let output = Command::new(python).arg(Path::new(CLIENTS).join(script)).args(arguments).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn control(python: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (definitions, socket) = (folder.path().join("api"), folder.path().join("api.sock"));
    assert!(quiverd::command().arg("--write-api").arg(&definitions).status()?.success());
    let daemon = quiverd::Daemon::start_in(folder.path(), |command| {
        command.arg("--api-socket").arg(&socket).args(["--buffers", "4096"]);
    });
    let shown = run(python, "control.py", &["--check".as_ref(), definitions.as_ref(), socket.as_ref()])?;
    let line = |line: &str| assert!(shown.lines().any(|shown| shown.starts_with(line)), "{line}: {shown}");
    line(&format!("connected to quiver {}", env!("CARGO_PKG_VERSION")));
    line("1 loop0 192.0.2.1/24");
    line("interface 1 is deleted");
    line("5000 events in ");
    // With those that are always there.
    line("100004 routes in ");
    let interfaces = daemon.run("show interface")?;
    assert_eq!(interfaces.as_array().map(Vec::len), Some(1), "local0 alone is left: {interfaces}");
    Ok(())
}

fn plugins(python: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (definitions, socket) = (folder.path().join("api"), folder.path().join("api.sock"));
    let files = [built::dscp_mark(), built::ttl_guard("cc")];
    let with_plugins = |command: &mut Command| {
        for file in &files {
            command.arg("--plugin").arg(file);
        }
    };
    let mut write = quiverd::command();
    with_plugins(&mut write);
    assert!(write.arg("--write-api").arg(&definitions).status()?.success());
    let _daemon = quiverd::Daemon::start_in(folder.path(), |command| {
        with_plugins(command);
        command.arg("--config").arg(Path::new(CLIENTS).join("plugins.yaml"));
        command.arg("--api-socket").arg(&socket).args(["--buffers", "4096"]);
    });
    let shown = run(python, "plugins.py", &[definitions.as_ref(), socket.as_ref()])?;
    assert_eq!(shown, "2 rules mark packets\na packet with a TTL of 9 was refused\n");
    Ok(())
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
    let url = quiverd::said(&path("log"), "serving metrics at ");
    let (stats, commands) = (path("stats.sock"), path("cli.sock"));
    let check = ["--check".as_ref(), stats.as_os_str(), commands.as_ref(), url.as_ref()];
    let shown = run(python, "statistics.py", &check).and_then(|_| run(python, "statistics.py", &[stats.as_ref()]));
    let log = || std::fs::read_to_string(path("log")).unwrap_or_default();
    let shown = shown.map_err(|error| format!("{error}\nquiverd: {}", log()))?;
    assert!(shown.contains("pg1: 0 packets received, 1000 sent, 0 dropped"), "{shown}");
    Ok(())
}
