//! An application with the client library at the other end: it answers pings that come through quiverd.

use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use quiver_memif_client::{Client, ClientError, Packets, Settings};
use quiver_netns::{Namespace, Program, World};
use quiver_site::Daemon;

use crate::memif::{address, attach, memif, ten_pings};

/// Argument that starts this program as the application.
const AS_APPLICATION: &str = "--memif-application";
const SOCKET: &str = "/run/application.sock";
/// Longest time until both are connected.
const CONNECTED_WITHIN: Duration = Duration::from_secs(30);

/// The application, if this process was started as one; it does not return then, unless it fails.
pub fn is_this() -> Option<Result<(), ClientError>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, role] = &arguments[..] else { return None };
    (what == AS_APPLICATION).then(|| answer(role == "master"))
}

/// Answers echo requests for ever, and sleeps where there are none.
fn answer(is_master: bool) -> Result<(), ClientError> {
    let Ok(socket) = SOCKET.parse() else { return Ok(()) };
    let settings = if is_master { Settings::master(socket, 7) } else { Settings::slave(socket, 7) };
    let mut client = Client::new()?;
    let interface = client.open(Settings { retry: Duration::from_millis(100), ..settings })?;
    let mut packets = Packets::new();
    loop {
        for event in client.wait(None)? {
            println!("{event}");
        }
        let Some((rx, tx)) = client.queues(interface, 0) else { continue };
        // Errors are those of a connection that has ended, of which the next wait tells.
        while rx.receive(&mut packets, 64).is_ok_and(|count| count > 0) {
            (0..packets.len()).for_each(|i| packets.get_mut(i).into_iter().for_each(turn_around));
            let _ = tx.send(packets.iter().filter(|packet| is_icmp(packet, REPLY)));
        }
    }
}

const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// Whether it is an ICMP message of this type, behind an IPv4 header without options.
fn is_icmp(packet: &[u8], kind: u8) -> bool {
    packet.len() >= 42 && packet[12..15] == [8, 0, 0x45] && packet[23] == 1 && packet[34] == kind
}

/// Makes an echo request the answer to it.
fn turn_around(packet: &mut [u8]) {
    if !is_icmp(packet, REQUEST) {
        return;
    }
    packet[..12].rotate_left(6);
    packet[26..34].rotate_left(4);
    packet[34] = REPLY;
    // RFC 1624: the complement of the sum grows by what the type has lost.
    let (sum, carry) = u16::from_be_bytes([packet[36], packet[37]]).overflowing_add(u16::from(REQUEST) << 8);
    packet[36..38].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
}

/// In both roles.
pub fn trials(world: &'static World) -> impl Iterator<Item = Trial> {
    ["master", "slave"].into_iter().map(move |role| {
        let name = format!("application as {role}: answers pings through memif, is killed and comes again");
        Trial::test(name, move || answers_pings(world, role))
    })
}

fn answers_pings(world: &World, role: &str) -> Result<(), Failed> {
    let (client, quiver) = (Namespace::add(world, "client")?, Namespace::add(world, "quiver")?);
    let daemon = Daemon::start(&quiver)?;
    let ours = if role == "master" { "slave" } else { "master" };
    attach(&daemon, &client, SOCKET, ours)?;
    address(&client, 1)?;
    // It answers echo requests only.
    client.ip("neighbor replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent")?;
    let this = std::env::current_exe()?;
    for _ in 0..3 {
        let mut application = Program::start(quiver.command(&this).args([AS_APPLICATION, role]))?;
        let state = |wanted: &str| memif(&daemon).is_ok_and(|memif| memif["state"].as_str() == Some(wanted));
        application.wait_until("a connection to quiverd", CONNECTED_WITHIN, |_| state("connected"))?;
        let connected = memif(&daemon)?;
        if connected["peer"] != "quiver-memif-client" {
            return Err(format!("the peer is the application: {connected}").into());
        }
        // From some 2,000 bytes on in chains of buffers.
        for size in ["56", "1472", "8000"] {
            ten_pings(&client, size)?;
        }
        // By SIGKILL, while requests are on their way.
        let mut flood = client.command("ping");
        flood.args(["-n", "-q", "-i", "0.002", "-c", "1000000", "10.0.0.2"]);
        let flood = Program::start(&mut flood)?;
        drop(application);
        let start = Instant::now();
        while state("connected") {
            if start.elapsed() > CONNECTED_WITHIN {
                return Err(format!("quiverd has not noticed: {}", memif(&daemon)?).into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(flood);
    }
    daemon.command("show version")?;
    Ok(())
}
