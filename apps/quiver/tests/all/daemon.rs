//! The program and the daemon, as people use them together: one session with every way to change the configuration and back.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const WAIT: Duration = Duration::from_secs(30);

/// A quiverd of a test's own.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    folder: PathBuf,
}

impl Daemon {
    pub(crate) fn start(folder: &Path) -> Daemon {
        Daemon::start_with(folder, &[])
    }
    /// The same with more options.
    pub(crate) fn start_with(folder: &Path, options: &[&str]) -> Daemon {
        let quiverd = PathBuf::from(env!("CARGO_BIN_EXE_quiver")).with_file_name("quiverd");
        let mut command = Command::new(quiverd);
        command
            .args(["--buffers", "1000"])
            .args(options)
            .arg("--socket")
            .arg(folder.join("s"))
            .arg("--state")
            .arg(folder.join("state"));
        let child = command.stderr(Stdio::null()).spawn().expect("`cargo build -p quiverd` was run");
        let daemon = Daemon { child, folder: folder.to_owned() };
        wait("the daemon serves", || UnixStream::connect(folder.join("s")).is_ok());
        daemon
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
    /// Its command socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    /// Runs the program; whether it succeeded, and what it wrote.
    fn run(&self, arguments: &str) -> (bool, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
        command.current_dir(&self.folder).arg("--socket").arg("s").args(arguments.split(' ')).stdin(Stdio::null());
        let output = command.output().expect("the program runs");
        let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
        (output.status.success(), out, error)
    }
    pub(crate) fn accepted(&self, arguments: &str) -> String {
        let (success, out, error) = self.run(arguments);
        assert!(success && error.is_empty(), "`quiver {arguments}`: {out}{error}");
        out
    }
    fn refused(&self, arguments: &str) -> String {
        let (success, out, error) = self.run(arguments);
        assert!(!success && out.is_empty(), "`quiver {arguments}`: {out}{error}");
        error
    }
    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.accepted(arguments)).expect("JSON")
    }
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("a folder of the test's own");
    }
    /// The addresses that loop0 has.
    fn addresses(&self) -> Vec<String> {
        let text = self.accepted("show interface address loop0");
        text.lines().filter_map(|line| Some(line.trim().strip_prefix("L3 ")?.to_owned())).collect()
    }

    /// Tells it to stop, as `systemctl stop` does, and waits for it.
    pub(crate) fn stop(mut self) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"));
        kill(process, Signal::SIGTERM).expect("it runs");
        wait("the daemon ends", || self.child.try_wait().expect("a child").is_some_and(|status| status.success()));
        assert!(!self.folder.join("s").exists(), "the socket is left behind");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A copy of the program in a folder that other users reach.
pub(crate) fn program(folder: &Path) -> PathBuf {
    let copy = folder.join("quiver");
    fs::copy(env!("CARGO_BIN_EXE_quiver"), &copy).expect("a folder of the test's own");
    copy
}

pub(crate) fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {WAIT:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn site(last: u8) -> String {
    format!(
        "loopbacks: [{{name: loop0}}]\ninterfaces: [{{name: loop0, state: up}}]\n\
         interface-addresses: [{{interface: loop0, address: 10.0.0.{last}/24}}]\n"
    )
}

#[test]
fn a_configuration_is_planned_applied_confirmed_saved_and_taken_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(folder.path());

    // What a file would change, by which steps, and then these steps.
    daemon.write("one.yaml", &site(1));
    assert!(daemon.accepted("diff one.yaml").contains("+ loopbacks loop0"));
    let plan = daemon.accepted("plan one.yaml");
    assert!(plan.lines().count() == 3 && plan.starts_with("1  + loopbacks loop0"), "{plan}");
    assert!(daemon.refused("show interface loop0").contains("loop0"), "nothing was done yet");
    daemon.accepted("apply -m first");
    assert_eq!(daemon.addresses(), ["10.0.0.1/24"]);
    let history = daemon.json("history --json");
    assert_eq!(history[0]["comment"], "first", "{history}");

    // A file with a mistake says where it is, and changes nothing.
    daemon.write("bad.yaml", "loopbacks:\n- {name: loop0, color: red}\n");
    assert!(daemon.refused("apply bad.yaml").contains("bad.yaml:2:"));
    assert_eq!(daemon.addresses(), ["10.0.0.1/24"]);

    // A file without objects is most likely a mistake, and a part is added to what runs.
    daemon.write("empty.yaml", "# loopbacks:\n");
    assert!(daemon.refused("apply empty.yaml").contains("--allow-empty"));
    daemon.write("part.yaml", "loopbacks: [{name: loop7}]\n");
    assert_eq!(daemon.accepted("diff --merge part.yaml"), "+ loopbacks loop7\n");
    daemon.accepted("apply --merge part.yaml");
    assert_eq!(daemon.addresses(), ["10.0.0.1/24"]);
    assert!(daemon.accepted("show interface").contains("loop7"));
    daemon.accepted("rollback 1");
    daemon.accepted("apply --allow-empty empty.yaml");
    daemon.refused("show interface address loop0");
    daemon.accepted("rollback 1");

    // Words may be abbreviated as long as they are unique; JSON is what the text says.
    assert_eq!(daemon.accepted("sh int addr loop0"), daemon.accepted("show interface address loop0"));
    assert!(daemon.refused("s int").contains("set"), "`s` may be `set` or `show`");
    let interfaces = daemon.json("show interface --json");
    let names: Vec<_> = interfaces.as_array().expect("a list").iter().map(|row| &row["name"]).collect();
    assert!(names.contains(&&Value::from("loop0")), "{interfaces}");

    // Commands of a file; what they change is no version before it is saved.
    daemon.write("commands", "# one more\nset interface ip address loop0 10.1.0.1/24\nset int mtu 1400 loop0\n");
    daemon.accepted("exec commands");
    assert!(daemon.accepted("diff").contains("+ interface-addresses loop0 10.1.0.1/24"));
    daemon.accepted("save -m more saved.yaml");
    let saved = fs::read_to_string(folder.path().join("saved.yaml")).expect("it was written");
    assert!(saved.contains("10.1.0.1/24") && saved.contains("1400"), "{saved}");
    assert!(!daemon.accepted("diff").contains("interface-addresses"));
    daemon.accepted("apply saved.yaml");
    assert_eq!(daemon.addresses(), ["10.0.0.1/24", "10.1.0.1/24"]);

    // A version back, and what would be undone.
    assert!(daemon.accepted("diff --version 1").contains("10.1.0.1/24"));
    daemon.accepted("rollback 1");
    assert_eq!(daemon.addresses(), ["10.0.0.1/24"]);

    // With an interface a route loses only the paths by it, and gets them back.
    let two = "loopbacks: [{name: loop0}, {name: loop1}]\n\
               interface-addresses: [{interface: loop0, address: 10.0.0.1/24}, {interface: loop1, address: 10.1.0.1/24}]\n\
               routes: [{prefix: 20.0.0.0/8, paths: [{via: 10.0.0.9, interface: loop0}, {via: 10.1.0.9, interface: loop1}]}]\n";
    daemon.write("paths.yaml", two);
    daemon.accepted("apply paths.yaml");
    let paths = || {
        let route = daemon.accepted("show ip fib 20.0.0.0/8");
        ["10.0.0.9 loop0", "10.1.0.9 loop1"].map(|path| route.contains(&format!("attached-nexthop: via {path}")))
    };
    assert_eq!(paths(), [true, true]);
    daemon.accepted("delete loopback interface intfc loop1");
    assert_eq!(paths(), [true, false]);
    daemon.accepted("rollback 0");
    assert_eq!(paths(), [true, true]);
    daemon.accepted("apply one.yaml");

    // Confirmed in time, or taken back.
    daemon.write("two.yaml", &site(2));
    daemon.accepted("apply --confirm 600 two.yaml");
    daemon.accepted("confirm");
    daemon.refused("confirm");
    assert_eq!(daemon.addresses(), ["10.0.0.2/24"]);
    daemon.write("three.yaml", &site(3));
    daemon.accepted("apply --confirm 1 three.yaml");
    wait("what nobody confirms is taken back", || daemon.addresses() == ["10.0.0.2/24"]);

    // The next daemon starts with what was last, and its loopback has the address that it had: one of no other daemon.
    let mac = |daemon: &Daemon| {
        let shown = daemon.accepted("show hardware-interfaces loop0");
        shown
            .lines()
            .find_map(|line| Some(line.trim().strip_prefix("Ethernet address ")?.to_owned()))
            .expect("an address")
    };
    let before = mac(&daemon);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let other = Daemon::start(elsewhere.path());
    other.accepted("create loopback interface");
    assert_ne!(mac(&other), before);
    other.stop();
    daemon.stop();
    let daemon = Daemon::start(folder.path());
    wait("the configuration is back", || daemon.run("show interface address loop0").1.contains("10.0.0.2/24"));
    assert_eq!(mac(&daemon), before);
    daemon.stop();
}

#[test]
fn a_ping_takes_time_and_fails_without_any_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(folder.path());
    daemon.write("one.yaml", &format!("{}routes: [{{prefix: 10.9.0.0/16, paths: [{{via: 10.0.0.9}}]}}]\n", site(1)));
    daemon.accepted("apply one.yaml");
    // Neither the order in which clocks began to count nor what control's is set ahead is part of it.
    for line in ["show clock", "set clock adjust 100"] {
        daemon.accepted(line);
        let told = daemon.accepted("ping 10.0.0.1 repeat 5 interval 0.001 --json");
        let times: Vec<f64> = told
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok()?.get("time-ms")?.as_f64())
            .collect();
        assert_eq!(times.len(), 5, "{told}");
        assert!(times.iter().all(|time| (1e-6..10_000.0).contains(time)), "{line}: {times:?}");
    }
    let (success, out, error) = daemon.run("ping 10.9.0.1 repeat 1 interval 0.01");
    assert!(!success && out.contains("100% packet loss") && error.is_empty(), "{out}{error}");
    daemon.stop();
}
