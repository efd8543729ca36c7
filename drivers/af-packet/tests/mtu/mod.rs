//! The MTU of Linux's interface: ours follows it.

use std::process::Command;
use std::thread::spawn;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_interface::Interfaces;
use quiver_netns::{Namespace, World, run, veth};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::trials::Trial;

use crate::{PATIENCE, site};

pub const TOLD: Trial<World> = ("senders_are_told_of_an_mtu_that_linux_lowers", senders_are_told);
pub const TOO_LONG: Trial<World> = ("what_is_too_long_for_linux_is_dropped_by_name", too_long);

/// A host on each side of a router.
struct Routed {
    daemon: Daemon,
    a: Namespace,
    middle: String,
    _others: [Namespace; 2],
}

impl Routed {
    fn new(world: &World) -> Result<Routed, Failed> {
        let add = |suffix: &str| Namespace::add(world, &format!("mtu-{suffix}"));
        let (a, b, middle) = (add("a")?, add("b")?, add("m")?);
        let mut daemon = Daemon::new(ROOMS, Setup { buffers: 8192, ..Setup::default() })?;
        for (end, host, net) in [("a", &a, 1), ("b", &b, 2)] {
            veth((host, "eth0"), (&middle, end), 1500)?;
            host.ip(&format!("address add 10.9.{net}.2/24 dev eth0"))?;
            host.ip(&format!("route add default via 10.9.{net}.1"))?;
            daemon.configure(&format!(
                "create host-interface name {end} netns mtu-m hw-addr 02:00:00:00:00:0{net}
                 set interface state host-{end} up
                 set interface ip address host-{end} 10.9.{net}.1/24"
            ));
        }
        Ok(Routed { daemon, a, middle: "mtu-m".into(), _others: [b, middle] })
    }
    /// Sets the MTU of an interface in Linux, and waits until ours is so many.
    fn lower(&mut self, mtu: u16, ours: u16) -> Result<(), Failed> {
        let (mtu, start) = (mtu.to_string(), Instant::now());
        run(Command::new("ip").args(["-n", &self.middle, "link", "set", "dev", "b", "mtu", &mtu]))?;
        loop {
            let found = self.daemon.control().room::<Interfaces>().find("host-b").map(|interface| interface.mtu);
            if found == Some(ours) {
                return Ok(());
            }
            assert!(start.elapsed() < PATIENCE, "{found:?}, not {ours}");
            self.daemon.advance(Duration::from_secs(1))?;
        }
    }
    /// Whether a packet of 1,400 bytes that must not be fragmented is answered; and what was said.
    fn ping(&mut self) -> Result<(bool, String), Failed> {
        // What the host was told before is not to keep it from trying.
        self.a.ip("route flush cache")?;
        let mut ping = self.a.command("ping");
        ping.args(["-c", "1", "-W", "2", "-M", "do", "-s", "1372", "10.9.2.2"]);
        let said = self.daemon.run_until(spawn(move || ping.output()))?;
        let text = [&said.stdout[..], &said.stderr].map(String::from_utf8_lossy).concat();
        Ok((said.status.success(), text))
    }
}

/// Linux lowers the MTU of an interface that we route by: senders are told, as they are of an MTU of ours.
fn senders_are_told(world: &World) -> Result<(), Failed> {
    let mut routed = Routed::new(world)?;
    let (answered, said) = routed.ping()?;
    assert!(answered, "{said}");
    routed.lower(1000, 1000)?;
    let (answered, said) = routed.ping()?;
    assert!(!answered && said.contains("mtu = 1000"), "{said}");
    let drops = routed.daemon.drops();
    assert!(drops.contains_key(&("icmp4-error", "fragmentation-needed")), "{drops:?}");
    assert!(!drops.contains_key(&("interface-output", "tx-too-long")), "{drops:?}");
    let shown = routed.daemon.run("show af-packet")?.text;
    assert!(shown.lines().any(|line| line.starts_with("host-b") && line.contains(" 1000 ")), "{shown}");
    // What is configured holds as far as Linux takes it.
    let said = routed.daemon.run("set interface mtu packet 1400 host-b")?;
    assert_eq!(said.text, "host-b: the MTU is 1000, for its link takes no more; 1400 is saved");
    routed.lower(1500, 1400)?;
    let (answered, said) = routed.ping()?;
    assert!(answered, "{said}");
    Ok(routed.daemon.finish()?)
}

/// Frames that no layer 3 looks at.
fn too_long(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "long", 1500, 1, "")?;
    run(Command::new("ip").args("-n long-m link set dev b mtu 1000".split(' ')))?;
    site.send_raw(false, "s.send(bytes(1400))")?;
    assert_eq!(site.dropped("interface-output", "tx-too-long"), 1);
    Ok(site.daemon.finish()?)
}
