//! Which worker keeps the parts of a packet, and how it is told apart from others.

use std::hash::{DefaultHasher, Hash, Hasher};

use quiver_ip::Ingress;
use quiver_wire::{Header, IpFamily, IpHeader};

use crate::family::{Part, Reassembled};

/// What the parts of a packet have in common: the table of the interface that received them, and what they say.
pub(crate) type Key<F> = (u32, <F as IpFamily>::Address, <F as IpFamily>::Address, u32, u8);

/// The key of a fragment that an interface received.
pub(crate) fn key<F: Reassembled>(ingress: &Ingress<F>, rx: u16, packet: &[u8], part: &Part<'_>) -> Option<Key<F>> {
    let (ip, _) = F::Header::parse(packet)?;
    let table = ingress.word(rx.into()) & 0xffff;
    Some((table, ip.source(), ip.destination(), part.identification, part.protocol))
}

/// The worker that keeps the parts: the same for all of them, whoever receives them. Its choice is no secret: who floods it
/// fills one worker's limits instead of all workers'.
pub(crate) fn owner<F: Reassembled>(key: &Key<F>, workers: usize) -> usize {
    if workers < 2 {
        return 0;
    }
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    (hasher.finish() % workers as u64) as usize
}
