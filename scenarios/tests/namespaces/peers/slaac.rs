//! Addresses that hosts make themselves of what routers advertise (RFC 4862): Linux of ours, and we of Linux's.

use std::fs;
use std::net::Ipv6Addr;

use libtest_mimic::Failed;
use quiver_netns::{Namespace, Program, World};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};

use super::site::{run, wait_for};

/// A Linux host with nothing but a link learns its address, its router and the link's MTU, and uses them.
pub fn host(world: &World) -> Result<(), Failed> {
    let mut daemon = Daemon::new(ROOMS, Setup { buffers: 8192, ..Setup::default() })?;
    let host = Namespace::add(world, "slaac-host")?;
    daemon.configure(
        "create tap id 0 host-ns slaac-host host-if-name eth0
         create loopback interface
         set interface state loop0 up
         set interface ip address loop0 fd00:b::1/64
         set interface ip address tap0 fd00:a::1/64
         set interface mtu 1400 tap0
         ip6 nd tap0 prefix fd00:a::/64 7200 3600
         ip6 nd tap0 ra-lifetime 1800
         set interface state tap0 up",
    );
    host.ip("link set eth0 up mtu 1500")?;
    let address = wait_for(&mut daemon, "address of the advertised prefix", |_| {
        let said = host.ip("-6 -o addr show dev eth0 scope global -tentative")?;
        Ok(said
            .split_whitespace()
            .find(|word| word.starts_with("fd00:a::") || word.starts_with("fd00:a:0:"))
            .map(str::to_owned))
    })?;
    let said = host.ip("-6 addr show dev eth0 scope global")?;
    assert!(said.contains(&address) && said.contains("dynamic"), "{said}");
    let said = host.ip("-6 route show default")?;
    assert!(said.contains("default via fe80::") && said.contains("proto ra"), "{said}");
    let mtu = fs_within(&host, "/proc/sys/net/ipv6/conf/eth0/mtu")?;
    assert_eq!(mtu.trim(), "1400");
    // Behind the router, by what was learned alone.
    let said = run(&mut daemon, &host, "ping", "-6 -n -c 2 -i 0.05 -W 3 fd00:b::1")?;
    assert!(said.status.success(), "{said:?}");
    // A router that ceases says so.
    daemon.configure("ip6 nd tap0 ra-cease");
    wait_for(&mut daemon, "end of the default route", |_| {
        Ok(host.ip("-6 route show default")?.trim().is_empty().then_some(()))
    })?;
    Ok(daemon.finish()?)
}

fn fs_within(host: &Namespace, path: &str) -> Result<String, Failed> {
    Ok(host.within(|| fs::read_to_string(path))??)
}

/// We make ourselves an address of a prefix that `radvd` advertises, and reach by it what is behind that router.
pub fn router(world: &World) -> Result<(), Failed> {
    let mut daemon = Daemon::new(ROOMS, Setup { buffers: 8192, ..Setup::default() })?;
    let router = Namespace::add(world, "slaac-router")?;
    daemon.configure(
        "create tap id 0 host-ns slaac-router host-if-name eth0
         enable ip6 interface tap0
         ip6 nd address autoconfig tap0 default-route
         set interface state tap0 up",
    );
    router.within(|| fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1"))??;
    router.ip("link set eth0 up mtu 1500")?;
    router.ip("-6 addr add fd00:c::1/64 dev eth0 nodad")?;
    // Another network of that router's, in which we have no address.
    router.ip("-6 addr add fd00:d::1/128 dev lo")?;
    let configuration = "interface eth0 { AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4; \
                         prefix fd00:c::/64 { AdvOnLink on; AdvAutonomous on; AdvValidLifetime 300; AdvPreferredLifetime 200; }; };";
    fs::write("/run/radvd.conf", configuration)?;
    let mut command = router.command("radvd");
    let radvd = Program::start(command.args(["-n", "-m", "stderr", "-C", "/run/radvd.conf", "-p", "/run/radvd.pid"]))?;
    let address: Ipv6Addr = wait_for(&mut daemon, "address", |daemon| {
        let shown = daemon.run("show interface address")?.text;
        let words = shown.split_whitespace().map(|word| word.trim_end_matches("/64"));
        Ok(words
            .filter_map(|word| word.parse().ok())
            .find(|address: &Ipv6Addr| address.segments()[..2] == [0xfd00, 0xc]))
    })
    .map_err(|error| format!("{error:?}; radvd says: {}", radvd.output()))?;
    let shown = daemon.run("show ip6 routers")?.text;
    assert!(shown.contains("fe80::"), "{shown}");
    for from in ["fd00:c::1", "fd00:d::1"] {
        let said = run(&mut daemon, &router, "ping", &format!("-6 -n -c 2 -i 0.05 -W 3 -I {from} {address}"))?;
        assert!(said.status.success(), "from {from}: {said:?}");
    }
    drop(radvd);
    Ok(daemon.finish()?)
}
