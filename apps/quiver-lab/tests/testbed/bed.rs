//! Hosts in namespaces: one for the generator, two with OpenSSH's server, and veth for cables.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_netns::{Namespace, Program, World, find, run, veth};
use quiver_result::{Document, Store};

/// Time for whatever is waited for on a busy machine.
const WITHIN: Duration = Duration::from_secs(60);
/// The world's own folders: keys and settings, and what the hosts take for temporary files.
const SSH: &str = "/run/ssh";
const TEMPORARY: &str = "/run/temporary";

/// Tells what a run could change on a host: also what only a new `/sys` shows of a namespace.
const STATE: &str = "mount -t sysfs sysfs /sys
ip -oneline address show; ip -oneline link show; ip rule show; ip route show table all; ip neighbor show nud permanent
grep . /proc/sys/net/ipv4/conf/*/forwarding /proc/sys/net/ipv4/conf/*/rp_filter /sys/class/net/*/queues/rx-*/rps_cpus";

/// The hosts.
pub struct Bed {
    tg: Namespace,
    devices: [Namespace; 2],
    _servers: Vec<Program>,
    _world: World,
}

/// How many devices there are.
pub struct Form {
    devices: &'static str,
    links: &'static str,
}

impl Form {
    pub const TWO: Form =
        Form { devices: "{host: dut1, cores: DEVICE}", links: "[tg.left, dut1.east], [dut1.west, tg.right]" };
    pub const THREE: Form = Form {
        devices: "{host: dut1, cores: DEVICE}, {host: dut2, cores: DEVICE}",
        links: "[tg.left, dut1.east], [dut1.middle, dut2.east], [dut2.west, tg.far]",
    };

    /// The file, with what runs on the first host being there already, too: nothing is copied.
    pub fn ready(&self) -> String {
        let program = format!("programs: {{quiverd: {}}}, ssh-config", quiverd().display());
        self.file().replacen("ssh-config", &program, 1)
    }

    /// The file. What runs on the second host is there already; the first one is given a copy.
    pub fn file(&self) -> String {
        let [own, device] = cores();
        let devices = self.devices.replace("DEVICE", &device);
        format!(
            "hosts:
  tg: {{ports: {{left: {{interface: g1}}, right: {{interface: g2}}, far: {{interface: g3}}}}}}
  dut1:
    {{ssh: \"root@10.9.1.2:2222\", ssh-config: {SSH}/client,
      ports: {{east: {{interface: e1}}, west: {{interface: w1}}, middle: {{interface: m1}}}}}}
  dut2:
    ssh: root@10.9.2.2:2222
    ssh-config: {SSH}/client
    programs: {{quiverd: {}}}
    ports: {{east: {{interface: e1}}, west: {{interface: w1}}}}
generator: {{host: tg, cores: {own}}}
devices: [{devices}]
links: [{}]
",
            quiverd().display(),
            self.links
        )
    }
}

/// The program on the devices' hosts.
fn quiverd() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_quiver-lab")).with_file_name("quiverd")
}

/// The first two cores that may be used.
fn cores() -> [String; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let mut cores = list.split(',').flat_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<u16>().unwrap()..=last.parse().unwrap()
    });
    [cores.next(), cores.next()].map(|core| core.expect("two cores").to_string())
}

impl Bed {
    pub fn start(world: World) -> Result<Bed, Failed> {
        let [tg, first, second] = ["gen", "dut1", "dut2"].map(|name| Namespace::add_silent(&world, name));
        let (tg, first, second) = (tg?, first?, second?);
        let cables = [
            ((&tg, "g1"), (&first, "e1")),
            ((&tg, "g2"), (&first, "w1")),
            ((&first, "m1"), (&second, "e1")),
            ((&tg, "g3"), (&second, "w1")),
        ];
        cables.into_iter().try_for_each(|(one, other)| veth(one, other, 9000))?;
        for folder in [SSH, TEMPORARY, "/run/sshd"] {
            fs::create_dir(folder)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
        for key in ["host", "user"] {
            let path = format!("{SSH}/{key}");
            run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path]))?;
        }
        let client = format!(
            "Host *\n IdentityFile {SSH}/user\n IdentitiesOnly yes\n UserKnownHostsFile {SSH}/known\n \
            StrictHostKeyChecking accept-new\n LogLevel ERROR\n"
        );
        fs::write(format!("{SSH}/client"), client)?;
        let sshd = find("sshd").ok_or("sshd is missing: install openssh-server")?;
        let mut servers = Vec::new();
        for (number, device) in [&first, &second].into_iter().enumerate() {
            let (network, end) = (format!("10.9.{}", number + 1), format!("mgmt{number}"));
            veth((&tg, &end), (device, "mgmt"), 1500)?;
            tg.ip(&format!("address add {network}.1/24 dev {end}"))?;
            device.ip(&format!("address add {network}.2/24 dev mgmt"))?;
            let settings = format!(
                "Port 2222\nListenAddress {network}.2\nHostKey {SSH}/host\nAuthorizedKeysFile {SSH}/user.pub\n\
                StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n\
                PidFile none\nSetEnv TMPDIR={TEMPORARY}\n"
            );
            let path = format!("{SSH}/server{number}");
            fs::write(&path, settings)?;
            let mut server = Program::start(device.command(&sshd).args(["-D", "-e", "-f", &path]))?;
            server.wait_for_output("Server listening", WITHIN)?;
            servers.push(server);
        }
        Ok(Bed { tg, devices: [first, second], _servers: servers, _world: world })
    }

    /// `quiver lab` as called on the generator's host, with a testbed file of this text.
    pub fn command(&self, folder: &Path, task: &str, text: &str, arguments: &[&str]) -> Command {
        let file = folder.join("bed.yaml");
        fs::write(&file, text).unwrap();
        let mut command = self.tg.command(env!("CARGO_BIN_EXE_quiver-lab"));
        command.args([task, "--testbed"]).arg(file).args(arguments);
        command
    }

    fn measure(&self, text: &str, case: &str) -> Result<(Output, Vec<Document>, String), Failed> {
        let folder = tempfile::tempdir()?;
        let results = folder.path().join("results");
        let results = results.to_str().ok_or("a path")?;
        let arguments = ["--trial", "0.02", "--results", results, case];
        let output = self.command(folder.path(), "run", text, &arguments).output()?;
        // Results and failures of cases are on standard output.
        let said = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes)).concat();
        Ok((output, documents(Path::new(results)), said))
    }

    /// Runs a case to its good end.
    pub fn run(&self, text: &str, case: &str) -> Result<(Vec<Document>, String), Failed> {
        let (output, documents, said) = self.measure(text, case)?;
        match output.status.success() {
            true => Ok((documents, said)),
            false => Err(format!("{said}\n{:?}", documents.first().map(|document| &document.message)).into()),
        }
    }

    /// The error of a run that is refused.
    pub fn refused(&self, text: &str, case: &str) -> Result<String, Failed> {
        let (output, documents, said) = self.measure(text, case)?;
        assert!(!output.status.success() && documents.iter().all(|document| !document.passed), "{said}");
        Ok(said + documents.first().map_or("", |document| &document.message))
    }

    /// The cases of an expression.
    pub fn listed(&self, case: &str) -> Result<String, Failed> {
        let folder = tempfile::tempdir()?;
        let output = self.command(folder.path(), "list", &Form::TWO.file(), &[case]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The first device's host.
    pub fn first(&self) -> &Namespace {
        &self.devices[0]
    }

    /// Interfaces, addresses, routes and settings of the devices' hosts.
    pub fn state(&self) -> Result<Vec<String>, Failed> {
        let mut all = Vec::new();
        for device in &self.devices {
            let shown = run(device.command("unshare").args(["--mount", "sh", "-ec", STATE]))?;
            // Whether the other end is there, the kernel tells some time later.
            let lasting = |word| match word {
                "UP" | "DOWN" | "LOWERLAYERDOWN" => None,
                flags if flags.starts_with('<') => flags.contains("PROMISC").then_some("PROMISC"),
                other => Some(other),
            };
            all.extend(shown.lines().map(|line| line.split(' ').filter_map(lasting).collect::<Vec<_>>().join(" ")));
        }
        Ok(all)
    }

    /// Waits until nothing of a run is left on any host.
    pub fn is_clean(&self) -> Result<(), Failed> {
        wait("the end of all processes", || !processes().any(|id| is_of_run(&line(id))))?;
        wait("the end of all memory that is shared", || !names("/dev/shm").any(|name| name.starts_with("quiver-lab")))?;
        wait("the end of all files", || names(TEMPORARY).next().is_none())
    }
}

/// Names of the entries of a folder.
fn names(folder: &str) -> impl Iterator<Item = String> {
    fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned())
}

fn is_of_run(line: &str) -> bool {
    ["quiverd", "quiver-lab", "lab run", "ControlPath", "keeper of what", "net_af_packet"]
        .iter()
        .any(|part| line.contains(part))
}

pub fn documents(folder: &Path) -> Vec<Document> {
    // A run that never begins makes no folder.
    if !folder.exists() {
        return Vec::new();
    }
    Store::new(folder).read().expect("a folder").map(|found| found.expect("a valid document").document).collect()
}

/// All processes of the world.
pub fn processes() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The command line of a process.
pub fn line(id: i32) -> String {
    let line = fs::read(PathBuf::from(format!("/proc/{id}/cmdline"))).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

pub fn wait(what: &str, mut until: impl FnMut() -> bool) -> Result<(), Failed> {
    let begun = Instant::now();
    while !until() {
        if begun.elapsed() > WITHIN {
            let all: Vec<String> = processes().map(line).filter(|line| !line.is_empty()).collect();
            return Err(format!("{what} does not come:\n{}", all.join("\n")).into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
