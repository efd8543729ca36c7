//! Which worker keeps the parts of a packet, and how it is told apart from others.

use std::hash::{DefaultHasher, Hash, Hasher};

use quiver_ip::Ingress;
use quiver_wire::{Header, IpFamily, IpHeader};

use crate::family::{Part, Reassembled};

/// Key of a packet's fragments: the table of the receiving interface, and header fields that all fragments share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key<F: IpFamily> {
    table: u32,
    source: F::Address,
    destination: F::Address,
    identification: u32,
    protocol: u8,
}

impl<F: IpFamily> Hash for Key<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Few large words: each one costs the hasher the same.
        let (from, to) = (F::to_bits(self.source), F::to_bits(self.destination));
        if F::ADDRESS_BITS <= 64 {
            state.write_u128(from << 64 | to);
        } else {
            state.write_u128(from);
            state.write_u128(to);
        }
        // Tables have numbers of 16 bits.
        state.write_u64(u64::from(self.identification) << 32 | u64::from(self.table) << 8 | u64::from(self.protocol));
    }
}

/// The key of a fragment that an interface received.
pub(crate) fn key<F: Reassembled>(ingress: &Ingress<F>, rx: u32, packet: &[u8], part: &Part<'_>) -> Option<Key<F>> {
    let (ip, _) = F::Header::parse(packet)?;
    let table = ingress.slot(rx);
    let (source, destination) = (ip.source(), ip.destination());
    Some(Key { table, source, destination, identification: part.identification, protocol: part.protocol })
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
