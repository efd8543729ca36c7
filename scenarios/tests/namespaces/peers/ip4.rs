//! Fragmentation, reassembly and path MTU discovery of IPv4.

use std::fs;

use libtest_mimic::Failed;
use quiver_netns::{Namespace, World};

use super::site::Site;

/// Linux fragments packets for its link and reassembles quiverd's fragments; quiverd reassembles packets to itself, and
/// fragments its answers and forwarded packets for the next link's MTU.
pub fn fragments(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "fragments")?;
    site.ping4(true, "-c 2 -s 4000 10.99.1.2")?;
    site.ping4(true, "-c 2 -s 4000 10.99.0.1")?;
    // Neither host is a known neighbor yet, whichever fragment comes first.
    site.left.ip("neigh flush dev eth0")?;
    site.ping4(false, "-c 2 -s 8000 10.99.0.2")?;
    site.daemon.configure("set interface mtu 1000 tap1");
    let before = reassembled(&site.right)?;
    site.ping4(true, "-c 2 -s 1400 -M dont 10.99.1.2")?;
    assert_eq!(reassembled(&site.right)? - before, 2, "we have cut them");
    let drops = site.daemon.drops();
    assert!(!drops.keys().any(|(node, _)| node.starts_with("ip4-reassembly")), "{drops:?}");
    Ok(site.daemon.finish()?)
}

/// Number of IPv4 packets that a host has reassembled.
fn reassembled(host: &Namespace) -> Result<u64, Failed> {
    let text = host.within(|| fs::read_to_string("/proc/thread-self/net/snmp"))??;
    let mut lines = text.lines().filter(|line| line.starts_with("Ip:"));
    let (names, values) = lines.next().zip(lines.next()).ok_or("no counters of IPv4")?;
    let column = names.split(' ').position(|name| name == "ReasmOKs").ok_or("no such counter")?;
    Ok(values.split(' ').nth(column).ok_or("no value")?.parse()?)
}

/// Path MTU discovery (RFC 1191).
pub fn path_mtu(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "mtu4")?;
    site.daemon.configure("set interface mtu 1280 tap1");
    let said = site.run(true, "ping", "-4 -n -c 1 -W 1 -M do -s 1400 10.99.1.2")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("From 10.99.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1280)"), "{said}");
    let route = site.left.ip("route get 10.99.1.2")?;
    assert!(route.contains("mtu 1280"), "{route}");
    // From now on the host cuts its packets to what fits.
    site.right.ip("link set eth0 mtu 1280")?;
    site.ping4(true, "-c 2 -s 1400 10.99.1.2")?;
    Ok(site.daemon.finish()?)
}
