//! The programs by which people look at a network.

use libtest_mimic::Failed;
use quiver_netns::World;

use super::site::Site;

/// Two hops, of which we are the first, whatever asks; and the narrow link behind us.
pub fn traces(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "traces")?;
    // No probe goes unanswered for lack of a neighbour.
    site.ping4(true, "-c 1 10.99.1.2")?;
    site.ping(true, "-c 1 fd00:b::2")?;
    let hops = [("10.99.0.1", "10.99.1.2"), ("fd00:a::1", "fd00:b::2")];
    for (router, host) in hops {
        for by in ["-I", "-U", "-T"] {
            let said = site.says(true, "traceroute", &format!("-n {by} -q 1 -N 1 -w 3 -m 4 {host}"))?;
            let seen: Vec<_> = said.lines().skip(1).map(|line| line.split_whitespace().nth(1)).collect();
            assert_eq!(seen, [Some(router), Some(host)], "{by}: {said}");
        }
    }
    site.daemon.configure("set interface mtu 1280 tap1");
    site.right.ip("link set eth0 mtu 1280")?;
    for (router, host) in hops {
        let said = site.says(true, "tracepath", &format!("-n -m 4 {host}"))?;
        for expected in [format!(" {router} "), format!(" {host} "), "pmtu 1280".to_owned(), "hops 2".to_owned()] {
            assert!(said.contains(&expected), "{expected}: {said}");
        }
    }
    Ok(site.daemon.finish()?)
}

/// quiverd answers ARP requests and probes (RFC 5227) for its addresses, and takes gratuitous ARP only from known
/// neighbors.
pub fn arping(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "arping")?;
    let said = site.says(true, "arping", "-c 2 -w 3 -I eth0 10.99.0.1")?;
    assert!(said.contains("reply from 10.99.0.1") && said.contains("Received 2 response"), "{said}");
    // One response is one too many: it says so by its exit status.
    let said = site.run(true, "arping", "-D -c 2 -w 3 -I eth0 10.99.0.1")?;
    assert!(!said.status.success(), "{said:?}");
    let said = site.run(true, "arping", "-D -c 1 -w 1 -I eth0 10.99.0.77")?;
    assert!(said.status.success(), "nobody has it: {said:?}");
    // The known neighbor moves to another station, and announces that.
    site.ping4(true, "-c 1 10.99.0.1")?;
    site.left.ip("link set eth0 address 02:00:00:00:00:77")?;
    site.says(true, "arping", "-U -c 1 -I eth0 10.99.0.2")?;
    let shown = site.daemon.run("show ip neighbors")?.text;
    assert!(shown.contains("02:00:00:00:00:77"), "{shown}");
    site.ping4(false, "-c 2 10.99.0.2")?;
    Ok(site.daemon.finish()?)
}
