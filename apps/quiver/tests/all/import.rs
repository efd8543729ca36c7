//! From VPP's files to Quiver's, and into a daemon.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const STARTUP: &str = "
unix { nodaemon exec ports.txt cli-listen /run/vpp/cli.sock } # how it was run
cpu { main-core 0 workers 1 }
dpdk { dev 0000:02:00.0 }
";

const SCRIPT: &str = "# ports
create loopback interface
set interface state loop0 up
set int ip addr loop0 10.1.0.1/24 # where others come from
create tap id 7 host-if-name no-such-tap num-rx-queues 1
create bridge-domain 7 learn 0
set interface l2 bridge tap7 7
nat64 plugin enable
ip route add 10.9.0.0/16 via 10.1.0.2 loop0
";

fn quiver(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command.output().expect("the program runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn the_commands_lead_to_a_configuration_and_what_is_left_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("startup.conf"), STARTUP).expect("a file");
    fs::write(folder.path().join("ports.txt"), SCRIPT).expect("a file");
    let output = quiver(folder.path(), &["import", "startup.conf"]);
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), error), (Some(2), ""), "{out}");
    for told in [
        "#   quiverd --no-route drop --link-layer-broadcast forward --no-announcements --unresolved drop --strangers ignore --unspoken punt --captures /tmp --cli-listen /run/vpp/cli.sock --api-socket",
        "--workers 1 --config FILE\n",
        "# Left out:\n#   startup.conf: line 4, column 1: dpdk: ",
        "# Commands of ports.txt that were left out, and why:\n#   ports.txt:8: nat64 plugin enable\n#       Quiver has no NAT64 yet",
        "10.1.0.1/24",
        "10.9.0.0/16",
        "no-such-tap",
        "main-core: has no meaning here",
    ] {
        assert!(out.contains(told), "{told:?} is missing in: {out}");
    }
    assert!(!out.contains("--exec"), "the script has become the configuration: {out}");
    assert!(!Path::new("/sys/class/net/no-such-tap").exists(), "an import touches nothing");
}

#[test]
fn what_was_imported_runs_and_is_the_same_again() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("startup.conf"), "unix { nodaemon }").expect("a file");
    let script: Vec<_> = SCRIPT.lines().filter(|line| !line.contains("tap") && !line.contains("nat64")).collect();
    fs::write(folder.path().join("script"), script.join("\n")).expect("a file");
    let output = quiver(folder.path(), &["import", "startup.conf", "script"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let imported = text(&output.stdout);
    fs::write(folder.path().join("site.yaml"), imported).expect("a file");

    let _daemon = Daemon::start(folder.path(), &["--config", "site.yaml"]);
    let shown = quiver(folder.path(), &["--socket", "s", "show", "configuration"]);
    let configuration: Vec<_> = imported.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let running: Vec<_> =
        text(&shown.stdout).lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(running, configuration);
    assert!(configuration.len() > 5, "{configuration:?}");
}

#[test]
fn what_cannot_be_read_is_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("bad"), "unix {").expect("a file");
    for (file, told) in
        [("none", "quiverd: none: No such file"), ("bad", "quiverd: bad: line 1, column 6: this `{` is never")]
    {
        let output = quiver(folder.path(), &["import", file]);
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len(), error.lines().count()), (Some(1), 0, 1), "{error}");
        assert!(error.starts_with(told), "{error}");
    }
}

/// A daemon that ends with the test.
struct Daemon(Child);

impl Daemon {
    fn start(folder: &Path, arguments: &[&str]) -> Daemon {
        let quiverd = PathBuf::from(env!("CARGO_BIN_EXE_quiver")).with_file_name("quiverd");
        let mut command = Command::new(quiverd);
        command.current_dir(folder).args(["--buffers", "1000", "--socket", "s"]).args(arguments).stderr(Stdio::null());
        let daemon = Daemon(command.spawn().expect("`cargo build -p quiverd` was run"));
        let end = Instant::now() + Duration::from_secs(30);
        while UnixStream::connect(folder.join("s")).is_err() {
            assert!(Instant::now() < end, "it does not serve");
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
