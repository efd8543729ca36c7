//! Whether packets are for a single host is said of eight at once on the data path, and of one address by control: both are the
//! same, lane by lane, on every instruction set.

use crate::ends;

use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use quiver_control::Control;
use quiver_engine::{
    ArcSpec, Body, Columns, Dataplane, DataplaneError, FeatureSpec, Guard, Isa, Level, Mask8, NodeSpec, PacketLanes,
    Phase, Quarters, Stage, Windows, arcs,
};
use quiver_interface::Interfaces;
use quiver_ip::Family;
use quiver_ip::fib::Forwarding;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_wire::{V4, V6};

quiver_testkit::level_tests![lanes_agree_with_addresses];

arcs! {
    /// Where packets go.
    pub enum Next {
        Seen => drop "seen",
    }
}

/// The destination of a packet, and whether its lane was one for a host.
type Lane<F> = (<F as Forwarding>::Bits, bool);

/// Lanes that the stage has seen.
struct Seen<F: Family>(Arc<Mutex<Vec<Lane<F>>>>);

impl<F: Family> Clone for Seen<F> {
    fn clone(&self) -> Seen<F> {
        Seen(self.0.clone())
    }
}

/// A stage at the place where frames begin with the link's header, as the windows of layer 3 do.
#[derive(Clone)]
struct Look<F: Family>(Seen<F>, PhantomData<F>);

impl<F: Family> Stage for Look<F> {
    const NAME: &'static str = if F::VERSION == 4 { "look-at-ip4" } else { "look-at-ip6" };
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = Look<F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Look<F> {
        self.clone()
    }
}

impl<F: Family> Body for Look<F> {
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = F::HEADER;
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let (to, hosts) = (F::destinations(p), F::for_hosts(p).bits());
        let mut seen = self.0.0.lock().expect("nobody panics with it");
        for lane in p.live.bits() {
            seen.push((to[lane], hosts & Mask8(1 << lane) != Mask8(0)));
        }
    }
}

mod look {
    use super::*;

    pub fn register(control: &Control) -> Result<(), DataplaneError> {
        register_family::<V4>(control)?;
        register_family::<V6>(control)
    }
    fn register_family<F: Family>(control: &Control) -> Result<(), DataplaneError> {
        let seen = Seen::<F>(Arc::default());
        control.insert_room(seen.clone());
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        let stage = Look::<F>(seen, PhantomData);
        graph.node(NodeSpec::stage(move |_| stage.clone()))?;
        graph.feature(FeatureSpec::new("device-input", Look::<F>::NAME, Phase::Device))?;
        Ok(())
    }
}

/// Addresses at and around every bound, and any others: each with one bit set, one bit missing, and halves that say nothing.
fn addresses<F: Family>(r: &mut Rng) -> Vec<F::Address> {
    let bits = u32::from(F::ADDRESS_BITS);
    let all = u128::MAX >> (128 - bits);
    let first = |byte: u8| u128::from(byte) << (bits - 8);
    let mut found = vec![0, 1, 2, 3, all, all - 1];
    for byte in 0..=u8::MAX {
        found.extend([first(byte), first(byte) | 1, first(byte) | all >> 8, first(byte) | r.u128(..) & all >> 8]);
    }
    for bit in 0..bits {
        found.extend([1 << bit, all ^ 1 << bit, 1 | 1 << bit, r.u128(..) & all, r.u128(..) & ((1 << bit) - 1)]);
    }
    // Neighbors in the eight are not of one kind.
    r.shuffle(&mut found);
    found.into_iter().map(F::from_bits).collect()
}

/// Sends packets to all addresses, each made by `frame`.
fn agree<F: Family>(level: Level, frame: fn(&F::Address) -> Vec<u8>) {
    let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, look, quiver_pg];
    let mut daemon = Daemon::new(rooms, Setup { level, ..Setup::default() }).expect("the rooms fit");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         set interface state pg0 up",
    );
    let id = daemon.control().room::<Interfaces>().id_of("pg0").expect("created").0;
    let enabled = daemon.control().room_mut::<Dataplane>().enable("device-input", Look::<F>::NAME, id, true);
    enabled.expect("there is such a feature");
    let mut r = Rng::with_seed(3);
    let sent = addresses::<F>(&mut r);
    let mut rest = &sent[..];
    // Frames of any length, so that the last eight are often fewer.
    while !rest.is_empty() {
        let (now, later) = rest.split_at(r.usize(1..=256).min(rest.len()));
        now.iter().for_each(|to| daemon.send("pg0", &frame(to)).expect("it is up"));
        daemon.settle().expect("nothing circles");
        rest = later;
    }
    let seen = daemon.control().room::<Seen<F>>().0.lock().expect("nobody panicked").clone();
    assert_eq!(seen.len(), sent.len());
    for (to, (bits, is_for_host)) in sent.iter().zip(seen) {
        assert!(F::bits(*to) == bits, "{to}: it is the packet's");
        assert_eq!(is_for_host, F::is_host(*to), "{to}");
    }
    let hosts = sent.iter().filter(|to| F::is_host(**to)).count();
    assert!(hosts > 100 && sent.len() - hosts > 30, "{hosts} of {}", sent.len());
    daemon.finish().expect("nothing leaks");
}

fn lanes_agree_with_addresses(level: Level) {
    agree::<V4>(level, |to| {
        [&[2, 0, 0, 0, 0, 0xa0, 2, 0, 0, 0, 0, 2, 8, 0, 0x45][..], &[0; 15], &to.octets(), &[0; 26]].concat()
    });
    agree::<V6>(level, |to| {
        [&[2, 0, 0, 0, 0, 0xa0, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60][..], &[0; 23], &to.octets(), &[0; 6]].concat()
    });
}
