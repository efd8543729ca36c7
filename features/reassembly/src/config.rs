//! Which interfaces have packets put together, and the limits of what is kept.

use std::marker::PhantomData;
use std::time::Duration;

use quiver_control::{Change, Control, Object, ObjectError, Signal};
use quiver_engine::{Domain, Publisher, Snapshot};
use quiver_interface::InterfaceName;

use crate::counted::Counted;
use crate::family::Reassembled;

quiver_control::choice! {
    /// What is done with fragments.
    pub enum Kinds {
        /// They are put together.
        Full = "full",
        /// They go on as they are, with a note of the ports that the first of them says.
        Shallow = "shallow",
    } as "reassembly-kind", "full or shallow";
}

/// What is done with fragments that an interface receives, whoever they are for.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct Reassembly<F: Reassembled> {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// Whether packets are put together before anything else is done with them.
    #[default(false)]
    pub full: bool,
    /// Whether ports are known of later fragments, too.
    #[default(false)]
    pub shallow: bool,
    /// Those of one interface for two families are two.
    pub family: PhantomData<F>,
}

/// The limits of what is kept of packets in fragments, on each worker.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::SETTINGS)]
pub struct ReassemblySettings<F: Reassembled> {
    /// Which kind of reassembly is meant.
    #[key]
    pub kind: Kinds,
    /// Milliseconds: how long a packet is waited for from its first part on (full; without it 60000, as RFC 8200, 4.5, says), or
    /// remembered after its last one (shallow; without it 2000).
    pub timeout_ms: Option<u32>,
    /// Packets that are not whole, or remembered: without it 1024.
    pub packets: Option<u32>,
    /// Parts of a packet (full), or of those that wait for its first part (shallow): without it 64.
    pub fragments: Option<u32>,
    /// Milliseconds between two looks at what has waited for too long: without it 1000, and 1 at least.
    pub walk_ms: Option<u32>,
    /// Whether packets for us are put together. Of full reassembly alone.
    #[default(true)]
    pub local: bool,
    /// Whether all parts of a packet wait until its first and its last one have come, so that none goes on of those that have no
    /// end. Of shallow reassembly alone; VPP calls it extended.
    #[default(false)]
    pub extended: bool,
    /// Those of two families are two.
    pub family: PhantomData<F>,
}

/// What holds, as workers read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long is waited.
    pub patience: Duration,
    /// Packets at most.
    pub packets: usize,
    /// Parts at most.
    pub fragments: usize,
    /// How often control has workers look.
    pub walk: Duration,
    /// Whether packets for us are put together.
    pub local: bool,
    /// Whether parts wait for the last one, too.
    pub extended: bool,
    /// Whether workers hand parts over to each other.
    pub connected: bool,
}

impl Settings {
    /// What settings come to.
    pub fn of<F: Reassembled>(settings: &ReassemblySettings<F>) -> Settings {
        let patience = match settings.kind {
            Kinds::Full => 60_000,
            Kinds::Shallow => 2000,
        };
        let ms = |ms: u32| Duration::from_millis(ms.into());
        Settings {
            patience: ms(settings.timeout_ms.unwrap_or(patience)),
            packets: settings.packets.unwrap_or(1024) as usize,
            fragments: settings.fragments.unwrap_or(64) as usize,
            walk: ms(settings.walk_ms.unwrap_or(1000).max(1)),
            local: settings.local,
            extended: settings.extended,
            connected: false,
        }
    }
    fn standard<F: Reassembled>(kind: Kinds) -> Settings {
        Settings::of(&ReassemblySettings::<F>::new(kind))
    }
}

/// The room of a family.
pub struct Reassemblies<F: Reassembled> {
    settings: [Publisher<Settings>; 2],
    changed: Signal,
    /// Packets that are not whole: of all that interfaces receive, and for us.
    pub received: Counted,
    /// See there.
    pub local: Counted,
    /// Packets that shallow reassembly remembers.
    pub shallow: Counted,
    family: PhantomData<F>,
}

impl<F: Reassembled> Reassemblies<F> {
    pub(crate) fn new(domain: &Domain) -> Reassemblies<F> {
        let settings = [Kinds::Full, Kinds::Shallow].map(|kind| Publisher::new(domain, Settings::standard::<F>(kind)));
        let counted = Counted::default;
        let (received, local, shallow) = (counted(), counted(), counted());
        Reassemblies { settings, changed: Signal::new(), received, local, shallow, family: PhantomData }
    }
    /// What holds.
    pub fn settings(&self, kind: Kinds) -> Settings {
        *self.settings[kind as usize].current()
    }
    pub(crate) fn snapshot(&self, kind: Kinds) -> Snapshot<Settings> {
        self.settings[kind as usize].snapshot()
    }
    fn set(&mut self, kind: Kinds, settings: Settings) {
        let connected = self.settings(kind).connected;
        self.settings[kind as usize].publish(Settings { connected, ..settings });
        self.changed.notify();
    }
    /// Has workers hand parts over to each other, which have the rings for that.
    pub(crate) fn connect(&mut self) {
        for published in self.settings.iter_mut().filter(|published| !published.current().connected) {
            let settings = *published.current();
            published.publish(Settings { connected: true, ..settings });
        }
    }
    /// Waits for other settings.
    pub(crate) fn changed(&self) -> impl Future<Output = ()> + 'static {
        self.changed.changed()
    }
}

/// Parts and packets that can be asked for: more is nobody's wish, and memory for them none.
const MOST: u32 = 1 << 20;

pub(crate) fn check_settings<F: Reassembled>(wanted: &ReassemblySettings<F>) -> Result<(), ObjectError> {
    for (field, value) in [("packets", wanted.packets), ("fragments", wanted.fragments)] {
        if let Some(value) = value.filter(|value| *value > MOST) {
            return Err(ObjectError::field(field, format!("{value} is too much")).remedy(format!("at most {MOST}")));
        }
    }
    if wanted.kind == Kinds::Shallow && !wanted.local {
        let what = "packets for us are put together, or not, by full reassembly";
        return Err(ObjectError::field("local", what).remedy("set it there"));
    }
    if wanted.kind == Kinds::Full && wanted.extended {
        let what = "full reassembly has to wait for all parts of a packet anyway";
        return Err(ObjectError::field("extended", what).remedy("set it of shallow reassembly"));
    }
    Ok(())
}

pub(crate) fn apply_settings<F: Reassembled>(
    control: &Control,
    change: Change<'_, ReassemblySettings<F>>,
) -> Result<(), ObjectError> {
    let (kind, settings) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new.kind, Settings::of(new)),
        Change::Delete(old) => (old.kind, Settings::standard::<F>(old.kind)),
    };
    control.room_mut::<Reassemblies<F>>().set(kind, settings);
    Ok(())
}
