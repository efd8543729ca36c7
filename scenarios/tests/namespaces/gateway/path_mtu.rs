//! Path MTU discovery: one narrow link is behind the gateway, another one is its own inside.

use std::net::IpAddr;

use libtest_mimic::Failed;
use quiver_netns::{Namespace, run};

use super::Site;
use super::site::{INSIDE, NARROW};

/// The MTU that a kernel has learned of the path to an address.
fn learned(namespace: &Namespace, to: IpAddr) -> Result<Option<u16>, Failed> {
    let route = namespace.ip(&format!("route get {to}"))?;
    let words: Vec<_> = route.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "mtu");
    Ok(at.and_then(|at| words.get(at + 1)?.parse().ok()))
}

/// The streams of iperf3 have had both kernels learn the MTU from ICMP errors, and tracepath finds it by itself.
pub fn found(site: &Site) -> Result<(), Failed> {
    let (host, server) = (&site.gateway.host, &site.outside.server);
    for &to in site.policy.servers() {
        let seen = site.policy.seen(&site.gateway, to);
        let mtus = [learned(host, to)?, learned(server, seen)?];
        if mtus != [Some(NARROW), Some(INSIDE)] {
            return Err(format!("MTU of the paths to {to} and {seen}: {mtus:?}").into());
        }
        host.ip(if to.is_ipv6() { "-6 route flush cache" } else { "-4 route flush cache" })?;
        let path = run(host.command("tracepath").args(["-n", "-m", "5", &to.to_string()]))?;
        for expected in ["pmtu 1500", &format!("pmtu {NARROW}"), &format!(" {to} "), "hops 3"] {
            if !path.contains(expected) {
                return Err(format!("no {expected}: {path}").into());
            }
        }
    }
    Ok(())
}
