//! Configuration by which quiverd joins a client and a server.

use quiver_netns::{Namespace, veth};

use crate::addresses::Addresses;
use crate::{Daemon, Driver, Error, Function};

/// quiverd's interfaces towards client and server.
fn interfaces(driver: Driver) -> [&'static str; 2] {
    match driver {
        Driver::Tap => ["tap0", "tap1"],
        Driver::AfPacket => ["host-client", "host-server"],
    }
}

/// Attaches quiverd to `eth0` of both ends.
pub fn attach(
    daemon: &Daemon,
    quiver: &Namespace,
    driver: Driver,
    ends: [&Namespace; 2],
    mtu: u16,
) -> Result<(), Error> {
    for (id, end) in ends.into_iter().enumerate() {
        let name = end.name();
        match driver {
            Driver::Tap => {
                daemon.command(&format!("create tap id {id} host-ns {name} host-if-name eth0 host-mtu-size {mtu}"))?;
            }
            Driver::AfPacket => {
                veth((end, "eth0"), (quiver, name), mtu)?;
                daemon.command(&format!("create host-interface name {name}"))?;
            }
        }
    }
    Ok(())
}

/// Starts one of two quiverd, attaches it to its end's `eth0` by a tap, and has it join the other by memif.
pub fn end(
    number: usize,
    namespace: &Namespace,
    end: &Namespace,
    is_master: bool,
    is_zero_copy: bool,
    mtu: u16,
    workers: usize,
) -> Result<Daemon, Error> {
    let socket = if number == 0 { Daemon::SOCKET } else { "/run/quiver/cli2.sock" };
    let workers = workers.to_string();
    let mut arguments = vec!["--workers", &workers];
    if is_zero_copy {
        arguments.extend(["--share-buffers", "--buffers-limit", "16384"]);
    }
    let daemon = Daemon::start_at(namespace, socket, &arguments)?;
    let (role, copy) = (if is_master { "master" } else { "slave" }, if is_zero_copy { "" } else { "no-zero-copy" });
    for command in [
        format!("create tap id 0 host-ns {} host-if-name eth0 host-mtu-size {mtu}", end.name()),
        format!("create interface memif id 7 {role} {copy}"),
        "set interface state tap0 up".into(),
        "set interface state memif0/7 up".into(),
        "set interface l2 xconnect tap0 memif0/7".into(),
        "set interface l2 xconnect memif0/7 tap0".into(),
    ] {
        daemon.command(&command)?;
    }
    Ok(daemon)
}

/// Makes quiverd carry packets between its two interfaces.
pub fn configure(daemon: &Daemon, function: Function, driver: Driver, addresses: &Addresses) -> Result<(), Error> {
    let [a, b] = interfaces(driver);
    let mut commands = vec![];
    commands.extend([a, b].map(|interface| format!("set interface state {interface} up")));
    match function {
        Function::CrossConnect => {
            commands.push(format!("set interface l2 xconnect {a} {b}"));
            commands.push(format!("set interface l2 xconnect {b} {a}"));
        }
        Function::Bridge => {
            commands.push("create bridge-domain 1".to_owned());
            commands.extend([a, b].map(|interface| format!("set interface l2 bridge {interface} 1")));
        }
        Function::Router => {
            let sides = addresses.gateways.map_or([None, None], |(client, server)| [Some(client), Some(server)]);
            for (interface, address) in [a, b].into_iter().zip(sides) {
                commands.extend(address.map(|address| format!("set interface ip address {interface} {address}/24")));
            }
        }
    }
    commands.iter().try_for_each(|command| daemon.command(command).map(drop))
}
