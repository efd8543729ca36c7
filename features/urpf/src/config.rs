//! Which interfaces are checked, and how.

use std::marker::PhantomData;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Dataplane, Domain, Paged, Snapshot};
use quiver_interface::{ByInterface, InterfaceName, Interfaces};
use quiver_ip::objects::TableNumber;
use quiver_ip::{Family, Ip};
use quiver_wire::{V4, V6};

/// A family whose senders can be checked.
pub trait Checked: Family {
    /// The kind of the checks.
    const KIND: &'static str;
    /// Their nodes: loose and strict of what is received, and of what is sent.
    const NODES: [[&'static str; 2]; 2];
}

impl Checked for V4 {
    const KIND: &'static str = "reverse-path-checks";
    const NODES: [[&'static str; 2]; 2] =
        [["ip4-rx-urpf-loose", "ip4-rx-urpf-strict"], ["ip4-tx-urpf-loose", "ip4-tx-urpf-strict"]];
}

impl Checked for V6 {
    const KIND: &'static str = "ip6-reverse-path-checks";
    const NODES: [[&'static str; 2]; 2] =
        [["ip6-rx-urpf-loose", "ip6-rx-urpf-strict"], ["ip6-tx-urpf-loose", "ip6-tx-urpf-strict"]];
}

quiver_control::choice! {
    /// Which packets of an interface are checked.
    pub enum Direction {
        /// Those that it receives.
        Rx = "rx",
        /// Those that it sends.
        Tx = "tx",
    } as "urpf-direction", "rx or tx";
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Rx, Direction::Tx];
}

quiver_control::choice! {
    /// What is wanted of senders' addresses.
    pub enum Mode {
        /// That there is a route to them (RFC 3704, 2.4).
        Loose = "loose",
        /// That the route leads back by the interface that received the packet, or not by the one that sends it
        /// (RFC 3704, 2.2).
        Strict = "strict",
    } as "urpf-mode", "loose or strict";
}

impl Mode {
    /// Both.
    pub const ALL: [Mode; 2] = [Mode::Loose, Mode::Strict];
}

/// A check of senders' addresses: whether there is a way back to them (unicast reverse path forwarding, RFC 3704).
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct ReversePathCheck<F: Checked> {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// Whether what it receives is checked, or what it sends.
    #[key]
    pub direction: Direction,
    /// What is wanted: that there is a way at all, or that it is the one back.
    #[default(Mode::Strict)]
    pub mode: Mode,
    /// The table in which ways are looked for, if not the interface's own.
    pub table: Option<TableNumber<F>>,
}

/// What is asked of an interface's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The slot of the table in which ways are looked for, if not the interface's own.
    slot: Option<u16>,
    /// How much is wanted, if anything.
    mode: Option<Mode>,
}

impl Word {
    /// The slot of the table, if it is not the interface's own.
    #[inline(always)]
    pub fn slot(self) -> Option<u32> {
        self.slot.map(u32::from)
    }
    /// How much is wanted, if anything.
    #[inline(always)]
    pub fn mode(self) -> Option<Mode> {
        self.mode
    }
    /// Whether it asks for this.
    #[inline(always)]
    pub fn asks(self, mode: Mode) -> bool {
        self.mode == Some(mode)
    }
}

/// What is asked, by direction and interface.
pub(crate) struct Checks<F: Checked> {
    words: [ByInterface<Word>; 2],
    family: PhantomData<F>,
}

impl<F: Checked> Checks<F> {
    pub fn new(domain: &Domain) -> Checks<F> {
        Checks { words: [(); 2].map(|()| ByInterface::new(domain)), family: PhantomData }
    }
    /// What workers read.
    pub fn words(&self, direction: Direction) -> Snapshot<Paged<Word>> {
        self.words[direction as usize].snapshot()
    }
}

/// The feature arc of a direction.
pub(crate) fn arc<F: Checked>(direction: Direction) -> &'static str {
    match direction {
        Direction::Rx => F::NAMES.unicast,
        Direction::Tx => F::NAMES.output,
    }
}

/// The node that checks so.
pub(crate) const fn node<F: Checked>(direction: Direction, mode: Mode) -> &'static str {
    F::NODES[direction as usize][mode as usize]
}

pub(crate) fn apply<F: Checked>(control: &Control, change: Change<'_, ReversePathCheck<F>>) -> Result<(), ObjectError> {
    let (old, new) = match change {
        Change::Create(new) => (None, Some(new)),
        Change::Update { old, new } => (Some(old), Some(new)),
        Change::Delete(old) => (Some(old), None),
    };
    let Some(ReversePathCheck { interface, direction, .. }) = new.or(old) else { return Ok(()) };
    let id = control.room::<Interfaces>().id_of(&interface.0)?;
    let slot = match new.and_then(|check| check.table) {
        Some(table) => {
            let ip = control.room::<Ip<F>>();
            let found = ip.fib.table(table.into()).map(|table| table.slot);
            Some(found.ok_or_else(|| ObjectError::field("table", format!("there is no table {table}")))?)
        }
        None => None,
    };
    // The word decides from now on, also at nodes that workers still have wired as before: see `node`.
    let word = Word { slot, mode: new.map(|check| check.mode) };
    control.room_mut::<Checks<F>>().words[*direction as usize].set(id, word);
    let (old, new) = (old.map(|check| check.mode), new.map(|check| check.mode));
    let mut dataplane = control.room_mut::<Dataplane>();
    // What begins comes first, so that no packet passes unchecked meanwhile.
    for (mode, on) in [(new, true), (old.filter(|_| old != new), false)] {
        let Some(mode) = mode else { continue };
        let enabled = dataplane.enable(arc::<F>(*direction), node::<F>(*direction, mode), id.0, on);
        enabled.map_err(|error| ObjectError::whole(error.to_string()))?;
    }
    Ok(())
}
