//! Devices that join interfaces of the kernel: two hosts ping each other across them.

use libtest_mimic::Failed;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use quiver_device::{Job, Port, start};
use quiver_netns::{Namespace, World, run, veth};
use quiver_stop::Stop;
use quiver_suite::field::{Feature, Function};
use quiver_suite::{Case, Traffic};

use crate::ends;

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Two hosts, and a device between them.
pub fn reach_each_other(world: &World, case: &Case) -> Result<(), Failed> {
    let hosts = [Namespace::add(world, "one")?, Namespace::add(world, "two")?];
    let middle = Namespace::add(world, "middle")?;
    let traffic = Traffic::of(case);
    let mut addresses = [IpAddr::V4(Ipv4Addr::UNSPECIFIED); 2];
    for (at, (host, side)) in hosts.iter().zip(&traffic.sides).enumerate() {
        veth((host, "eth0"), (&middle, &format!("port{at}")), 1500)?;
        match (case.function, side.routes.first()) {
            (Function::Ip4 | Function::Ip6, Some(routes)) => {
                // It is the next hop, and one host of the network behind it.
                let address = ends::address(routes.first, ends::bits(routes.first) + 2);
                let at_once = if address.is_ipv6() { " nodad" } else { "" };
                host.ip("link set dev eth0 down")?;
                host.ip(&format!("link set dev eth0 address {} up", routes.station))?;
                host.ip(&format!("address add {}/{} dev eth0{at_once}", routes.next_hop, side.link_length()))?;
                host.ip("link set dev lo up")?;
                host.ip(&format!("address add {address}/{} dev lo{at_once}", ends::whole(address)))?;
                host.ip(&format!("route add default via {} src {address}", side.address))?;
                host.ip(&format!("neighbor replace {} lladdr {} dev eth0 nud permanent", side.address, side.gateway))?;
                addresses[at] = address;
            }
            _ => {
                addresses[at] = Ipv4Addr::new(192, 0, 2, at as u8 + 1).into();
                host.ip(&format!("address add {}/24 dev eth0", addresses[at]))?;
            }
        }
    }
    let folder = tempfile::tempdir()?;
    let ports = [0, 1].map(|at| Port::Host { namespace: Some(&middle), name: format!("port{at}") });
    let (cpus, stop) = (crate::cpus(), &Stop::default());
    let job = Job { case, ports, cpus, folder: folder.path(), program: None, site: None, place: (0, 1), stop };
    let mut device = start(&job)?;
    device.wait_until_ready(Duration::from_secs(60))?;
    let before = device.usage()?;
    for (host, other) in hosts.iter().zip([addresses[1], addresses[0]]) {
        let pings = ["-c", "20", "-i", "0.01", "-w", "30", &other.to_string()].map(str::to_owned);
        run(host.command("ping").args(pings)).map_err(|error| format!("{error}; {:?}", device.counters()))?;
    }
    let used = device.usage()?.since(&before);
    let busy = used.busy.ok_or("what packets cost is known")?;
    assert!(busy.packets >= 80, "{busy:?}");
    let counters = device.counters()?;
    assert!(counters.values().any(|count| *count >= 20));
    if case.feature == Feature::Conntrack {
        // A connection for the echo requests of each host.
        assert!(counters["conntrack entries"] >= 2 && counters["conntrack invalid"] == 0, "{counters:?}");
    }
    // Those whose packet sockets are asked: what one loses while nobody empties its ring is told.
    if let Some(before) = counters.get("af-packet ring-full") {
        let process = process_of(folder.path()).ok_or("the device's process")?;
        kill(process, Signal::SIGSTOP)?;
        let sent = hosts[0].within(|| flood(addresses[1]));
        kill(process, Signal::SIGCONT)?;
        sent??;
        let lost = device.counters()?["af-packet ring-full"] - before;
        assert!(lost > 0 && lost <= FLOOD, "{lost}");
    }
    device.stop()?;
    Ok(())
}

/// More packets than the rings of both ports have room for.
const FLOOD: u64 = 200_000;

fn flood(to: IpAddr) -> std::io::Result<()> {
    let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind((any, 0))?;
    // An answer that nobody listens there is no error of sending.
    (0..FLOOD).for_each(|_| drop(socket.send_to(b"", (to, 9))));
    Ok(())
}

/// The process that names a folder, in its arguments or its environment.
fn process_of(folder: &Path) -> Option<Pid> {
    let folder = folder.display().to_string();
    let names = |path: PathBuf| fs::read(path).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&folder));
    let processes = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let mut found = processes.filter(|path| names(path.join("cmdline")) || names(path.join("environ")));
    found.find_map(|path| path.file_name()?.to_str()?.parse().ok()).map(Pid::from_raw)
}
