//! Common parts of the tests of tunnels.

use quiver_engine::isa::Kernel;
use quiver_engine::{Isa, LANES, Lanes, Level};
use quiver_tunnel::Kind;
use quiver_wire::Vni;

/// Bytes of a header that stages look at: two words.
pub type Words = [u8; 8];

/// The networks of eight headers by [`Kind::of_words`], as the code of a level reads them; None of a header that is not ordinary.
pub fn networks<K: Kind>(level: Level, headers: &[Words; LANES]) -> [Option<Vni>; LANES] {
    let mut found = [None; LANES];
    level.run(Read::<K> { headers, found: &mut found, kind: std::marker::PhantomData });
    found
}

struct Read<'t, K> {
    headers: &'t [Words; LANES],
    found: &'t mut [Option<Vni>; LANES],
    kind: std::marker::PhantomData<K>,
}

impl<K: Kind> Kernel for Read<'_, K> {
    fn run<I: Isa>(self, isa: I) {
        let word = |at: usize| {
            let words = self
                .headers
                .map(|header| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
            Lanes::new(isa, &words)
        };
        let (ordinary, networks) = K::of_words([word(0), word(4)]);
        let networks = networks.array();
        for lane in ordinary.bits() {
            self.found[lane] = Vni::new(networks[lane]);
        }
    }
}
