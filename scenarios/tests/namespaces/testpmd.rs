//! DPDK's net_memif at the other end: `dpdk-testpmd` answers pings that come through quiverd.
//!
//! These trials are reported as ignored where the program is missing: `apt-get install dpdk-dev` brings it.

use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use quiver_netns::{Namespace, Program, World, find};
use quiver_site::Daemon;

use crate::memif::{address, attach, memif, ten_pings};

const PROGRAM: &str = "dpdk-testpmd";
/// Longest time for DPDK to start and connect.
const CONNECTED_WITHIN: Duration = Duration::from_secs(60);

/// Secret that quiverd's end demands or sends.
const SECRET: &str = "knock";

/// Role of testpmd.
#[derive(Clone, Copy)]
struct Peer {
    /// The slave, as DPDK's older name has it `client`; or else the master.
    is_client: bool,
    is_zero_copy: bool,
    /// None of no characters.
    secret: &'static str,
}

impl Peer {
    /// Where the master listens. Each trial has its own: DPDK does not take over what a killed master has left.
    fn socket(self) -> String {
        format!("/run/testpmd-{}-{}-{}.sock", self.is_client, self.is_zero_copy, self.secret)
    }
    fn role(self) -> &'static str {
        if self.is_client { "slave" } else { "master" }
    }
}

/// Both roles with the right secret, and a slave that shares its buffers, without; then wrong secrets, with what quiverd
/// says of them.
pub fn trials(world: &'static World) -> impl Iterator<Item = Trial> {
    let peers = [(true, false, SECRET), (true, true, ""), (false, false, SECRET)];
    let pings = peers.into_iter().map(move |(is_client, is_zero_copy, secret)| {
        let peer = Peer { is_client, is_zero_copy, secret };
        let how = [(is_zero_copy, ", zero-copy"), (!secret.is_empty(), ", with a secret")];
        let how: String = how.into_iter().filter(|(is_so, _)| *is_so).map(|(_, how)| how).collect();
        let name = format!("dpdk-testpmd as {}{how}: answers pings through memif", peer.role());
        Trial::test(name, move || answers_pings(world, peer))
    });
    let refusals = [
        (true, "bang", "incorrect secret"),
        (true, "", "secret required"),
        (false, "bang", "the peer says: Incorrect secret"),
    ];
    let refusals = refusals.into_iter().map(move |(is_client, secret, refusal)| {
        let peer = Peer { is_client, is_zero_copy: false, secret };
        let name = format!("memif to dpdk-testpmd as {} with secret '{secret}': {refusal}", peer.role());
        Trial::test(name, move || is_refused(world, peer, refusal))
    });
    pings.chain(refusals).map(|trial| trial.with_ignored_flag(find(PROGRAM).is_none()))
}

/// The other end of testpmd, cross-connected with the client.
fn quiverd(quiver: &Namespace, client: &Namespace, peer: Peer, secret: &str) -> Result<Daemon, Failed> {
    let daemon = Daemon::start(quiver)?;
    let role = if peer.is_client { "master" } else { "slave" };
    let secret = if secret.is_empty() { String::new() } else { format!("secret {secret}") };
    attach(&daemon, client, &peer.socket(), &format!("{role} {secret}"))?;
    Ok(daemon)
}

fn is_refused(world: &World, peer: Peer, refusal: &str) -> Result<(), Failed> {
    let (client, quiver) = (Namespace::add(world, "client")?, Namespace::add(world, "quiver")?);
    let daemon = quiverd(&quiver, &client, peer, SECRET)?;
    let mut testpmd = Program::start(&mut testpmd_of(&quiver, peer))?;
    let wanted = format!("waiting: {refusal}");
    let is_refused = |_: &Program| memif(&daemon).is_ok_and(|memif| memif["state"].as_str() == Some(&wanted));
    testpmd.wait_until("a refusal", CONNECTED_WITHIN, is_refused).map_err(|error| {
        let state = memif(&daemon).map_or_else(|error| format!("{error:?}"), |memif| memif["state"].to_string());
        format!("{error}; quiverd's interface is {state}").into()
    })
}

fn answers_pings(world: &World, peer: Peer) -> Result<(), Failed> {
    let (client, quiver) = (Namespace::add(world, "client")?, Namespace::add(world, "quiver")?);
    let daemon = quiverd(&quiver, &client, peer, peer.secret)?;
    address(&client, 1)?;
    let mut testpmd = Program::start(&mut testpmd_of(&quiver, peer))?;
    let is_connected = |_: &Program| memif(&daemon).is_ok_and(|memif| memif["state"] == "connected");
    testpmd.wait_until("a connection to quiverd", CONNECTED_WITHIN, is_connected)?;
    let before = slept(&daemon)?;
    // Chains of DPDK's buffers from some 2,000 bytes on. It answers ARP for every address.
    for size in ["56", "1472", "4000", "8000"] {
        ten_pings(&client, size)?;
    }
    let memif = memif(&daemon)?;
    if slept(&daemon)? == before {
        return Err("the worker never slept between pings, so testpmd's interrupts had nothing to wake".into());
    }
    // It ends by kill, and quiverd lives on.
    drop(testpmd);
    daemon
        .command("show version")
        .map_err(|error| format!("quiverd did not outlive testpmd: {error}; before: {memif}"))?;
    if !peer.is_client {
        // Where it listened, a killed master does not listen again.
        return Ok(());
    }
    is_lost(&daemon)?;
    let mut again = Program::start(&mut testpmd_of(&quiver, peer))?;
    again.wait_until("a second connection to quiverd", CONNECTED_WITHIN, is_connected)?;
    // It throws away what comes before it begins to forward: Linux asks for its address again and again, but pings once.
    client.ip("neighbor flush dev eth0")?;
    ten_pings(&client, "1472")
}

/// Waits until quiverd knows that the peer is gone.
fn is_lost(daemon: &Daemon) -> Result<(), Failed> {
    let start = Instant::now();
    while memif(daemon)?["state"] == "connected" {
        if start.elapsed() > CONNECTED_WITHIN {
            return Err("quiverd does not notice that testpmd is gone".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Number of times that quiverd's worker has slept until an interrupt.
fn slept(daemon: &Daemon) -> Result<u64, Failed> {
    let workers: Vec<serde_json::Value> = serde_json::from_str(&daemon.command("show threads --json")?)?;
    workers
        .iter()
        .map(|worker| worker["sleeps"].as_u64())
        .sum::<Option<u64>>()
        .ok_or_else(|| "sleeps are counted".into())
}

/// Without huge pages and devices; with `--stats-period` it reads no commands and runs until it is killed.
fn testpmd_of(namespace: &Namespace, peer: Peer) -> std::process::Command {
    let role = if peer.is_client { "client" } else { "server" };
    let copy = if peer.is_zero_copy { ",zero-copy=yes" } else { "" };
    let secret = if peer.secret.is_empty() { String::new() } else { format!(",secret={}", peer.secret) };
    let socket = peer.socket();
    let device = format!("--vdev=net_memif0,role={role},id=7,socket={socket},socket-abstract=no{copy}{secret}");
    let mut command = namespace.command(PROGRAM);
    command.args(["--no-huge", "-m", "256", "--no-pci", "-l", "0-1"]);
    if peer.is_zero_copy {
        command.arg("--single-file-segments");
    }
    command.args([&device, "--", "--forward-mode=icmpecho", "--auto-start", "--total-num-mbufs=4096"]);
    command.args(["--stats-period", "1", "--tx-offloads=0x8000"]);
    command
}
