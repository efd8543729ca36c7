//! Tunnels to a Linux host: behind it a network of ours goes on.

use std::time::Duration;

use libtest_mimic::Failed;
use quiver_netns::{Program, World};

use super::site::Site;

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
        connect(&mut site, tunnel)?;
        let size = tunnel.mtu - 28;
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
                return Err(format!("{}, mtu {}: {received:?} bytes arrived", tunnel.host, tunnel.mtu).into());
            }
        }
    }
    Ok(())
}

/// The host behind tap1 gets an interface in a bridge domain, whose other member is the tunnel.
fn connect(site: &mut Site, tunnel: &Tunnel) -> Result<(), Failed> {
    let mtu = tunnel.mtu;
    site.daemon.configure(&format!(
        "create bridge-domain 5
         create tap id 2 host-ns {} host-if-name eth1
         set interface state tap2 up
         set interface l2 bridge tap2 5",
        site.right.name()
    ));
    for (number, words) in tunnel.router.iter().enumerate() {
        site.daemon.configure(&format!(
            "create vxlan tunnel {words}
             set interface l2 bridge vxlan_tunnel{number} 5 1"
        ));
    }
    site.right.ip(&format!("link set eth1 up mtu {mtu}"))?;
    site.right.ip("addr add 10.5.0.3/24 dev eth1")?;
    site.left.ip(&format!("link add vx0 type vxlan id 5 {}", tunnel.host))?;
    site.left.ip(&format!("link set vx0 up mtu {mtu}"))?;
    site.left.ip("addr add 10.5.0.2/24 dev vx0")?;
    Ok(())
}
