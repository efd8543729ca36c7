//! The oracle: what became of every packet, and whether that may be.
//!
//! Every packet that a worker took off a ring comes out where the configuration says, whole and in its flow's order, or
//! it is dropped under a name. Nothing else may happen to it.

use std::collections::BTreeMap;

use crate::network::{Exit, Network, may_leave};
use crate::port;
use crate::run::Tunneled;
use crate::traffic::{self, Kind, Layer, Outer, PORTS, Part, port_mac};

/// The fate of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// It left by a port, as it was.
    Left(usize),
    /// It left by a port inside a tunnel's datagram; it may be there once more, in another one.
    Inside(usize, Outer),
    /// A node dropped it.
    Dropped(&'static str, &'static str),
}

struct Sent {
    kind: Kind,
    port: usize,
    bytes: Vec<u8>,
    /// The step in which it was sent.
    step: u64,
    taken: bool,
    fates: Vec<Disposition>,
    /// The fragments of it that have left, by where they belong: which bytes, and by which port.
    parts: BTreeMap<usize, (usize, usize)>,
    /// Whether one of them left in a tunnel's datagram that was fragmented itself: whether all of them leave cannot be told then.
    is_cut_twice: bool,
}

/// A packet that left. Whether it should have can be told only when it is known what was configured meanwhile.
struct Departure {
    number: u64,
    passage: Passage,
    out: usize,
    step: u64,
}

/// How a packet came through.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Passage {
    /// The tunnel's datagram that it was taken out of.
    taken_out_of: Option<Outer>,
    /// The tunnels whose datagrams contain it, the innermost first.
    tunnels: Vec<Outer>,
    /// Whether it was routed, so that there is one of it.
    is_routed: bool,
}

/// A version of the configuration, and the steps from which and until which a packet may have seen it.
struct Version {
    network: Network,
    from: u64,
    until: Option<u64>,
}

/// All packets, and all that was configured.
#[derive(Default)]
pub struct Dispositions {
    sent: Vec<Sent>,
    departures: Vec<Departure>,
    versions: Vec<Version>,
    /// When the oldest change began that workers may not have seen whole yet.
    changing: Option<u64>,
    /// Steps in which more may have held for a while than any version says: from, until.
    unknown: Vec<(u64, u64)>,
    /// The packet that left last, and when, by where it came in, its addresses and ports, and where it left.
    last: BTreeMap<(usize, Vec<u8>, usize), (u64, u64)>,
    /// Drops by node and reason.
    pub drops: BTreeMap<(&'static str, &'static str), u64>,
    /// Packets of peers that left.
    pub left: u64,
    /// Packets of IPv6 that left, and packets that left in fragments.
    pub left6: u64,
    /// See there.
    pub cut: u64,
    /// Packets that left inside tunnels' datagrams, or were taken out of one.
    pub tunneled: Tunneled,
    /// Packets that left while it was known what was configured, so that it could be told whether they might.
    pub judged: u64,
    /// Packets that left, by what the routes were that they met, and whether they were of IPv6.
    pub met: BTreeMap<(&'static str, bool), u64>,
    /// Packets taken off the rings, with buffer and without.
    pub taken: [u64; 2],
    /// Packets that the daemon put onto rings, its own ones included.
    pub transmitted: u64,
}

impl Dispositions {
    /// The number of the next packet.
    pub fn next(&self) -> u64 {
        self.sent.len() as u64
    }
    fn find(&mut self, bytes: &[u8]) -> Option<&mut Sent> {
        self.sent.get_mut(usize::try_from(traffic::number_of(bytes)?).ok()?)
    }
    /// Notes a packet that is about to be put onto a ring.
    pub fn sent(&mut self, kind: Kind, port: usize, bytes: Vec<u8>, step: u64) {
        self.sent.push(Sent {
            kind,
            port,
            bytes,
            step,
            taken: false,
            fates: vec![],
            parts: BTreeMap::new(),
            is_cut_twice: false,
        });
    }
    /// A worker took a packet; without a buffer for it, that was the end of it.
    pub fn taken(&mut self, bytes: &[u8], buffer: bool) {
        self.taken[usize::from(!buffer)] += 1;
        if let Some(sent) = self.find(bytes) {
            sent.taken = true;
            if !buffer {
                sent.fates.push(Disposition::Dropped("simulated-input", "no-buffer"));
            }
        }
    }
    /// A node dropped a packet.
    pub fn dropped(&mut self, bytes: &[u8], node: &'static str, reason: &'static str) {
        *self.drops.entry((node, reason)).or_default() += 1;
        // A message about a packet is not the packet.
        if traffic::is_icmp(bytes) {
            return;
        }
        // Of a packet that was cut every part has a fate of its own.
        let cut = || traffic::part_inside(bytes).and_then(|(part, _)| usize::try_from(part.number).ok());
        let number = traffic::number_of(bytes).and_then(|number| usize::try_from(number).ok()).or_else(cut);
        if let Some(sent) = number.and_then(|number| self.sent.get_mut(number)) {
            sent.fates.push(Disposition::Dropped(node, reason));
        }
    }
    /// A packet left by a port. The error says why it should not have.
    pub fn left(&mut self, name: &str, bytes: &[u8], step: u64) -> Result<(), String> {
        self.transmitted += 1;
        if let Some(damage) = traffic::damaged_outer(bytes) {
            return Err(format!("a datagram of a tunnel left by {name}: {damage}"));
        }
        if let (Some((part, Layer { tunnels, is_cut, .. })), Some(out)) =
            (traffic::part_inside(bytes), port::number(name).filter(|out| *out < PORTS))
            && let Some(sent) = self.sent.get_mut(part.number as usize)
            && traffic::part_of(&sent.bytes).is_none()
        {
            let passage = Passage { taken_out_of: None, tunnels, is_routed: true };
            return match part_left(sent, &part, out) {
                Err(wrong) => Err(format!("{} left by {name}: {wrong}", describe(part.number, sent))),
                // What follows of a tunnel's datagram that was fragmented does not say whose it is.
                Ok(is_last) if is_last || is_cut && !sent.is_cut_twice => {
                    sent.is_cut_twice |= is_cut;
                    self.departed(part.number, passage, out, step)
                }
                Ok(_) => Ok(()),
            };
        }
        let (Some(number), Some(out)) = (traffic::number_of(bytes), port::number(name)) else { return Ok(()) };
        if traffic::is_icmp(bytes) || out >= PORTS {
            return Ok(());
        }
        let Some(sent) = self.find(bytes) else {
            return Err(format!("packet {number}, which nobody sent, left by {name}"));
        };
        let wrong = |sent, wrong: &str| Err(format!("{} left by {name}: {wrong}", describe(number, sent)));
        if !sent.taken {
            return wrong(sent, "it had not come in yet");
        }
        let passage = match passage(sent, bytes, out) {
            Ok(passage) => passage,
            Err(what) => return wrong(sent, what),
        };
        // A routed packet is one packet; a switched one may be copied.
        if sent.fates.contains(&passage.fate(out)) || passage.is_routed && !sent.fates.is_empty() {
            return wrong(sent, &format!("this had become of it before: {:?}", sent.fates));
        }
        self.departed(number, passage, out, step)
    }
    /// A packet has left whole.
    fn departed(&mut self, number: u64, passage: Passage, out: usize, step: u64) -> Result<(), String> {
        let Some(sent) = self.sent.get_mut(number as usize) else { return Ok(()) };
        sent.fates.push(passage.fate(out));
        let is_inside = !passage.tunnels.is_empty();
        self.tunneled += Tunneled {
            into: is_inside.into(),
            routed: (is_inside && passage.is_routed).into(),
            deep: (passage.tunnels.len() > 1).into(),
            out_of: passage.taken_out_of.is_some().into(),
        };
        self.left += 1;
        self.left6 += u64::from(matches!(sent.kind, Kind::Routed(to) if to.is_ipv6()));
        self.cut += u64::from(!sent.parts.is_empty());
        self.departures.push(Departure { number, passage, out, step });
        if self.changing.is_none() { self.judge() } else { Ok(()) }
    }
    /// A change begins: what comes of it may be seen from now on.
    pub fn change_begins(&mut self, step: u64) {
        self.changing.get_or_insert(step);
    }
    /// Whether there is a change that workers may not have seen whole yet.
    pub fn is_changing(&self) -> bool {
        self.changing.is_some()
    }
    /// A change has been made.
    pub fn changed(&mut self, network: Network, step: u64) {
        let from = self.changing.unwrap_or(step);
        self.versions.push(Version { network, from, until: None });
    }
    /// A change under way is undone, or may be: more may hold for a while than is known.
    pub fn may_be_undone(&mut self, step: u64) {
        self.unknown.push((self.changing.unwrap_or(step), u64::MAX));
    }
    /// No change is under way, and all workers have seen the last one.
    pub fn settled(&mut self, step: u64) -> Result<(), String> {
        self.changing = None;
        if let Some((_, former)) = self.versions.split_last_mut() {
            former.iter_mut().for_each(|version| version.until = version.until.or(Some(step)));
        }
        self.unknown.iter_mut().for_each(|(_, until)| *until = step.min(*until));
        self.judge()
    }
    /// Whether the packets that left so far might.
    fn judge(&mut self) -> Result<(), String> {
        for departure in std::mem::take(&mut self.departures) {
            self.judge_one(&departure)?;
        }
        Ok(())
    }
    fn judge_one(&mut self, departure: &Departure) -> Result<(), String> {
        let Departure { number, ref passage, out, step } = *departure;
        let Passage { taken_out_of, tunnels, .. } = passage;
        let Some(sent) = self.sent.get(number as usize) else { return Ok(()) };
        let seen = |from: u64, until: u64| from <= step && until >= sent.step;
        if self.unknown.iter().any(|(from, until)| seen(*from, *until)) {
            return Ok(());
        }
        self.judged += 1;
        let versions = self.versions.iter().filter(|version| seen(version.from, version.until.unwrap_or(u64::MAX)));
        let mut versions: Vec<_> = versions.map(|version| &version.network).collect();
        // A change may end where it began: what is replaced goes, with all that refers to it, and comes back.
        let was_changing = versions.len() > 1;
        versions.dedup();
        let exit = Exit { taken_out_of: *taken_out_of, tunnels, out };
        if !may_leave(&versions, was_changing, sent.kind, sent.port, exit) {
            let described = describe(number, sent);
            return Err(format!(
                "{described} left by p{out}, {passage:?}: no configuration since it was sent leads there; these were there:\n{versions:#?}"
            ));
        }
        if let (Some(network), Kind::Routed(to)) = (versions.last(), sent.kind) {
            let kinds = network.kinds(sent.port, to, out);
            kinds.into_iter().for_each(|kind| *self.met.entry((kind, to.is_ipv6())).or_default() += 1);
        }
        // A broken packet's flow is whatever its readers take it for, and cross-connects are between ports.
        if sent.kind == Kind::Broken || exit.is_through_tunnels() {
            return Ok(());
        }
        // Addresses, protocol and ports; lengths and checksums differ.
        let (flow, overtaken) = ((sent.port, traffic::flow(&sent.bytes), out), (number, step));
        let Some((other, other_left)) = self.last.insert(flow, overtaken) else { return Ok(()) };
        let [network] = versions[..] else { return Ok(()) };
        if was_changing {
            return Ok(());
        }
        // Who waits for an address to be resolved may be overtaken, and so may who is flooded while others are not.
        if other > number && network.connects(sent.port, out) {
            let described = describe(number, sent);
            return Err(format!(
                "{described} left by p{out} after packet {other} of its flow, which left in step {other_left}"
            ));
        }
        Ok(())
    }
    /// Looks at the end whether something has become of every packet that was taken.
    pub fn all_accounted_for(&self) -> Result<(), String> {
        let lost = |(_, sent): &(usize, &Sent)| sent.taken && sent.fates.is_empty();
        let lost: Vec<_> = self.sent.iter().enumerate().filter(lost).collect();
        match lost.first() {
            Some((number, first)) => {
                Err(format!("{} packets vanished without a name; {}", lost.len(), describe(*number as u64, first)))
            }
            None => Ok(()),
        }
    }
}

impl Passage {
    fn fate(&self, out: usize) -> Disposition {
        self.tunnels.first().map_or(Disposition::Left(out), |outer| Disposition::Inside(out, *outer))
    }
}

/// How a packet came through that left in these bytes. The error says what is wrong with them.
fn passage(sent: &Sent, bytes: &[u8], out: usize) -> Result<Passage, &'static str> {
    let given = &sent.bytes[..];
    let inside = traffic::inside(given).filter(|inside| !inside.is_cut);
    let mut wrong = "it is not what was sent";
    for Layer { frame, is_cut, tunnels } in traffic::layers(bytes) {
        // Of a datagram that was fragmented the first part says what it is.
        let part = |of: &[u8]| if is_cut { of.len().min(frame.len()) } else { of.len() };
        if given[..part(given)] == *frame {
            return Ok(Passage { tunnels, ..Passage::default() });
        }
        if let Some(inside) = inside.filter(|inside| inside.frame[..part(inside.frame)] == *frame) {
            return Ok(Passage { taken_out_of: Some(inside.outer), tunnels, is_routed: false });
        }
        let sender = tunnels.is_empty().then(|| port_mac(out));
        match traffic::damage(sent.kind, &given[..part(given)], frame, sender) {
            None => return Ok(Passage { taken_out_of: None, tunnels, is_routed: true }),
            Some(damage) => wrong = damage,
        }
    }
    Err(wrong)
}

/// A fragment of a packet left. Whether it was the last that was missing; the error says what is wrong with it.
fn part_left(sent: &mut Sent, part: &Part, out: usize) -> Result<bool, String> {
    let (begin, end, whole) = (part.offset, part.offset + part.bytes.len(), traffic::carried(&sent.bytes));
    if !sent.taken {
        return Err("it had not come in yet".into());
    }
    if whole.get(begin..end) != Some(&part.bytes[..]) {
        return Err(format!("the bytes {begin} to {end} of its fragment are others"));
    }
    if sent.parts.values().any(|(_, by)| *by != out)
        || !sent.is_cut_twice
            && sent.fates.iter().any(|fate| matches!(fate, Disposition::Left(_) | Disposition::Inside(..)))
    {
        return Err(format!("parts of it left elsewhere: {:?}, {:?}", sent.parts, sent.fates));
    }
    if sent.parts.range(..end).next_back().is_some_and(|(_, (other, _))| *other > begin) {
        return Err(format!("the bytes {begin} to {end} of it left twice: {:?}", sent.parts));
    }
    sent.parts.insert(begin, (end, out));
    Ok(sent.parts.iter().map(|(begin, (end, _))| end - begin).sum::<usize>() == whole.len())
}

fn describe(number: u64, sent: &Sent) -> String {
    format!("packet {number} ({:?}, by p{} in step {})", sent.kind, sent.port, sent.step)
}
