//! Routes through tunnels that lead back into them are refused, and only those.

use quiver_scenarios::daemon;
use quiver_testkit::daemon::Daemon;

/// Two tunnels over pg0, with a host in each.
const TUNNELS: &str = "
packet-generators:
- name: pg0
interfaces:
- name: pg0
  state: up
- name: vxlan_tunnel0
  state: up
- name: vxlan_tunnel1
  state: up
interface-addresses:
- interface: pg0
  address: 10.0.0.1/24
- interface: vxlan_tunnel0
  address: 172.16.0.1/24
- interface: vxlan_tunnel1
  address: 172.16.1.1/24
vxlan-tunnels:
- name: vxlan_tunnel0
  source: 10.0.0.1
  destination: 10.1.0.2
  vni: 1
- name: vxlan_tunnel1
  source: 10.0.0.1
  destination: 10.2.0.2
  vni: 2
routes:
";

fn apply(daemon: &mut Daemon, routes: &[(&str, &str)]) -> Result<(), String> {
    let lines: String = routes.iter().map(|(to, via)| format!("- prefix: {to}\n  paths:\n  - via: {via}\n")).collect();
    let text = format!("{TUNNELS}{lines}");
    daemon.apply("file", &text).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn a_file_is_judged_by_all_that_it_says() {
    let mut daemon = daemon("");
    // The default route comes before the one that keeps the other end outside.
    let fine = [("0.0.0.0/0", "172.16.0.2"), ("10.1.0.2/32", "10.0.0.9"), ("10.2.0.0/16", "10.0.0.9")];
    apply(&mut daemon, &fine).expect("no circle");
    let circle = [("0.0.0.0/0", "172.16.0.2"), ("10.1.0.2/32", "172.16.0.3"), ("10.2.0.0/16", "10.0.0.9")];
    let error = apply(&mut daemon, &circle).expect_err("it leads into itself");
    let said = "routes 0 10.1.0.2/32: paths: packets would go in a circle: vxlan_tunnel0 to 10.1.0.2, by vxlan_tunnel0 again; \
                add a route to the tunnel's other end that leads elsewhere";
    assert!(error.contains(said), "{error}");
    // Nothing has changed.
    let routes = daemon.run("show ip fib 10.1.0.2").expect("it is there");
    assert!(routes.text.contains("via 10.0.0.9"), "{routes:?}");
}

#[test]
fn circles_through_several_tunnels_are_told_whole() {
    let mut daemon = daemon("");
    let error = apply(&mut daemon, &[("10.1.0.0/16", "172.16.1.2"), ("10.2.0.0/16", "172.16.0.2")]);
    let error = error.expect_err("each leads into the other one");
    let said =
        "packets would go in a circle: vxlan_tunnel1 to 10.2.0.2, by vxlan_tunnel0 to 10.1.0.2, by vxlan_tunnel1 again";
    assert!(error.contains(said), "{error}");
    apply(&mut daemon, &[("10.1.0.0/16", "172.16.1.2"), ("10.2.0.0/16", "10.0.0.9")]).expect("one inside the other");
}

#[test]
fn what_was_refused_is_not_held_against_what_comes_next() {
    let mut daemon = daemon("");
    apply(&mut daemon, &[("10.1.0.2/32", "10.0.0.9"), ("10.0.0.0/8", "172.16.0.2")]).expect("no circle");
    // Nobody is kept from taking a route away.
    daemon.configure("ip route del 10.1.0.2/32 via 10.0.0.9");
    let error = daemon.run("ip route add 10.1.0.0/24 via 172.16.0.2 vxlan_tunnel0").expect_err("another circle");
    assert!(error.to_string().contains("in a circle"), "{error}");
    daemon.configure("ip route add 192.0.2.0/24 via 10.0.0.9 pg0");
}
