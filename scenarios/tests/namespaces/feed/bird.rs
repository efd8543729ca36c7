//! BIRD, with networks as the internet has them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::net::UnixStream;

use fastrand::Rng;
use libtest_mimic::Failed;
use quiver_netns::{Namespace, Program, run};
use quiver_site::Daemon;

const CONFIGURATION: &str = "/run/bird.conf";
const CONTROL: &str = "/run/bird.ctl";
/// Of a hundred networks, so many have this length or a longer one in the list (bgp.potaroo.net, 2025, roughly).
const LENGTHS4: [(u8, u8); 8] = [(24, 60), (23, 70), (22, 81), (21, 86), (20, 91), (19, 94), (18, 97), (16, 100)];
const LENGTHS6: [(u8, u8); 7] = [(48, 47), (44, 60), (40, 70), (36, 77), (32, 91), (29, 96), (46, 100)];
/// Where IPv6 networks begin.
const NETWORKS6: [u16; 4] = [0x2400, 0x2600, 0x2800, 0x2a00];
/// Routes that are looked at.
const SAMPLES: usize = 20;

/// A BIRD that announces them to 127.0.0.2.
pub struct Bird {
    networks: [Vec<(IpAddr, u8)>; 2],
    program: Option<Program>,
}

impl Bird {
    /// One that is not running yet.
    pub fn new(namespace: &Namespace, ip4: usize, ip6: usize) -> Result<Bird, Failed> {
        // From one address to another of itself.
        namespace.ip("link set lo up")?;
        Ok(Bird { networks: [networks(ip4, network4), networks(ip6, network6)], program: None })
    }
    /// Number of networks of a family.
    pub fn count(&self, is_ip6: bool) -> usize {
        self.networks[usize::from(is_ip6)].len()
    }
    /// Starts it; all its networks are behind this neighbour.
    pub fn start(&mut self, namespace: &Namespace, hop: u8) -> Result<(), Failed> {
        self.configure(hop, 1)?;
        let mut command = namespace.command("bird");
        self.program = Some(Program::start(command.args(["-f", "-c", CONFIGURATION, "-s", CONTROL]))?);
        Ok(())
    }
    /// From now on it has the first one of so many of its networks, behind this neighbour.
    pub fn change(&mut self, namespace: &Namespace, hop: u8, share: usize) -> Result<(), Failed> {
        self.configure(hop, share)?;
        let said = run(namespace.command("birdc").args(["-s", CONTROL, "configure"]))?;
        match said.contains("Reconfigured") || said.contains("Reconfiguration in progress") {
            true => Ok(()),
            false => Err(said.into()),
        }
    }
    /// Wakes BIRD by a connection to its control socket; otherwise it looks for work only every three seconds.
    pub fn wake(&self) {
        // It may not listen yet.
        let _ = UnixStream::connect(CONTROL);
    }
    /// Ends it, as a crash would.
    pub fn stop(&mut self) {
        self.program = None;
    }
    /// An error unless some of its networks are behind this neighbour.
    pub fn is_by(&self, daemon: &Daemon, hop: u8) -> Result<(), Failed> {
        for (family, networks) in ["ip", "ip6"].iter().zip(&self.networks) {
            for (address, length) in networks.iter().step_by((networks.len() / SAMPLES).max(1)) {
                let shown = daemon.command(&format!("show {family} fib {address}/{length}"))?;
                let expected = if *family == "ip" { format!("10.1.0.{hop}") } else { format!("fd00:1::{hop}") };
                if !shown.contains(&expected) {
                    return Err(format!("{address}/{length} is not by {expected}: {shown}").into());
                }
            }
        }
        Ok(())
    }
    fn configure(&self, hop: u8, share: usize) -> Result<(), Failed> {
        for (family, networks) in ["4", "6"].iter().zip(&self.networks) {
            let mut text = String::new();
            for (address, length) in networks.iter().take(networks.len() / share) {
                writeln!(text, "route {address}/{length} blackhole;")?;
            }
            fs::write(format!("/run/networks{family}.conf"), text)?;
        }
        // What includes stands on a line of its own.
        let text = format!(
            "log stderr all;
             router id 192.0.2.1;
             protocol device {{}}
             protocol static networks4 {{
               ipv4;
             include \"/run/networks4.conf\";
             }}
             protocol static networks6 {{
               ipv6;
             include \"/run/networks6.conf\";
             }}
             protocol bgp feeder {{
               local 127.0.0.1 as 65001;
               neighbor 127.0.0.2 port 1790 as 65002;
               multihop;
               connect delay time 1;
               connect retry time 1;
               ipv4 {{ import none; export filter {{ bgp_next_hop = 10.1.0.{hop}; accept; }}; }};
               ipv6 {{ import none; export filter {{ bgp_next_hop = fd00:1::{hop}; accept; }}; }};
             }}
            "
        );
        Ok(fs::write(CONFIGURATION, text)?)
    }
}

/// As many networks, each once, always the same ones, in no order.
fn networks(count: usize, mut draw: impl FnMut(&mut Rng) -> (IpAddr, u8)) -> Vec<(IpAddr, u8)> {
    let mut rng = Rng::with_seed(7);
    let (mut seen, mut networks) = (BTreeSet::new(), vec![]);
    while networks.len() < count {
        let network = draw(&mut rng);
        if seen.insert(network) {
            networks.push(network);
        }
    }
    networks
}

fn length(rng: &mut Rng, lengths: &[(u8, u8)]) -> u8 {
    let lot = rng.u8(..100);
    lengths.iter().find(|(_, below)| lot < *below).map_or(24, |(length, _)| *length)
}

fn network4(rng: &mut Rng) -> (IpAddr, u8) {
    let length = length(rng, &LENGTHS4);
    // Neither ours nor the streams'.
    let first = loop {
        let first = rng.u32(1..224);
        if ![10, 48, 127].contains(&first) {
            break first;
        }
    };
    let bits = (first << 24 | rng.u32(..1 << 24)) & (u32::MAX << (32 - length));
    (Ipv4Addr::from(bits).into(), length)
}

fn network6(rng: &mut Rng) -> (IpAddr, u8) {
    let length = length(rng, &LENGTHS6);
    let first = NETWORKS6[rng.usize(..NETWORKS6.len())] | rng.u16(..0x100);
    let bits = (u128::from(first) << 112 | rng.u128(..1 << 112)) & (u128::MAX << (128 - length));
    (Ipv6Addr::from(bits).into(), length)
}
