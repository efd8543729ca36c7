//! Tunnels to Linux hosts, and to Open vSwitch on one: behind them a network of ours goes on.

use std::time::Duration;

use libtest_mimic::Failed;
use quiver_netns::{Program, World};

use super::site::Site;
use super::switch::Switch;

/// A tunnel between the router and the host behind tap0.
struct Tunnel {
    /// The host's command, behind `link add vx0 type vxlan id 5`.
    host: &'static str,
    /// The router's commands, behind `create vxlan tunnel`, each for a tunnel.
    router: &'static [&'static str],
    /// Bytes of a packet inside at most.
    mtu: u16,
}

/// Over IPv4 and IPv6, what fits and what is fragmented on its way; and over a group, to which a host's questions for others go.
const TUNNELS: [Tunnel; 5] = [
    Tunnel {
        host: "local 10.99.0.2 remote 10.99.0.1 dstport 4789",
        router: &["src 10.99.0.1 dst 10.99.0.2 vni 5"],
        mtu: 1450,
    },
    Tunnel {
        host: "local 10.99.0.2 remote 10.99.0.1 dstport 8472",
        router: &["src 10.99.0.1 dst 10.99.0.2 vni 5 src_port 8472 dst_port 8472"],
        mtu: 1500,
    },
    Tunnel {
        host: "local fd00:a::2 remote fd00:a::1 dstport 4789",
        router: &["src fd00:a::1 dst fd00:a::2 vni 5"],
        mtu: 1430,
    },
    Tunnel {
        host: "local fd00:a::2 remote fd00:a::1 dstport 4789",
        router: &["src fd00:a::1 dst fd00:a::2 vni 5"],
        mtu: 1500,
    },
    Tunnel {
        host: "local 10.99.0.2 group 239.1.1.5 dev eth0 dstport 4789",
        router: &["src 10.99.0.1 group 239.1.1.5 tap0 vni 5", "src 10.99.0.1 dst 10.99.0.2 vni 5"],
        mtu: 1450,
    },
];

/// Hosts at both ends are on one network: they ping each other, by packets of all sizes, and a stream flows both ways.
pub fn vxlan(world: &World) -> Result<(), Failed> {
    for tunnel in &TUNNELS {
        let mut site = Site::new(world, "vxlan")?;
        let tunnels: Vec<_> = tunnel.router.iter().map(|words| format!("vxlan tunnel {words}")).collect();
        join(&mut site, &tunnels, tunnel.mtu)?;
        site.left.ip(&format!("link add vx0 type vxlan id 5 {}", tunnel.host))?;
        reach(&mut site, "vx0", tunnel.mtu)
            .map_err(|error| format!("{}, mtu {}: {error:?}", tunnel.host, tunnel.mtu))?;
    }
    Ok(())
}

/// The same by GENEVE, with Open vSwitch at the other end.
pub fn geneve(world: &World) -> Result<(), Failed> {
    for (ours, theirs, mtu) in [("10.99.0.1", "10.99.0.2", 1450), ("fd00:a::1", "fd00:a::2", 1430)] {
        let mut site = Site::new(world, "geneve")?;
        join(&mut site, &[format!("geneve tunnel local {ours} remote {theirs} vni 5")], mtu)?;
        let switch = Switch::start(&mut site)?;
        let tunnel =
            format!("set interface gnv0 type=geneve options:remote_ip={ours} options:local_ip={theirs} options:key=5");
        switch.set(&mut site, "add-br br-int -- set bridge br-int datapath_type=netdev")?;
        switch
            .set(&mut site, &format!("add-port br-int gnv0 -- {tunnel} -- set interface br-int mtu_request={mtu}"))?;
        reach(&mut site, "br-int", mtu).map_err(|error| format!("over {ours}: {error:?}"))?;
    }
    Ok(())
}

/// The host behind tap0 gets an address of the network on an interface there, and pings the one behind tap1, by packets of all sizes; a stream
/// flows both ways.
fn reach(site: &mut Site, interface: &str, mtu: u16) -> Result<(), Failed> {
    site.left.ip(&format!("link set {interface} up mtu {mtu}"))?;
    site.left.ip(&format!("addr add 10.5.0.2/24 dev {interface}"))?;
    let size = mtu - 28;
    site.ping4(false, "-c 3 10.5.0.2")?;
    site.ping4(true, &format!("-c 3 -s {size} 10.5.0.3"))?;
    site.ping4(false, &format!("-c 2 -s {} 10.5.0.2", 2 * size))?;
    for direction in ["", " --reverse"] {
        let mut server = site.left.command("iperf3");
        let mut server = Program::start(server.args(["--server", "--one-off", "--forceflush"]))?;
        server.wait_for_output("Server listening", Duration::from_secs(30))?;
        let said = site.says(false, "iperf3", &format!("--json --bytes 5M --client 10.5.0.2{direction}"))?;
        let received = serde_json::from_str::<serde_json::Value>(&said)?["end"]["sum_received"]["bytes"].as_u64();
        if received.is_none_or(|bytes| bytes < 1_000_000) {
            return Err(format!("{received:?} bytes arrived").into());
        }
    }
    Ok(())
}

/// The host behind tap1 gets an interface in a bridge domain, whose other members are tunnels.
fn join(site: &mut Site, tunnels: &[String], mtu: u16) -> Result<(), Failed> {
    site.daemon.configure(&format!(
        "create bridge-domain 5
         create tap id 2 host-ns {} host-if-name eth1
         set interface state tap2 up
         set interface l2 bridge tap2 5",
        site.right.name()
    ));
    for tunnel in tunnels {
        let name = site.daemon.run(&format!("create {tunnel}"))?.text;
        site.daemon.configure(&format!("set interface l2 bridge {} 5 1", name.trim()));
    }
    site.right.ip(&format!("link set eth1 up mtu {mtu}"))?;
    site.right.ip("addr add 10.5.0.3/24 dev eth1")?;
    Ok(())
}
