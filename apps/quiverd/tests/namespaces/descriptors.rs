//! TAP devices in namespaces that quiverd may not enter: their descriptors are passed to it, as a service manager would do it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use libtest_mimic::Failed;
use quiver_netns::{Namespace, World, run};
use quiver_testkit::trials::Trial;
use serde_json::json;

use crate::answer;
use crate::quiverd::{Daemon, wait};

pub const TRIALS: &[Trial<World>] = &[
    ("packets_pass_by_passed_descriptors_without_any_right", packets_pass),
    ("a_descriptor_that_is_no_tap_is_refused_with_the_remedy", mistakes),
    ("a_configuration_with_a_missing_descriptor_waits", waits),
    ("a_deleted_device_of_a_descriptor_is_told", deleted),
];

/// The helper that users have.
const PASS_TAP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/descriptors/pass-tap");

/// Opens something, and starts the program behind it with the descriptors as `name`: what `open` does, in Python.
const PASS: &str = "
import fcntl, os, socket, struct, sys
def tun(flags):
    tun = os.open('/dev/net/tun', os.O_RDWR)
    if flags: fcntl.ioctl(tun, 0x400454CA, struct.pack('16sH22x', b'', flags))
    return tun
opened = eval(sys.argv[1])
for place, descriptor in enumerate([fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 50) for descriptor in opened], 3):
    os.dup2(descriptor, place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(opened)), LISTEN_FDNAMES=sys.argv[2])
os.execvp(sys.argv[3], sys.argv[3:])
";

/// The words that start quiverd with none of root's rights.
fn quiverd(folder: &Path, more: &[&str]) -> Vec<String> {
    let without = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--no-new-privs", "--"];
    let socket = folder.join("s").display().to_string();
    let options = ["--socket", &socket, "--no-state", "--buffers", "4096", "--buffers-limit", "4096"];
    let words = without.into_iter().chain([env!("CARGO_BIN_EXE_quiverd")]).chain(options).chain(more.iter().copied());
    words.map(str::to_owned).collect()
}

/// Starts quiverd by a helper.
fn start(folder: &Path, helper: &mut Command, more: &[&str]) -> Daemon {
    let command = helper.args(quiverd(folder, more)).env_remove("QUIVER_SOCKET");
    Daemon::start(command.stdin(Stdio::null()).stderr(Stdio::null()), folder.join("s"))
}

fn pass(opened: &str, names: &str) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", PASS, opened, names]);
    command
}

/// A namespace with a device `eth0`, which is there before and after a program uses it.
fn with_device(world: &World, name: &str, more: &str, address: &str) -> Result<Namespace, Failed> {
    let namespace = Namespace::add_silent(world, name)?;
    namespace.ip(&format!("tuntap add dev eth0 mode tap {more}"))?;
    namespace.ip(&format!("address add {address} dev eth0"))?;
    namespace.ip("link set eth0 up")?;
    Ok(namespace)
}

fn ping(from: &Namespace, to: &str) -> Result<Output, Failed> {
    Ok(from.command("ping").args(["-c", "3", "-i", "0.05", "-W", "5", to]).output()?)
}

fn pings(from: &Namespace, to: &str) -> Result<(), Failed> {
    let said = ping(from, to)?;
    let text = String::from_utf8_lossy(&said.stdout);
    if said.status.success() { Ok(()) } else { Err(format!("{to} does not answer: {text}").into()) }
}

fn refuses(daemon: &Daemon, line: &str, words: &[&str]) -> Result<(), Failed> {
    let told = answer(daemon, line).err().ok_or_else(|| format!("`{line}` was not refused"))?;
    match words.iter().find(|word| !told.contains(**word)) {
        None => Ok(()),
        Some(word) => Err(format!("`{line}`: {word} is not in: {told}").into()),
    }
}

/// Two hosts in namespaces of their own, one with two queues, and quiverd as their router.
fn packets_pass(world: &World) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let red = with_device(world, "passed-red", "", "10.1.0.1/24")?;
    let blue = with_device(world, "passed-blue", "multi_queue", "10.2.0.1/24")?;
    red.ip("route add default via 10.1.0.9")?;
    blue.ip("route add default via 10.2.0.9")?;
    let file = folder.path().join("router.yaml");
    let router = "taps:
  - {name: wan, descriptor: wan}
  - {name: lan, descriptor: lan, rx-queues: 2}
interfaces:
  - {name: wan, state: up}
  - {name: lan, state: up}
interface-addresses:
  - {interface: wan, address: 10.1.0.9/24}
  - {interface: lan, address: 10.2.0.9/24}
";
    std::fs::write(&file, router)?;
    let path = file.display().to_string();
    let mut helper = Command::new(PASS_TAP);
    helper.args(["wan=passed-red/eth0", &format!("lan={}/eth0:2", blue.path()), "--"]);
    let daemon = start(folder.path(), &mut helper, &["--config", &path]);
    refuses(&daemon, "create tap if-name own", &["make the TAP device own", "quiverd lacks CAP_NET_ADMIN"])?;
    assert_eq!(answer(&daemon, "show configuration pending")?.lines().count(), 1, "nothing waits");
    pings(&red, "10.1.0.9")?;
    pings(&red, "10.2.0.1")?;
    let told = answer(&daemon, "show tap lan")?;
    assert!(["eth0", "lan", "running"].into_iter().all(|word| told.contains(word)), "{told}");

    // It can go and come back, and its Linux side sees that.
    let carrier = |is_there: bool| {
        wait("the carrier follows the interface", || {
            let said = red.ip("link show eth0").unwrap_or_default();
            said.contains("NO-CARRIER") != is_there
        });
    };
    answer(&daemon, "delete tap wan")?;
    carrier(false);
    let applied = daemon.ask(&json!({"apply": {"name": "router.yaml", "text": router}}));
    assert!(applied["done"].is_object(), "{applied}");
    carrier(true);
    pings(&blue, "10.1.0.1")?;
    answer(&daemon, "set interface state wan down")?;
    answer(&daemon, "set interface state wan up")?;
    pings(&red, "10.2.0.1")?;

    // A descriptor serves one interface, and each of its queues.
    refuses(
        &daemon,
        "create tap if-name other descriptor wan",
        &["taps other: descriptor: descriptor wan is used by wan"],
    )?;
    answer(&daemon, "delete tap lan")?;
    let one = "create tap if-name lan descriptor lan";
    refuses(&daemon, one, &["taps lan: rx-queues: 2 descriptors", "set rx-queues to 2"])?;
    // Without a descriptor the error of a namespace names this way.
    let elsewhere = "create tap if-name other host-ns /run/netns/passed-red";
    refuses(&daemon, elsewhere, &["host-namespace: enter", "quiverd lacks CAP_SYS_ADMIN", "(field `descriptor`)"])?;
    refuses(
        &daemon,
        "create tap if-name lan descriptor lan num-rx-queues 2 host-ip4-addr 10.2.0.1/24",
        &["taps lan: host-ip4-address: the Linux side of a descriptor is not quiverd's to configure", "leave out"],
    )?;
    daemon.stop();
    // A device that was there before is there afterwards, with its address.
    assert!(red.ip("address show eth0")?.contains("10.1.0.1/24"));
    Ok(())
}

fn mistakes(_: &World) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let opened = "[os.open('/dev/null', os.O_RDWR), tun(0), tun(0x5001), tun(0x1002), tun(0x5002), tun(0x5002), \
                  socket.socket().detach()]";
    let daemon = start(folder.path(), &mut pass(opened, "file:bare:tun:plain:two:two:socket"), &[]);
    let (attach, open) = ("attach it by TUNSETIFF with IFF_TAP | IFF_NO_PI | IFF_VNET_HDR", "open /dev/net/tun");
    for (name, queues, words) in [
        ("file", 1, ["descriptor: descriptor file is no TAP device", open]),
        ("socket", 1, ["descriptor: descriptor socket is no TAP device", open]),
        ("bare", 1, ["descriptor: the device of descriptor bare was deleted, or none was attached", attach]),
        ("tun", 1, ["descriptor: descriptor tun is a TUN device", attach]),
        ("plain", 1, ["descriptor: descriptor plain was attached without IFF_VNET_HDR", attach]),
        ("two", 2, ["descriptor: descriptors of the name two belong to two devices, tap", "a name of their own"]),
        (
            "none",
            1,
            ["descriptor: no descriptor of the name none was passed to quiverd", "passed are: bare, file, plain"],
        ),
    ] {
        let line = format!("create tap if-name wan descriptor {name} num-rx-queues {queues}");
        refuses(&daemon, &line, &["taps wan: ", words[0], words[1]])?;
    }
    daemon.stop();
    // Variables of another process are not this one's.
    let mut other = Command::new("env");
    other.args(["LISTEN_PID=1", "LISTEN_FDS=1", "LISTEN_FDNAMES=wan"]);
    let daemon = start(folder.path(), &mut other, &[]);
    refuses(&daemon, "create tap if-name wan descriptor wan", &["none was passed"])?;
    daemon.stop();
    for (opened, names, more, words) in [
        ("[os.open('/dev/null', os.O_RDWR)]", "one:two", &[][..], "LISTEN_FDNAMES"),
        ("[os.open('/dev/null', os.O_RDWR)]", "one", &["--daemon"][..], "leave --daemon out"),
    ] {
        let ended = pass(opened, names).args(quiverd(folder.path(), more)).stdin(Stdio::null()).output()?;
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && told.contains(words), "{told}");
    }
    Ok(())
}

/// A start does not fail for a descriptor that was not passed, and the rest runs.
fn waits(_: &World) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("two.yaml");
    std::fs::write(&file, "taps:\n  - {name: wan, descriptor: wan}\n  - {name: lan, descriptor: lan}\n")?;
    let path = file.display().to_string();
    let daemon = start(folder.path(), &mut pass("[tun(0x5002)]", "lan"), &["--config", &path]);
    assert!(answer(&daemon, "show tap lan")?.contains("running"));
    let pending = answer(&daemon, "show configuration pending")?;
    for words in ["taps wan", "no descriptor of the name wan was passed to quiverd", "passed are: lan"] {
        assert!(pending.contains(words), "{words} is not in {pending}");
    }
    assert!(!pending.contains("taps lan"), "{pending}");
    daemon.stop();
    Ok(())
}

fn deleted(world: &World) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let red = with_device(world, "passed-gone", "", "10.1.0.1/24")?;
    let mut helper = Command::new(PASS_TAP);
    helper.args(["wan=passed-gone/eth0", "--"]);
    let daemon = start(folder.path(), &mut helper, &[]);
    answer(&daemon, "create tap if-name wan descriptor wan")?;
    run(red.command("ip").args(["link", "delete", "eth0"]))?;
    wait("the loss is told", || {
        answer(&daemon, "show configuration pending").is_ok_and(|told| told.contains("eth0 was deleted"))
    });
    let told = answer(&daemon, "show tap wan")?;
    assert!(told.contains("gone: start quiverd with a new descriptor"), "{told}");
    answer(&daemon, "delete tap wan")?;
    let line = "create tap if-name wan descriptor wan";
    refuses(&daemon, line, &["the device of descriptor wan was deleted", "start quiverd anew"])?;
    daemon.stop();
    Ok(())
}
