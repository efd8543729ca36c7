//! Where sizes are clamped, and to what.

use std::marker::PhantomData;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Dataplane, Domain, Paged, Snapshot};
use quiver_interface::{ByInterface, InterfaceName, Interfaces};
use quiver_ip::Family;
use quiver_wire::{V4, V6};

/// A family whose connections can be clamped.
pub trait Clamped: Family {
    /// The kind of the clamps.
    const KIND: &'static str;
    /// The node for what is received.
    const IN: &'static str;
    /// The node for what is sent.
    const OUT: &'static str;
}

impl Clamped for V4 {
    const KIND: &'static str = "mss-clamps";
    const IN: &'static str = "tcp-mss-clamping-ip4-in";
    const OUT: &'static str = "tcp-mss-clamping-ip4-out";
}

impl Clamped for V6 {
    const KIND: &'static str = "ip6-mss-clamps";
    const IN: &'static str = "tcp-mss-clamping-ip6-in";
    const OUT: &'static str = "tcp-mss-clamping-ip6-out";
}

quiver_control::choice! {
    /// Which packets of an interface are seen to.
    pub enum Side {
        /// Those that it receives.
        Rx = "rx",
        /// Those that it sends.
        Tx = "tx",
        /// All of them.
        Both = "both",
    } as "mss-clamp-side", "rx, tx or both";
}

impl Side {
    /// Whether received and sent packets are meant.
    fn sides(self) -> [bool; 2] {
        [self != Side::Tx, self != Side::Rx]
    }
}

quiver_control::number! {
    /// Bytes of a TCP segment's payload (RFC 9293, 3.7.1).
    pub struct Mss(u16) in 1..=65534 as "mss";
}

/// A limit to the maximum segment size that TCP's ends announce through an interface: for links that carry less than both
/// ends believe, and paths on which nobody tells them.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct MssClamp<F: Clamped> {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// Bytes of a segment's payload at most: 1 to 65534. What is announced beyond that is lowered.
    pub mss: Mss,
    /// Whether what the interface receives, what it sends, or both is seen to.
    #[default(Side::Both)]
    pub side: Side,
    /// Clamps of one interface for two families are two.
    pub family: PhantomData<F>,
}

/// The largest sizes by interface, as workers read them: 0 where there is no limit.
pub(crate) struct Clamps<F: Clamped> {
    largest: ByInterface<u16>,
    family: PhantomData<F>,
}

impl<F: Clamped> Clamps<F> {
    pub fn new(domain: &Domain) -> Clamps<F> {
        Clamps { largest: ByInterface::new(domain), family: PhantomData }
    }
    pub fn largest(&self) -> Snapshot<Paged<u16>> {
        self.largest.snapshot()
    }
}

pub(crate) fn apply<F: Clamped>(control: &Control, change: Change<'_, MssClamp<F>>) -> Result<(), ObjectError> {
    let (clamp, on) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = control.room::<Interfaces>().id_of(&clamp.interface.0)?;
    control.room_mut::<Clamps<F>>().largest.set(id, if on { clamp.mss.get() } else { 0 });
    let mut dataplane = control.room_mut::<Dataplane>();
    let [rx, tx] = clamp.side.sides();
    for (arc, node, wanted) in [(F::NAMES.unicast, F::IN, rx), (F::NAMES.output, F::OUT, tx)] {
        let enabled = dataplane.enable(arc, node, id.0, on && wanted);
        enabled.map_err(|error| ObjectError::whole(error.to_string()))?;
    }
    Ok(())
}
