//! The daemon as a service: what the service manager is told, and what signals do.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::quiverd::{self, Daemon};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A service manager that listens.
struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Manager {
    fn new(folder: &Path) -> Manager {
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Manager { socket, path }
    }
    /// The next message.
    fn next(&self) -> String {
        let mut bytes = [0; 4096];
        let length = self.socket.recv(&mut bytes).expect("the daemon says something");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }
    /// The next message with this line; others before it are passed over.
    fn wait(&self, line: &str) -> String {
        loop {
            let message = self.next();
            if message.lines().any(|said| said == line) {
                return message;
            }
        }
    }
    /// A command that starts a daemon with a configuration file, and with its socket `s` in the folder.
    fn command(&self, folder: &Path, file: &Path) -> Command {
        let mut command = quiverd::command();
        command.arg("--socket").arg(folder.join("s")).arg("-c").arg(file);
        command.args(["--buffers", "512", "--buffers-limit", "512"]).env("NOTIFY_SOCKET", &self.path);
        command.stderr(Stdio::null());
        command
    }
    /// Starts a daemon that it manages, and waits until that is ready; what it said then.
    fn start(&self, folder: &Path, adapt: impl FnOnce(&mut Command)) -> (Daemon, String) {
        let daemon = Daemon::start_in(folder, |command| {
            command.args(["--buffers", "512", "--buffers-limit", "512"]).stderr(Stdio::null());
            adapt(command.env("NOTIFY_SOCKET", &self.path));
        });
        (daemon, self.wait("READY=1"))
    }
}

fn send(daemon: &Daemon, signal: Signal) {
    kill(Pid::from_raw(daemon.id().cast_signed()), signal).unwrap();
}

/// Whether an interface is there.
fn has(daemon: &Daemon, interface: &str) -> bool {
    daemon.run(&format!("show interface {interface}")).is_ok()
}

fn loopback(name: &str) -> String {
    format!("loopbacks: [{{name: {name}}}]\n")
}

#[test]
fn the_manager_is_told_that_it_is_ready_when_its_configuration_runs_and_that_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.yaml");
    fs::write(&file, loopback("loop0")).unwrap();
    let manager = Manager::new(folder.path());
    let socket = folder.path().join("s");
    let mut process = manager.command(folder.path(), &file).spawn().unwrap();
    let ready = manager.wait("READY=1");
    // Nothing is waited for: it serves.
    let shown = quiverd::ask(&socket, &serde_json::json!({"command": {"line": "show interface loop0"}}));
    assert!(shown["error"].is_null(), "{shown}");
    assert!(ready.contains("STATUS=started with ") && ready.contains("site.yaml"), "{ready}");
    kill(Pid::from_raw(process.id().cast_signed()), Signal::SIGTERM).unwrap();
    manager.wait("STOPPING=1");
    assert!(process.wait().unwrap().success() && !socket.exists());
}

#[test]
fn a_daemon_that_is_stopped_while_it_loads_its_configuration_ends_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.yaml");
    let loopbacks: String = (0..20_000).map(|number| format!("- name: loop{number}\n")).collect();
    fs::write(&file, format!("loopbacks:\n{loopbacks}")).unwrap();
    let manager = Manager::new(folder.path());
    let socket = folder.path().join("s");
    let mut process = manager.command(folder.path(), &file).spawn().unwrap();
    // A large one may take longer than services may otherwise.
    let loading = manager.wait("STATUS=loading the configuration");
    assert!(loading.contains("EXTEND_TIMEOUT_USEC=30000000"), "{loading}");
    kill(Pid::from_raw(process.id().cast_signed()), Signal::SIGTERM).unwrap();
    let next = manager.next();
    assert!(next.contains("STOPPING=1"), "{next}");
    assert!(process.wait().unwrap().success() && !socket.exists());
}

#[test]
fn a_start_that_fails_is_told_in_the_status() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.yaml");
    fs::write(&file, "warps: [{name: warp9}]\n").unwrap();
    let manager = Manager::new(folder.path());
    let ended = manager.command(folder.path(), &file).status().unwrap();
    assert_eq!(ended.code(), Some(1));
    manager.wait("STATUS=loading the configuration");
    let told = manager.next();
    assert!(told.starts_with("STATUS=") && told.contains("warps"), "{told}");
}

#[test]
fn signals_for_users_change_nothing_and_a_hangup_without_a_file_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let manager = Manager::new(folder.path());
    let (daemon, _) = manager.start(folder.path(), |_| {});
    daemon.run("create loopback interface").unwrap();
    send(&daemon, Signal::SIGUSR1);
    send(&daemon, Signal::SIGUSR2);
    send(&daemon, Signal::SIGHUP);
    let reloading = manager.wait("RELOADING=1");
    let moment = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")?.parse::<u64>().ok());
    assert!(moment.is_some_and(|moment| moment > 0), "{reloading}");
    let ready = manager.wait("READY=1");
    assert!(ready.contains("STATUS=there is no --config to reload"), "{ready}");
    assert!(has(&daemon, "loop0"));
    daemon.stop();
}

#[test]
fn a_hangup_applies_the_file_if_it_has_changed_and_a_refused_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.yaml");
    let log = folder.path().join("log");
    fs::write(&file, loopback("loop0")).unwrap();
    let manager = Manager::new(folder.path());
    // It runs elsewhere by the time that it reads the file again.
    let (daemon, _) = manager.start(folder.path(), |command| {
        command.current_dir(folder.path()).args(["-c", "site.yaml", "--runtime-dir", "run", "--no-state"]);
        command.arg("--log-file").arg(&log);
    });
    let reload = || {
        send(&daemon, Signal::SIGHUP);
        manager.wait("RELOADING=1");
        manager.wait("READY=1")
    };
    daemon.run("create loopback interface instance 7").unwrap();
    assert!(reload().contains("STATUS=site.yaml has not changed"));
    assert!(has(&daemon, "loop0") && has(&daemon, "loop7"), "what a command made stays");

    fs::write(&file, loopback("loop1")).unwrap();
    assert!(reload().contains("STATUS=reloaded site.yaml"));
    assert_eq!(["loop0", "loop1", "loop7"].map(|name| has(&daemon, name)), [false, true, false]);

    for (wrong, said) in [("loopbacks: [{name: loop1, color: red}]\n", "color"), ("# nothing\n", "--allow-empty")] {
        fs::write(&file, wrong).unwrap();
        let told = reload();
        assert!(told.contains("STATUS=reload refused, what ran runs on") && told.contains(said), "{told}");
        assert!(has(&daemon, "loop1"));
        let log = fs::read_to_string(&log).unwrap();
        assert!(
            log.lines().any(|line| line.contains("ERROR") && line.contains("SIGHUP: ") && line.contains(said)),
            "{log}"
        );
    }
    // One that was refused is tried again.
    fs::write(&file, loopback("loop1")).unwrap();
    assert!(reload().contains("STATUS=site.yaml has not changed"));
    fs::remove_file(&file).unwrap();
    assert!(reload().contains("No such file"));
    daemon.stop();
}

#[test]
fn options_of_a_startup_conf_hold_until_the_daemon_is_started_anew() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("startup.conf");
    let conf = |buffers: u32| format!("unix {{ nodaemon }}\nbuffers {{ buffers-per-numa {buffers} }}\n");
    fs::write(&file, conf(1000)).unwrap();
    let manager = Manager::new(folder.path());
    let (daemon, _) = manager.start(folder.path(), |command| _ = command.arg("-c").arg(&file));
    send(&daemon, Signal::SIGHUP);
    manager.wait("RELOADING=1");
    assert!(manager.wait("READY=1").contains("startup.conf has not changed"));
    fs::write(&file, conf(2000)).unwrap();
    send(&daemon, Signal::SIGHUP);
    manager.wait("RELOADING=1");
    let told = manager.wait("READY=1");
    assert!(told.contains("its options hold while quiverd runs: restart quiverd"), "{told}");
    daemon.stop();
}

#[test]
fn the_watchdog_is_told_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let manager = Manager::new(folder.path());
    let (daemon, _) = manager.start(folder.path(), |command| _ = command.env("WATCHDOG_USEC", "200000"));
    for _ in 0..3 {
        manager.wait("WATCHDOG=1");
    }
    daemon.stop();
}
