//! Signals: that a packet came which a route wants to be told of. Workers send one for each interface of a route; the next one
//! goes when that has been read.

use std::sync::atomic::Ordering::Relaxed;

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_interface::InterfaceId;
use quiver_wire::{V4, V6};

use crate::family::Multicast;
use crate::table::{Key, Mfib};

/// Signals that wait to be read at most; for the others, packets come again.
pub(crate) const SIGNALS: usize = 4096;

/// A packet came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Serial number of the route.
    pub serial: u64,
    /// The interface.
    pub interface: u32,
    /// Its first bytes, from the IP header on; none if they are not wanted.
    pub packet: Vec<u8>,
}

impl Signal {
    /// Bytes of a packet that are kept.
    pub const PACKET_MAX: usize = 256;
}

/// The signals that were not read yet.
pub(crate) struct Signals(pub Inbox<Signal>);

/// The route of a signal.
pub(crate) enum Route {
    V4(Key<V4>),
    V6(Key<V6>),
}

/// Reads all signals, the last one first, as VPP's clients know it. Those of routes and interfaces that are no more are gone.
pub(crate) fn read(control: &Control) -> Vec<(Route, InterfaceId, Vec<u8>)> {
    let mut waiting: Vec<Signal> = control.room::<Signals>().0.waiting().collect();
    waiting.reverse();
    let (mfib4, mfib6) = (control.room::<Mfib<V4>>(), control.room::<Mfib<V6>>());
    let route = |signal: &Signal| {
        let of_v4 = acknowledge(&mfib4, signal).map(Route::V4);
        of_v4.or_else(|| acknowledge(&mfib6, signal).map(Route::V6))
    };
    let told = |signal: Signal| Some((route(&signal)?, InterfaceId(signal.interface), signal.packet));
    waiting.into_iter().filter_map(told).collect()
}

/// Lets the next signal come; the route of this one.
fn acknowledge<F: Multicast>(mfib: &Mfib<F>, signal: &Signal) -> Option<Key<F>> {
    let (key, entry) = mfib.of_serial(signal.serial)?;
    entry.port(signal.interface)?.signalled.store(false, Relaxed);
    Some(key)
}
