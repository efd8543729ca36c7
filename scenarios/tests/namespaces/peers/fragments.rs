//! Random and hostile fragments of echo requests, for us and for the kernel: who answers, and what.
//!
//! Both hosts have the same addresses and get the same frames: ours at pg1, the kernel's behind tap0, which is cross-connected
//! with pg0. Parts in any order and copies of them make the same answer. Parts that overlap end a packet (RFC 5722, 4; RFC 8200,
//! 4.5), and there we are stricter than Linux, but for the last two of these:
//!
//! - Linux takes a part for a copy that lies within what has come, whatever its bytes and its length; we do so only if it is one,
//!   byte for byte, since else two receivers that got the parts in other orders would see other packets.
//! - Linux forgets the packet that it gives up, so that its parts, if they all come once more, are one again; with us whatever
//!   comes of it for a minute is dropped, as RFC 5722 wants ("and any constituent fragments ... not yet received").
//! - A part with more behind it whose length is no multiple of eight is none (RFC 8200, 4.5): we drop it alone, and so does Linux
//!   of IPv6; of IPv4 Linux takes what fits, by which it may overlap another part. It gives the packet up then, or where nothing
//!   fits, and may make it of parts that come once more in other bytes, where we have those that came first.
//! - Parts of IPv4 that begin behind the first eight bytes are none with us, whatever they are parts of (RFC 1858 has it of TCP
//!   alone; VPP does as we do): there are none here.
//!
//! So but for those, whatever we answer Linux answers as well, in the same bytes; where it alone answers, some part overlapped
//! another.

use std::fs;
use std::time::{Duration, Instant};

use fastrand::Rng;
use libtest_mimic::Failed;
use quiver_netns::{Namespace, World};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

const CASES: u16 = 300;
/// Longest time for the kernel to answer a whole echo request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Mark in the sequence number that distinguishes the end of a case from its request.
const MARK: u16 = 0xffff;
const ETHERNET: usize = 14;

/// Differences between the families.
struct Family {
    name: &'static str,
    bits: u32,
    header: usize,
    /// An echo reply's type.
    reply: u8,
    ours: &'static str,
    theirs: &'static str,
}

const IP4: Family = Family { name: "ip4", bits: 24, header: 20, reply: 0, ours: "10.0.0.1", theirs: "10.0.0.2" };
const IP6: Family =
    Family { name: "ip6", bits: 64, header: 40, reply: 129, ours: "2001:db8::1", theirs: "2001:db8::2" };

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    offset: usize,
    more: bool,
    bytes: Vec<u8>,
}

impl Part {
    /// Whether what is behind it could not say where it is.
    fn is_ragged(&self) -> bool {
        self.more && !self.bytes.len().is_multiple_of(8)
    }
}

/// Treatment of a packet's fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// They come in any order, some twice.
    Shuffled,
    /// One is missing.
    Gap,
    /// Among them are some that overlap others, or say otherwise where the packet ends.
    Hostile,
}

pub fn ip4(world: &World) -> Result<(), Failed> {
    compare(world, &IP4)
}

pub fn ip6(world: &World) -> Result<(), Failed> {
    compare(world, &IP6)
}

impl Family {
    fn frame(&self, behind: &str) -> Result<Vec<u8>, Failed> {
        let Family { name, ours, theirs, .. } = self;
        let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {name} {theirs} > {ours} {behind}");
        Ok(text.parse::<Packet>().map_err(|error| format!("{text}: {error}"))?.to_bytes())
    }
    fn request(&self, id: u16, seq: u16, payload: &[u8]) -> Result<Vec<u8>, Failed> {
        let icmp = if self.header == 20 { "icmp" } else { "icmp6" };
        self.frame(&format!("/ {icmp} echo-request id {id} seq {seq} / hex {}", hex(payload)))
    }
    fn part(&self, id: u16, part: &Part) -> Result<Vec<u8>, Failed> {
        let Part { offset, more, bytes } = part;
        let bytes = hex(bytes);
        self.frame(&match self.header {
            20 => format!("id {id} {}offset {offset} protocol icmp / hex {bytes}", if *more { "mf " } else { "" }),
            _ => format!("/ frag offset {offset} {}id {id} next icmp6 / hex {bytes}", if *more { "more " } else { "" }),
        })
    }
    /// Id, sequence number and data of an echo reply.
    fn reply(&self, frame: &[u8]) -> Option<(u16, u16, Vec<u8>)> {
        let kind = if self.header == 20 { [8, 0] } else { [0x86, 0xdd] };
        let message = frame.get(ETHERNET + self.header..).filter(|_| frame[12..14] == kind)?;
        let protocol = *frame.get(ETHERNET + if self.header == 20 { 9 } else { 6 })?;
        let &[kind, 0, _, _, a, b, c, d, ref payload @ ..] = message else { return None };
        let is_reply = kind == self.reply && matches!(protocol, 1 | 58);
        is_reply.then(|| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]), payload.to_vec()))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Cuts a message, and does something to its parts.
fn parts(rng: &mut Rng, kind: Kind, message: &[u8]) -> Vec<Part> {
    let (mut parts, mut at) = (vec![], 0);
    while at < message.len() {
        let units = if at == 0 { rng.usize(2..=12) } else { rng.usize(1..=12) };
        let end = (at + 8 * units).min(message.len());
        parts.push(Part { offset: at, more: end < message.len(), bytes: message[at..end].to_vec() });
        at = end;
    }
    match kind {
        Kind::Shuffled => {
            for _ in 0..rng.usize(..4) {
                parts.push(parts[rng.usize(..parts.len())].clone());
            }
        }
        Kind::Gap => _ = parts.remove(rng.usize(..parts.len())),
        Kind::Hostile => {
            for _ in 0..rng.usize(1..4) {
                parts.push(hostile(rng, message, &parts));
            }
        }
    }
    rng.shuffle(&mut parts);
    parts
}

/// A part that may overlap others, repeat them in part or in other words, or end elsewhere.
fn hostile(rng: &mut Rng, message: &[u8], parts: &[Part]) -> Part {
    let units = message.len() / 8;
    let mut part = match rng.u8(..4) {
        // Another cut of the same message.
        0 | 1 => {
            let start = rng.usize(..units);
            let end = rng.usize(start + 1..=units);
            Part { offset: start * 8, more: true, bytes: message[start * 8..end * 8].to_vec() }
        }
        // One that is there, the other way round.
        2 => {
            let mut part = parts[rng.usize(..parts.len())].clone();
            // Checksums do not see it: they are sums of such words.
            part.bytes.as_chunks_mut::<2>().0.reverse();
            part
        }
        // One that is there, shorter or longer.
        _ => {
            let mut part = parts[rng.usize(..parts.len())].clone();
            let length = rng.usize(1..=part.bytes.len() + 16);
            part.bytes.resize(length, 0xee);
            part
        }
    };
    if rng.u8(..8) == 0 {
        part.more = !part.more;
    }
    part
}

/// Whether each byte of an answer's payload came in its place in some part. The header of ICMP, of eight bytes, stands before it.
fn is_made_of(payload: &[u8], parts: &[Part]) -> bool {
    let came =
        |at: usize, byte: u8| parts.iter().any(|part| part.bytes.get(at.wrapping_sub(part.offset)) == Some(&byte));
    (8..).zip(payload).all(|(at, byte)| came(at, *byte))
}

/// Whether some part overlaps another one of which it is no copy, or they do not agree about the end.
fn is_contradictory(parts: &[Part]) -> bool {
    parts.iter().enumerate().any(|(n, one)| {
        parts[..n].iter().any(|other| {
            let [end, others] = [one, other].map(|part| part.offset + part.bytes.len());
            let overlap = one.offset < others && other.offset < end;
            let contradicts = |one: &Part, end: usize, others: usize| !one.more && others > end;
            one != other && (overlap || contradicts(one, end, others) || contradicts(other, others, end))
        })
    })
}

/// Both receivers.
struct Both<'f> {
    family: &'f Family,
    daemon: Daemon,
    kernel: Namespace,
}

/// Echo replies with one id: sequence number and data of each.
type Answers = Vec<(u16, Vec<u8>)>;

impl Both<'_> {
    fn new<'f>(world: &World, family: &'f Family) -> Result<Both<'f>, Failed> {
        let Family { name, bits, ours, theirs, .. } = family;
        let host = format!("parts-{name}");
        let kernel = Namespace::add(world, &host)?;
        let mut daemon = Daemon::new(ROOMS, Setup::default())?;
        daemon.configure(&format!(
            "create packet-generator interface pg0
             create packet-generator interface pg1 hw-addr 02:00:00:00:00:a0
             create tap id 0 host-ns {host} host-if-name eth0 host-mac-addr 02:00:00:00:00:a0
             set interface state pg0 up
             set interface state pg1 up
             set interface state tap0 up
             set interface l2 xconnect pg0 tap0
             set interface l2 xconnect tap0 pg0
             set interface ip address pg1 {ours}/{bits}
             ip neighbor pg1 {theirs} 02:00:00:00:00:02 static"
        ));
        kernel.ip("link set eth0 up mtu 1500")?;
        let nodad = if *bits == 64 { "nodad" } else { "" };
        kernel.ip(&format!("addr add {ours}/{bits} dev eth0 {nodad}"))?;
        kernel.ip(&format!("neigh add {theirs} lladdr 02:00:00:00:00:02 dev eth0 nud permanent"))?;
        // However many packets of this sender come between the parts of one.
        kernel.within(|| fs::write("/proc/sys/net/ipv4/ipfrag_max_dist", "0"))??;
        daemon.advance(Duration::from_secs(1))?;
        Ok(Both { family, daemon, kernel })
    }
    /// Sends frames, and then a whole request by whose answers the kernel tells that it is done. What we and it answered.
    fn answers(&mut self, id: u16, frames: &[Vec<u8>]) -> Result<[Answers; 2], Failed> {
        let mark = self.family.request(MARK, id, &[1; 16])?;
        for frame in frames.iter().chain([&mark]) {
            for interface in ["pg1", "pg0"] {
                self.daemon.send(interface, frame)?;
                self.daemon.settle()?;
            }
        }
        let (start, mut answers, mut is_done) = (Instant::now(), [vec![], vec![]], [false; 2]);
        while is_done != [true; 2] {
            for (interface, frame) in self.daemon.sent() {
                let who = usize::from(interface == "pg0");
                match self.family.reply(&frame) {
                    Some((MARK, seq, _)) if seq == id => is_done[who] = true,
                    Some((of, seq, payload)) if of == id => answers[who].push((seq, payload)),
                    _ => {}
                }
            }
            if start.elapsed() > PATIENCE {
                let links = self.kernel.ip("-s link show eth0")?;
                return Err(format!(
                    "no answer of {} to a whole request: {links}",
                    if is_done[0] { "Linux" } else { "ours" }
                )
                .into());
            }
            self.daemon.settle()?;
        }
        Ok(answers)
    }
}

fn compare(world: &World, family: &Family) -> Result<(), Failed> {
    let mut both = Both::new(world, family)?;
    let seed = fastrand::u64(..);
    let mut rng = Rng::with_seed(seed);
    let (mut same, mut none, mut kernels, mut ours_alone, mut others) = (0, 0, 0, 0, 0);
    for id in 1..=CASES {
        let kind = *rng.choice([Kind::Shuffled, Kind::Gap, Kind::Hostile, Kind::Hostile].iter()).unwrap_or(&Kind::Gap);
        let payload: Vec<u8> = (0..rng.usize(24..1200)).map(|_| rng.u8(..)).collect();
        let whole = family.request(id, 7, &payload)?;
        let mut parts = parts(&mut rng, kind, &whole[ETHERNET + family.header..]);
        parts.retain(|part| part.offset != 8 || family.header != 20);
        let frames = parts.iter().map(|part| family.part(id, part)).collect::<Result<Vec<_>, _>>()?;
        let [ours, linux] = both.answers(id, &frames)?;
        let told = || -> Failed {
            let order: Vec<_> = parts.iter().map(|part| (part.offset, part.bytes.len(), part.more)).collect();
            format!("seed {seed}, case {id}, {kind:?}: {order:?}: we answer {ours:?}, Linux {linux:?}").into()
        };
        match kind {
            // A packet of one part is one as often as it comes.
            Kind::Shuffled if ours.is_empty() || ours.iter().any(|(seq, bytes)| (*seq, bytes) != (7, &payload)) => {
                return Err(told());
            }
            Kind::Gap if !ours.is_empty() => return Err(told()),
            _ => {}
        }
        match (ours.is_empty(), linux.is_empty()) {
            (true, true) => none += 1,
            (false, _) if ours == linux => same += 1,
            (false, true) if family.header == 20 && parts.iter().any(Part::is_ragged) => ours_alone += 1,
            (false, false)
                if family.header == 20
                    && parts.iter().any(Part::is_ragged)
                    && is_contradictory(&parts)
                    && ours.iter().chain(&linux).all(|(_, payload)| is_made_of(payload, &parts)) =>
            {
                others += 1
            }
            (true, false) if is_contradictory(&parts) => kernels += 1,
            _ => return Err(told()),
        }
    }
    println!(
        "{}: of {CASES} packets {same} are answered by both, {others} by both in other bytes, {none} by none, {kernels} by Linux \
         alone, {ours_alone} by us alone",
        family.name
    );
    assert!(same > CASES / 8 && none > CASES / 8 && kernels > 0, "seed {seed}: {same} {none} {kernels}");
    Ok(both.daemon.finish()?)
}
