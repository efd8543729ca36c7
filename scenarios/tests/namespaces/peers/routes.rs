//! Random tables, in our FIB and in the kernel's: packets leave by the interface that the kernel names.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::process::Stdio;
use std::time::Duration;

use fastrand::Rng;
use libtest_mimic::Failed;
use quiver_netns::{Namespace, World};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

const ROUTES: usize = 1500;
/// Routes that come and go before destinations are asked once more.
const CHANGES: usize = 500;
const DESTINATIONS: usize = 1500;
/// Next hops, each on a link of its own.
const HOPS: usize = 8;
/// We send a hundred errors at once at most, and another each millisecond.
const ERROR_EVERY: Duration = Duration::from_millis(2);

/// Where a route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Hop(usize),
    /// Senders are told that there is no route: there is none, or one that says so.
    Unreachable,
    Prohibited,
    Dropped,
}

/// Differences between the families.
struct Family {
    name: &'static str,
    /// Bits of an address.
    bits: u32,
    /// The network of a link, and its addresses, of which the last is the neighbour.
    address: fn(usize, u32) -> String,
    length: u32,
    text: fn(u128) -> IpAddr,
    frame: fn(IpAddr) -> String,
    /// Words of commands.
    route: &'static str,
}

const IP4: Family = Family {
    name: "ip4",
    bits: 32,
    address: |link, host| format!("10.{}.0.{host}", 100 + link),
    length: 24,
    text: |bits| IpAddr::V4((bits as u32).into()),
    frame: |to| format!("ip4 10.100.0.2 > {to} ttl 9 / udp 1 > 2"),
    route: "-4",
};
const IP6: Family = Family {
    name: "ip6",
    bits: 128,
    address: |link, host| format!("fd00:{link}::{host}"),
    length: 64,
    text: |bits| IpAddr::V6(bits.into()),
    frame: |to| format!("ip6 fd00:0::2 > {to} hlim 9 / udp 1 > 2"),
    route: "-6",
};

pub fn ip4(world: &World) -> Result<(), Failed> {
    compare(world, &IP4)
}

pub fn ip6(world: &World) -> Result<(), Failed> {
    compare(world, &IP6)
}

type Table = BTreeMap<(u128, u32), Way>;

impl Family {
    fn mask(&self, length: u32) -> u128 {
        let all = u128::MAX >> (128 - self.bits);
        if length == 0 { 0 } else { all & (all << (self.bits - length)) }
    }
    /// An address that hosts have. Few networks, so that prefixes lie within each other.
    fn any(&self, rng: &mut Rng) -> u128 {
        let low = rng.u128(..) & rng.u128(..);
        match self.bits {
            32 => (u128::from(rng.u32(20..24)) << 24) | (low & 0x00ff_ffff),
            _ => (0x2001_0db8 << 96) | (low & (u128::MAX >> 32)),
        }
    }
    fn prefix(&self, rng: &mut Rng) -> (u128, u32) {
        let length = match self.bits {
            32 => rng.u32(6..=32),
            _ => *rng
                .choice([20, 32, 36, 40, 44, 47, 48, 49, 52, 56, 60, 63, 64, 65, 80, 96, 120, 127, 128].iter())
                .unwrap_or(&64),
        };
        (self.any(rng) & self.mask(length), length)
    }
    /// An address inside one of the routes, or beside it.
    fn destination(&self, rng: &mut Rng, table: &Table) -> u128 {
        let at = rng.usize(..table.len().max(1));
        match table.keys().nth(at) {
            Some((prefix, length)) if rng.u8(..8) > 0 => {
                let inside = prefix | (self.any(rng) & !self.mask(*length) & self.mask(self.bits));
                // A bit at the prefix's end decides.
                if rng.bool() && *length > 12 { inside ^ (1 << (self.bits - length)) } else { inside }
            }
            _ => self.any(rng),
        }
    }
    fn written(&self, (prefix, length): (u128, u32)) -> String {
        format!("{}/{length}", (self.text)(prefix))
    }
}

fn way(rng: &mut Rng) -> Way {
    match rng.u8(..16) {
        0 => Way::Unreachable,
        1 => Way::Prohibited,
        2 => Way::Dropped,
        _ => Way::Hop(rng.usize(..HOPS)),
    }
}

/// The kernel of a namespace, and the daemon, with the same links.
struct Both<'f> {
    family: &'f Family,
    daemon: Daemon,
    kernel: Namespace,
}

impl Both<'_> {
    fn new<'f>(world: &World, family: &'f Family) -> Result<Both<'f>, Failed> {
        let kernel = Namespace::add(world, &format!("kernel-{}", family.name))?;
        let mut daemon = Daemon::new(ROOMS, Setup::default())?;
        for link in 0..HOPS {
            let (ours, neighbour) = ((family.address)(link, 1), (family.address)(link, 2));
            let length = family.length;
            daemon.configure(&format!(
                "create packet-generator interface pg{link} hw-addr 02:00:00:00:00:{link:02x}
                 set interface state pg{link} up
                 set interface ip address pg{link} {ours}/{length}
                 ip neighbor pg{link} {neighbour} 02:00:00:00:01:{link:02x} static"
            ));
            kernel.ip(&format!("link add v{link} type veth peer name w{link}"))?;
            kernel.ip(&format!("link set w{link} up"))?;
            kernel.ip(&format!("link set v{link} up"))?;
            let nodad = if family.bits == 128 { "nodad" } else { "" };
            kernel.ip(&format!("addr add {ours}/{length} dev v{link} {nodad}"))?;
        }
        Ok(Both { family, daemon, kernel })
    }
    /// `ip` with many lines; what it says, and of lines that fail what.
    fn batch(&self, lines: &str) -> Result<(String, String), Failed> {
        let mut command = self.kernel.command("ip");
        let command = command.args([self.family.route, "-force", "-batch", "-"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut input = child.stdin.take().ok_or("no input")?;
        let output = std::thread::scope(|scope| {
            scope.spawn(move || input.write_all(lines.as_bytes()));
            child.wait_with_output()
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    }
    /// Adds routes to both, or takes them from both.
    fn change<'t>(
        &mut self,
        add: bool,
        routes: impl Iterator<Item = (&'t (u128, u32), &'t Way)>,
    ) -> Result<(), Failed> {
        let (mut lines, family) = (String::new(), self.family);
        for (prefix, way) in routes {
            let prefix = family.written(*prefix);
            let verb = if add { "add" } else { "del" };
            let (kind, kernels, ours) = match way {
                Way::Hop(link) => {
                    let hop = (family.address)(*link, 2);
                    ("", format!("via {hop} dev v{link}"), format!("via {hop} pg{link}"))
                }
                Way::Unreachable => ("unreachable", String::new(), "via null-send-unreach".into()),
                Way::Prohibited => ("prohibit", String::new(), "via null-send-prohibit".into()),
                Way::Dropped => ("blackhole", String::new(), "via drop".into()),
            };
            lines += &format!("route {verb} {kind} {prefix} {kernels}\n");
            self.daemon.configure(&format!("ip route {verb} {prefix} {ours}"));
        }
        match self.batch(&lines)? {
            (_, errors) if !errors.is_empty() => Err(format!("the kernel refuses: {errors}").into()),
            _ => Ok(()),
        }
    }
    /// Asks the kernel for the routes to destinations.
    fn kernels(&self, to: &[u128]) -> Result<Vec<Way>, Failed> {
        let lines: String = to.iter().map(|to| format!("route get {}\n", (self.family.text)(*to))).collect();
        let (answers, errors) = self.batch(&lines)?;
        // A failure is a line that says why, and then one with the number of the question.
        let mut failed = BTreeMap::new();
        let mut why = Way::Unreachable;
        for line in errors.lines() {
            match line.strip_prefix("Command failed -:") {
                Some(number) => _ = failed.insert(number.parse::<usize>()?, why),
                None => {
                    why = match line.trim_start_matches("RTNETLINK answers: ") {
                        "Network is unreachable" | "No route to host" => Way::Unreachable,
                        "Permission denied" => Way::Prohibited,
                        "Invalid argument" => Way::Dropped,
                        other => return Err(format!("the kernel says: {other}").into()),
                    }
                }
            }
        }
        let mut answers = answers.lines().filter(|line| line.contains(" dev ") || line.contains("cache"));
        let mut answers = std::iter::from_fn(|| answers.by_ref().find(|line| line.contains(" dev ")));
        (0..to.len())
            .map(|number| match failed.get(&(number + 1)) {
                Some(way) => Ok(*way),
                None => {
                    let line = answers.next().ok_or("too few answers")?;
                    let shown = (self.family.text)(to[number]).to_string();
                    let link = line.split(" dev v").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
                    match link {
                        Some(link) if line.contains(&shown) => Ok(Way::Hop(link)),
                        _ => Err(format!("{shown}: {line}").into()),
                    }
                }
            })
            .collect()
    }
    /// Sends a packet to a destination through quiverd, and returns its path.
    fn ours(&mut self, to: u128) -> Result<Way, Failed> {
        let to = (self.family.text)(to);
        let text = format!("eth 02:00:00:00:01:00 > 02:00:00:00:00:00 / {} / payload 18", (self.family.frame)(to));
        let frame = text.parse::<Packet>().map_err(|error| format!("{text}: {error}"))?.to_bytes();
        self.daemon.send("pg0", &frame)?;
        self.daemon.settle()?;
        let sent = self.daemon.sent();
        let [(interface, frame)] = &sent[..] else {
            return if sent.is_empty() { Ok(Way::Dropped) } else { Err(format!("{to}: {sent:?}").into()) };
        };
        let said = Packet::dissect(frame).to_string();
        if !said.contains("unreachable") {
            return Ok(Way::Hop(interface.trim_start_matches("pg").parse()?));
        }
        self.daemon.advance(ERROR_EVERY)?;
        // That the host is administratively prohibited (RFC 1812, 5.2.7.1; RFC 4443, 3.1).
        let prohibited = if self.family.bits == 32 { "unreachable code 10 " } else { "unreachable code 1 " };
        Ok(if said.contains(prohibited) { Way::Prohibited } else { Way::Unreachable })
    }
    fn agree(&mut self, rng: &mut Rng, table: &Table) -> Result<[usize; 4], Failed> {
        let destinations: Vec<u128> = (0..DESTINATIONS).map(|_| self.family.destination(rng, table)).collect();
        let kernels = self.kernels(&destinations)?;
        let mut seen = [0; 4];
        for (to, kernels) in destinations.into_iter().zip(kernels) {
            let ours = self.ours(to)?;
            if ours != kernels {
                return Err(format!("{}: the kernel says {kernels:?}, we do {ours:?}", (self.family.text)(to)).into());
            }
            seen[match ours {
                Way::Hop(_) => 0,
                Way::Unreachable => 1,
                Way::Prohibited => 2,
                Way::Dropped => 3,
            }] += 1;
        }
        Ok(seen)
    }
}

fn compare(world: &World, family: &Family) -> Result<(), Failed> {
    let mut both = Both::new(world, family)?;
    let seed = fastrand::u64(..);
    let mut rng = Rng::with_seed(seed);
    let with_seed = |error: Failed| format!("seed {seed}: {}", error.message().unwrap_or_default());
    let mut table = Table::new();
    while table.len() < ROUTES {
        table.insert(family.prefix(&mut rng), way(&mut rng));
    }
    both.change(true, table.iter()).map_err(with_seed)?;
    both.daemon.advance(Duration::from_secs(1))?;
    both.daemon.sent();
    for round in 0..2 {
        let seen = both.agree(&mut rng, &table).map_err(with_seed)?;
        println!("{}: {seen:?} of {DESTINATIONS} go by a hop, are unreachable, prohibited, dropped", family.name);
        assert!(seen.iter().all(|seen| *seen > 0), "seed {seed}: {seen:?}");
        if round == 0 {
            let gone: Table = rng.choose_multiple(table.clone(), CHANGES).into_iter().collect();
            both.change(false, gone.iter()).map_err(with_seed)?;
            table.retain(|prefix, _| !gone.contains_key(prefix));
            let mut come: Table = (0..CHANGES).map(|_| (family.prefix(&mut rng), way(&mut rng))).collect();
            // Some of them lead elsewhere now.
            come.extend(gone.into_keys().take(CHANGES / 2).map(|prefix| (prefix, way(&mut rng))));
            come.entry((0, 0)).or_insert(Way::Hop(3));
            come.retain(|prefix, _| !table.contains_key(prefix));
            both.change(true, come.iter()).map_err(with_seed)?;
            table.extend(come);
        }
    }
    Ok(both.daemon.finish()?)
}
