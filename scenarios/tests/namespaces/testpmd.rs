//! DPDK's net_memif at the other end: `dpdk-testpmd` answers pings that come through quiverd.
//!
//! These trials are reported as ignored where the program is missing: `apt-get install dpdk-dev` brings it.

use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use quiver_netns::{Namespace, Program, World, find, run};
use quiver_site::Daemon;

use crate::memif::memif;

const PROGRAM: &str = "dpdk-testpmd";
/// How long DPDK may take to start and connect.
const CONNECTED_WITHIN: Duration = Duration::from_secs(60);

/// What testpmd is.
#[derive(Clone, Copy)]
struct Peer {
    /// The slave, as DPDK's older name has it `client`; or else the master.
    is_client: bool,
    is_zero_copy: bool,
}

impl Peer {
    /// Where the master listens. Each trial has its own: DPDK does not take over what a killed master has left.
    fn socket(self) -> String {
        format!("/run/testpmd-{}-{}.sock", self.is_client, self.is_zero_copy)
    }
}

/// Both roles, and a slave that shares its buffers.
pub fn trials(world: &'static World) -> impl Iterator<Item = Trial> {
    let peers = [(true, false), (true, true), (false, false)];
    peers.into_iter().map(move |(is_client, is_zero_copy)| {
        let (role, copy) = (if is_client { "slave" } else { "master" }, if is_zero_copy { ", zero-copy" } else { "" });
        let trial = Trial::test(format!("dpdk-testpmd as {role}{copy}: answers pings through memif"), move || {
            answers_pings(world, Peer { is_client, is_zero_copy })
        });
        trial.with_ignored_flag(find(PROGRAM).is_none())
    })
}

fn answers_pings(world: &World, peer: Peer) -> Result<(), Failed> {
    let (client, quiver) = (Namespace::add(world, "client")?, Namespace::add(world, "quiver")?);
    let daemon = Daemon::start(&quiver)?;
    let role = if peer.is_client { "master" } else { "slave" };
    for command in [
        "create tap id 0 host-ns client host-if-name eth0 host-mtu-size 9000",
        &format!("create memif socket id 1 filename {}", peer.socket()),
        &format!("create interface memif id 7 socket-id 1 {role}"),
        "set interface state tap0 up",
        "set interface state memif1/7 up",
        "set interface l2 xconnect tap0 memif1/7",
        "set interface l2 xconnect memif1/7 tap0",
    ] {
        daemon.command(command)?;
    }
    client.ip("address add 10.0.0.1/24 dev eth0")?;
    client.ip("link set dev eth0 up")?;
    let mut testpmd = Program::start(&mut testpmd(&quiver, peer))?;
    let is_connected = |_: &Program| memif(&daemon).is_ok_and(|memif| memif["state"] == "connected");
    testpmd.wait_until("a connection to quiverd", CONNECTED_WITHIN, is_connected)?;
    // Chains of DPDK's buffers from some 2,000 bytes on. It answers ARP for every address.
    for size in ["56", "1472", "4000", "8000"] {
        let mut ping = client.command("ping");
        ping.args(["-n", "-q", "-M", "do", "-i", "0.05", "-W", "2", "-c", "10", "-s", size, "10.0.0.2"]);
        let summary = run(&mut ping)?;
        if !summary.contains(" 10 received") {
            return Err(format!("{size} bytes: {summary}; {}", memif(&daemon)?).into());
        }
    }
    let memif = memif(&daemon)?;
    // It ends by kill, and quiverd lives on.
    drop(testpmd);
    match daemon.command("show version") {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("quiverd did not outlive testpmd: {error}; before: {memif}").into()),
    }
}

/// Without huge pages and devices; with `--stats-period` it reads no commands and runs until it is killed.
fn testpmd(namespace: &Namespace, peer: Peer) -> std::process::Command {
    let role = if peer.is_client { "client" } else { "server" };
    let copy = if peer.is_zero_copy { ",zero-copy=yes" } else { "" };
    let device = format!("--vdev=net_memif0,role={role},id=7,socket={},socket-abstract=no{copy}", peer.socket());
    let mut command = namespace.command(PROGRAM);
    command.args(["--no-huge", "-m", "256", "--no-pci", "-l", "0-1"]);
    if peer.is_zero_copy {
        command.arg("--single-file-segments");
    }
    command.args([&device, "--", "--forward-mode=icmpecho", "--auto-start", "--total-num-mbufs=4096"]);
    command.args(["--stats-period", "1", "--tx-offloads=0x8000"]);
    command
}
