//! A router between two Linux hosts.

use std::process::Output;

use libtest_mimic::Failed;
use quiver_netns::{Namespace, World};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};

/// A router between two hosts: fd00:a::2 and 10.99.0.2 behind tap0, fd00:b::2 and 10.99.1.2 behind tap1.
pub struct Site {
    /// The router.
    pub daemon: Daemon,
    /// The host behind tap0.
    pub left: Namespace,
    /// The host behind tap1.
    pub right: Namespace,
}

impl Site {
    /// Builds it; the hosts are named after `name`.
    pub fn new(world: &World, name: &str) -> Result<Site, Failed> {
        let mut daemon = Daemon::new(ROOMS, Setup { buffers: 8192, ..Setup::default() })?;
        let [left, right] = [format!("{name}-l"), format!("{name}-r")];
        let (left, right) = (Namespace::add(world, &left)?, Namespace::add(world, &right)?);
        for (id, (host, net)) in [(&left, "a"), (&right, "b")].into_iter().enumerate() {
            daemon.configure(&format!(
                "create tap id {id} host-ns {} host-if-name eth0
                 set interface ip address tap{id} fd00:{net}::1/64
                 set interface ip address tap{id} 10.99.{id}.1/24
                 set interface mtu 1500 tap{id}
                 set interface state tap{id} up",
                host.name()
            ));
            host.ip("link set eth0 up mtu 1500")?;
            host.ip(&format!("-6 addr add fd00:{net}::2/64 dev eth0 nodad"))?;
            host.ip(&format!("-6 route add default via fd00:{net}::1 dev eth0"))?;
            host.ip(&format!("addr add 10.99.{id}.2/24 dev eth0"))?;
            host.ip(&format!("route add default via 10.99.{id}.1 dev eth0"))?;
        }
        Ok(Site { daemon, left, right })
    }
    /// Runs a program on a host while the router works.
    pub fn run(&mut self, is_left: bool, program: &str, arguments: &str) -> Result<Output, Failed> {
        let host = if is_left { &self.left } else { &self.right };
        run(&mut self.daemon, host, program, arguments)
    }
    /// The same of one that must succeed; what it says.
    pub fn says(&mut self, is_left: bool, program: &str, arguments: &str) -> Result<String, Failed> {
        let output = self.run(is_left, program, arguments)?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(said),
            false => Err(format!("{program} {arguments}: {said}{}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    }
    /// Output of `ping -6`; its echo requests must be answered.
    pub fn ping(&mut self, is_left: bool, arguments: &str) -> Result<String, Failed> {
        self.says(is_left, "ping", &format!("-6 -n -i 0.05 -W 2 {arguments}"))
    }
    /// The same for IPv4.
    pub fn ping4(&mut self, is_left: bool, arguments: &str) -> Result<String, Failed> {
        self.says(is_left, "ping", &format!("-4 -n -i 0.05 -W 2 {arguments}"))
    }
}

/// Runs a program in a namespace while a router works.
pub fn run(daemon: &mut Daemon, host: &Namespace, program: &str, arguments: &str) -> Result<Output, Failed> {
    let mut command = host.command(program);
    command.args(arguments.split(' '));
    Ok(daemon.run_until(std::thread::spawn(move || command.output()))?)
}

/// Asks again and again, while the router works, until there is an answer, for some 20 seconds at most.
pub fn wait_for<T>(
    daemon: &mut Daemon,
    what: &str,
    mut ask: impl FnMut(&mut Daemon) -> Result<Option<T>, Failed>,
) -> Result<T, Failed> {
    for _ in 0..200 {
        if let Some(answer) = ask(daemon)? {
            return Ok(answer);
        }
        daemon.run_until(std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_millis(100))));
    }
    Err(format!("no {what} in 20 s").into())
}
