//! Open vSwitch with its datapath in user space, which speaks tunnels that the machine's kernel may lack.

use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;
use quiver_netns::Program;
use tempfile::TempDir;

use super::site::{Site, run};

/// A switch on the host behind tap0.
pub struct Switch {
    /// Its database and sockets.
    folder: TempDir,
    _programs: [Program; 2],
}

impl Switch {
    /// Starts one, which takes the host's eth0: its addresses are those of br-phy then.
    pub fn start(site: &mut Site) -> Result<Switch, Failed> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        quiver_netns::run(Command::new("ovsdb-tool").args(["create", &path("conf.db")]))?;
        let start = |program: &str, arguments: &[String]| {
            let mut command = site.left.command(program);
            for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
                command.env(variable, folder.path());
            }
            Program::start(command.args(arguments).arg("--verbose=console:info"))
        };
        let (remote, control) = (format!("--remote=punix:{}", path("db")), format!("--unixctl={}", path("dbctl")));
        let mut database = start("ovsdb-server", &[path("conf.db"), remote, control])?;
        database.wait_for_output("ovsdb-server (Open vSwitch)", LIMIT)?;
        let control = format!("--unixctl={}", path("ctl"));
        let mut switch = start("ovs-vswitchd", &[format!("unix:{}", path("db")), "--disable-system".into(), control])?;
        switch.wait_for_output("connected", LIMIT)?;
        let switch = Switch { folder, _programs: [database, switch] };
        switch.set(site, "add-br br-phy -- set bridge br-phy datapath_type=netdev -- add-port br-phy eth0")?;
        let moves = "addr flush dev eth0;addr add 10.99.0.2/24 dev br-phy;link set br-phy up;\
                     -6 addr add fd00:a::2/64 dev br-phy nodad";
        moves.split(';').try_for_each(|line| site.left.ip(line.trim()).map(|_| ()))?;
        Ok(switch)
    }
    /// Changes what is configured, as `ovs-vsctl` says it, and waits until it holds.
    pub fn set(&self, site: &mut Site, arguments: &str) -> Result<(), Failed> {
        let line = format!("--timeout=30 --db=unix:{}/db {arguments}", self.folder.path().display());
        let output = run(&mut site.daemon, &site.left, "ovs-vsctl", &line)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("ovs-vsctl {arguments}: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    }
}

/// A program that has not started by then does not start.
const LIMIT: Duration = Duration::from_secs(30);
