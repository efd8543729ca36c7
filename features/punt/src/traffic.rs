//! Punted packets: those of protocols and ports, and those that no node takes.

use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;

use quiver_control::{Change, Control, Object, ObjectError, behind, one_by_one};
use quiver_engine::{Domain, Paged, Publisher, Snapshot};
use quiver_wire::{IpProtocol, V4, V6};

use crate::delivery::{check_socket, is_programs};
use crate::family::Punted;
use crate::reason::{PuntReason, Reason};

/// Punting of local packets: those of a protocol that Quiver does not implement, or to a port without a listener.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::PUNTS)]
pub struct Punt<F: Punted> {
    /// IP protocol number, such as 17 for UDP.
    #[key]
    pub protocol: u8,
    /// Destination port of UDP or TCP; 0 selects all ports, and is used for other protocols.
    #[key]
    #[default(0)]
    pub port: u16,
    /// Path of a program's datagram socket that receives the packets as whole frames. Without it, the punt redirect
    /// of their interface applies.
    pub socket: Option<String>,
    /// Protocols of the same number of two families are two.
    pub family: PhantomData<F>,
}

/// Receiver of punted packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// The feature arc of punted packets.
    Arc,
    /// A program.
    Socket,
}

impl Taker {
    /// The receiver for an object with or without the path of a socket.
    pub(crate) fn of(socket: Option<&str>) -> Taker {
        if socket.is_some() { Taker::Socket } else { Taker::Arc }
    }
}

/// A protocol and a port; see [`Punt`].
pub type Key = (u8, u16);

/// Receivers by protocol and port. A change copies one page, regardless of their number.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    /// By protocol, by port of UDP, by port of TCP.
    takers: [Paged<Option<Taker>>; 3],
    count: usize,
}

impl Configured {
    /// The receiver of packets of a protocol and port.
    pub fn get(&self, key: Key) -> Option<Taker> {
        let (of, row) = place(key)?;
        *self.takers[of].get(row)?
    }
    /// Sets the receiver.
    pub(crate) fn set(&mut self, key: Key, taker: Option<Taker>) {
        let Some((of, row)) = place(key) else { return };
        let before = std::mem::replace(self.takers[of].get_mut(row), taker);
        self.count = self.count + usize::from(taker.is_some()) - usize::from(before.is_some());
    }
    /// Whether nobody takes any.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Where it stands who takes packets of a protocol and port: in which table, and in which row.
fn place((protocol, port): Key) -> Option<(usize, usize)> {
    match (IpProtocol(protocol), port) {
        (_, 0) => Some((0, protocol.into())),
        (IpProtocol::UDP, _) => Some((1, port.into())),
        (IpProtocol::TCP, _) => Some((2, port.into())),
        // No packet of another one has a port.
        _ => None,
    }
}

/// All punted packets and their receivers.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// By protocol and port.
    pub configured: Configured,
    /// By the reason why no node takes the packets.
    pub reasons: BTreeMap<Reason, Taker>,
    /// Whether packets of all unknown protocols are punted.
    pub unspoken: bool,
}

quiver_control::choice! {
    /// Action for local packets of unknown protocols.
    pub enum Unspoken {
        /// An ICMP error is sent (RFC 1122, 3.2.2.1; RFC 8200, 4).
        Tell = "tell",
        /// Packets are punted, and no ICMP error is sent.
        Punt = "punt",
    } as "unspoken", "tell or punt";
}

/// Sets the action for local packets of unknown protocols, for both families.
pub fn set_unspoken(control: &Control, unspoken: Unspoken) {
    let punted = unspoken == Unspoken::Punt;
    let set = |taken: &Taken| Taken { unspoken: punted, ..taken.clone() };
    control.room_mut::<Punts<V4>>().update(set);
    control.room_mut::<Punts<V6>>().update(set);
}

/// Protocols and ports in the order in which they were configured.
#[derive(Debug, Default)]
struct Order {
    keys: BTreeMap<u64, Key>,
    /// The place of each in it.
    places: HashMap<Key, u64>,
    next: u64,
}

impl Order {
    /// Puts one behind all others, unless it is there already.
    fn add(&mut self, key: Key) {
        let Order { keys, places, next } = self;
        places.entry(key).or_insert_with(|| {
            let place = *next;
            keys.insert(place, key);
            *next += 1;
            place
        });
    }
    fn remove(&mut self, key: Key) {
        if let Some(place) = self.places.remove(&key) {
            self.keys.remove(&place);
        }
    }
}

/// Publisher of the punted packets and their receivers.
pub(crate) struct Punts<F: Punted> {
    taken: Publisher<Taken>,
    order: Order,
    family: PhantomData<F>,
}

impl<F: Punted> Punts<F> {
    pub fn new(domain: &Domain) -> Punts<F> {
        Punts { taken: Publisher::new(domain, Taken::default()), order: Order::default(), family: PhantomData }
    }
    pub fn taken(&self) -> Snapshot<Taken> {
        self.taken.snapshot()
    }
    /// Publishes what becomes of it.
    pub fn update(&mut self, change: impl FnOnce(&Taken) -> Taken) {
        self.taken.update(change);
    }
    /// Protocols and ports in the order in which they were configured, one by one.
    pub fn walk(control: &Control) -> impl Iterator<Item = Key> + use<F> {
        let control = control.clone();
        one_by_one(move |last| behind(&control.room::<Punts<F>>().order.keys, last).map(|(place, key)| (*place, *key)))
    }
    /// The same, as it was published last.
    pub fn current(&self) -> &Taken {
        self.taken.current()
    }
}

/// Checks a punt on its own, regardless of other objects.
pub(crate) fn check<F: Punted>(punt: &Punt<F>) -> Result<(), ObjectError> {
    let protocol = IpProtocol(punt.protocol);
    if punt.port != 0 && protocol != IpProtocol::UDP && protocol != IpProtocol::TCP {
        let what = format!("protocol {} has no ports", punt.protocol);
        return Err(ObjectError::field("port", what).remedy("leave it out, or name protocol 17 (UDP) or 6 (TCP)"));
    }
    check_socket(punt.socket.as_deref())
}

pub(crate) fn apply<F: Punted>(control: &Control, change: Change<'_, Punt<F>>) -> Result<(), ObjectError> {
    let (punt, is_wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    if is_wanted {
        is_programs(control, punt.socket.as_deref())?;
    }
    let (key, taker) = ((punt.protocol, punt.port), Taker::of(punt.socket.as_deref()));
    let mut punts = control.room_mut::<Punts<F>>();
    match is_wanted {
        true => punts.order.add(key),
        false => punts.order.remove(key),
    }
    punts.update(|taken| {
        let mut taken = taken.clone();
        taken.configured.set(key, is_wanted.then_some(taker));
        taken
    });
    Ok(())
}

/// Checks a punted reason on its own, regardless of other objects.
pub(crate) fn check_reason(punt: &PuntReason) -> Result<(), ObjectError> {
    check_socket(punt.socket.as_deref())
}

pub(crate) fn apply_reason(control: &Control, change: Change<'_, PuntReason>) -> Result<(), ObjectError> {
    let (punt, is_wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    if is_wanted {
        is_programs(control, punt.socket.as_deref())?;
    }
    let taker = is_wanted.then(|| Taker::of(punt.socket.as_deref()));
    match punt.reason.is_ip6() {
        false => set_reason::<V4>(control, punt.reason, taker),
        true => set_reason::<V6>(control, punt.reason, taker),
    }
    Ok(())
}

fn set_reason<F: Punted>(control: &Control, reason: Reason, taker: Option<Taker>) {
    control.room_mut::<Punts<F>>().update(|taken: &Taken| {
        let mut taken = taken.clone();
        match taker {
            Some(taker) => taken.reasons.insert(reason, taker),
            None => taken.reasons.remove(&reason),
        };
        taken
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of ports, of both protocols that have any, and all protocols.
    fn many() -> impl Iterator<Item = Key> {
        let ports = (1..=4000).flat_map(|port| [(IpProtocol::UDP.0, port * 16), (IpProtocol::TCP.0, port * 16 + 1)]);
        ports.chain((0..=u8::MAX).map(|protocol| (protocol, 0)))
    }

    /// Pages of which two hold different copies.
    fn differing(a: &Configured, b: &Configured) -> usize {
        let page = |taken: &Configured, of: usize, row| taken.takers[of].page(row).map(std::ptr::from_ref);
        let all = (0..3).flat_map(|of| (0..=u16::MAX).step_by(64).map(move |row| (of, usize::from(row))));
        let differ = all.filter(|(of, row)| page(a, *of, *row) != page(b, *of, *row));
        differ.map(|(of, row)| page(a, of, row)).collect::<std::collections::HashSet<_>>().len()
    }

    #[test]
    fn a_change_among_thousands_copies_one_page() {
        let mut taken = Configured::default();
        many().for_each(|key| taken.set(key, Some(Taker::Socket)));
        assert_eq!(taken.count, 2 * 4000 + 256);
        for key in many().step_by(101) {
            let before = taken.clone();
            taken.set(key, None);
            assert_eq!(differing(&before, &taken), 1, "{key:?}");
            assert_eq!((taken.get(key), before.get(key)), (None, Some(Taker::Socket)), "{key:?}");
        }
        many().for_each(|key| taken.set(key, None));
        assert!(taken.is_empty() && many().all(|key| taken.get(key).is_none()));
    }

    #[test]
    fn what_nobody_takes_or_has_no_ports_is_nobodys() {
        let mut taken = Configured::default();
        taken.set((1, 7), Some(Taker::Arc));
        assert!(taken.is_empty(), "ICMP has no ports");
        taken.set((IpProtocol::UDP.0, 7), Some(Taker::Arc));
        taken.set((IpProtocol::UDP.0, 7), Some(Taker::Socket));
        assert_eq!(taken.count, 1);
        let udp = [7, 8, 0].map(|port| taken.get((IpProtocol::UDP.0, port)));
        assert_eq!(udp, [Some(Taker::Socket), None, None]);
        assert_eq!([taken.get((IpProtocol::TCP.0, 7)), taken.get((7, 0))], [None, None]);
        taken.set((IpProtocol::TCP.0, 7), None);
        assert_eq!(taken.count, 1, "what is not there does not go");
    }

    #[test]
    fn the_order_is_that_of_coming_whatever_goes() {
        let (mut order, mut naive) = (Order::default(), vec![]);
        for (n, key) in many().enumerate() {
            order.add(key);
            naive.push(key);
            if n % 3 == 0 {
                // One from the middle goes, and perhaps comes again: behind all others.
                let gone = naive.remove(naive.len() / 2);
                order.remove(gone);
                if n % 2 == 0 {
                    order.add(gone);
                    naive.push(gone);
                }
            }
            order.add(naive[naive.len() / 2]);
        }
        assert_eq!(order.keys.values().copied().collect::<Vec<_>>(), naive);
        naive.iter().for_each(|key| order.remove(*key));
        assert!(order.keys.is_empty() && order.places.is_empty());
    }
}
