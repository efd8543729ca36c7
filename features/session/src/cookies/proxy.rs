//! State of sessions whose connections the router has opened itself: a line beside the record, which other sessions do not have.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use quiver_table::Cells;
use zerocopy::FromZeros;

use super::cookie::Offer;
use crate::record::OWNED_MAX;

/// Shift of the windows that clients are promised. That of the server is not known yet when they are.
pub(crate) const OWN_SCALE: u8 = 7;

/// A connection of two halves: that of the client, whose number of the server is the cookie, and that of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proxied {
    /// The cookie: the server's initial number, as the client knows it.
    pub cookie: u32,
    /// The client's initial number, which both ends know.
    pub initial: u32,
    /// Window of the client when it returned the cookie, as its header had it.
    pub window: u16,
    /// The server's half, once it has answered.
    pub server: Option<Server>,
}

/// The server's half of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// The server's initial number.
    pub initial: u32,
    /// Shift of its windows, if it scales them.
    pub scale: Option<u8>,
}

impl Proxied {
    /// The offer of the client.
    pub fn offer(&self) -> Offer {
        Offer::of_cookie(self.cookie)
    }
    /// Shift of the windows that the client was promised.
    pub fn own_scale(&self) -> u8 {
        if self.offer().scale.is_some() { OWN_SCALE } else { 0 }
    }
    /// The client's first window for the server, not scaled.
    pub fn first_window(&self) -> u16 {
        let window = u32::from(self.window) << self.offer().scale.unwrap_or_default();
        window.min(u16::MAX.into()) as u16
    }
}

/// The same in memory, of atomic words, as a record. It belongs to the session of a generation.
#[derive(Default, FromZeros)]
#[repr(C, align(32))]
pub(crate) struct Line {
    /// Cookie and the client's initial number.
    numbers: AtomicU64,
    /// The server's initial number 32 bits, the client's window 16, the server's shift 8, flags.
    server: AtomicU64,
    /// Generation, and whether there is one.
    of: AtomicU64,
    rest: [u8; 8],
}

const ANSWERED: u64 = 1 << 0;
const SCALED: u64 = 1 << 1;
const LIVE: u64 = 1 << 63;

impl Line {
    fn load(&self, generation: u32) -> Option<Proxied> {
        if self.of.load(Relaxed) != LIVE | u64::from(generation) {
            return None;
        }
        let (numbers, server) = (self.numbers.load(Relaxed), self.server.load(Relaxed));
        let scale = (server & SCALED != 0).then_some((server >> 8) as u8);
        let half = Server { initial: (server >> 32) as u32, scale };
        Some(Proxied {
            cookie: (numbers >> 32) as u32,
            initial: numbers as u32,
            window: (server >> 16) as u16,
            server: (server & ANSWERED != 0).then_some(half),
        })
    }
    fn store(&self, generation: u32, proxied: &Proxied) {
        self.numbers.store(u64::from(proxied.cookie) << 32 | u64::from(proxied.initial), Relaxed);
        let half = proxied.server.map_or(0, |Server { initial, scale }| {
            let scaled = scale.map_or(0, |scale| SCALED | u64::from(scale) << 8);
            ANSWERED | scaled | u64::from(initial) << 32
        });
        self.server.store(half | u64::from(proxied.window) << 16, Relaxed);
        self.of.store(LIVE | u64::from(generation), Relaxed);
    }
}

/// The lines of each worker, by the indexes of its records. They take memory as far as records of such sessions reach.
pub(crate) struct Proxies(Box<[Cells<Line>]>);

impl Proxies {
    /// None yet, of so many sessions of these workers at most.
    ///
    /// # Errors
    /// If the system refuses the address space.
    pub fn new((workers, sessions): (usize, usize)) -> io::Result<Proxies> {
        let most = (sessions * 2).min(OWNED_MAX);
        Ok(Proxies((0..workers).map(|_| Cells::reserve(most, true)).collect::<io::Result<_>>()?))
    }
    /// That of a worker's session with this generation.
    pub fn get(&self, worker: usize, (index, generation): (u32, u32)) -> Option<Proxied> {
        self.0.get(worker)?.get(index as usize)?.load(generation)
    }
    /// Sets it; for the worker. False if the system has no memory.
    pub fn set(&self, worker: usize, (index, generation): (u32, u32), proxied: &Proxied) -> bool {
        let line = self.0.get(worker).and_then(|lines| lines.obtain(index as usize));
        line.inspect(|line| line.store(generation, proxied)).is_some()
    }
    /// Bytes of all lines.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(Cells::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_connection_for_one_generation() {
        let proxies = Proxies::new((2, 8)).expect("there is address space");
        let asked = Proxied { cookie: u32::MAX - 7, initial: 9, window: u16::MAX, server: None };
        assert_eq!(proxies.get(1, (3, 0)), None);
        for server in [
            None,
            Some(Server { initial: u32::MAX, scale: None }),
            Some(Server { initial: 0, scale: Some(0) }),
            Some(Server { initial: 5, scale: Some(14) }),
        ] {
            let proxied = Proxied { server, ..asked };
            assert!(proxies.set(1, (3, 7), &proxied));
            assert_eq!(proxies.get(1, (3, 7)), Some(proxied));
            for other in [(1, (3, 8)), (1, (2, 7)), (0, (3, 7)), (2, (3, 7)), (1, (1 << 23, 7))] {
                assert_eq!(proxies.get(other.0, other.1), None, "{other:?}");
            }
        }
        assert!(!proxies.set(2, (3, 7), &asked) && !proxies.set(0, (16, 7), &asked));
    }

    #[test]
    fn the_first_window_is_that_of_the_client_or_the_largest() {
        let cookie = |scale: u32| scale << 1;
        let of = |scale, window| Proxied { cookie: cookie(scale), initial: 0, window, server: None };
        assert_eq!((of(7, 502).first_window(), of(7, 512).first_window()), (64256, u16::MAX));
        assert_eq!((of(15, 1000).first_window(), of(15, 1000).own_scale()), (1000, 0));
        assert_eq!((of(0, 1000).first_window(), of(0, 1000).own_scale()), (1000, OWN_SCALE));
    }
}
