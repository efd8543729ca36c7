//! Which interfaces have packets put together, and the limits of what is kept.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::time::Duration;

use quiver_control::{Change, Control, Object, ObjectError, Signal};
use quiver_engine::{Domain, Publisher, Snapshot};
use quiver_interface::{InterfaceId, InterfaceName};

use crate::counted::Counted;
use crate::family::Reassembled;

quiver_control::choice! {
    /// Kind of reassembly.
    pub enum Kinds {
        /// Packets are reassembled.
        Full = "full",
        /// Fragments are forwarded unchanged, with the ports of the first one as metadata.
        Shallow = "shallow",
    } as "reassembly-kind", "full or shallow";
}

/// Reassembly of fragments that an interface receives, whatever their destination.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct Reassembly<F: Reassembled> {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Whether packets are fully reassembled before any other feature.
    #[default(false)]
    pub full: bool,
    /// Whether later fragments get the ports of the first one (shallow reassembly).
    #[default(false)]
    pub shallow: bool,
    /// Those of one interface for two families are two.
    pub family: PhantomData<F>,
}

/// Limits of a kind of reassembly, per worker.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::SETTINGS)]
pub struct ReassemblySettings<F: Reassembled> {
    /// Kind of reassembly that the limits apply to.
    #[key]
    pub kind: Kinds,
    /// Timeout in ms. Full: since the first fragment, default 60000 (RFC 8200, 4.5). Shallow: since the last
    /// fragment, default 2000.
    pub timeout_ms: Option<u32>,
    /// Largest number of packets in reassembly. Default: 1024.
    pub packets: Option<u32>,
    /// Largest number of fragments of a packet (full), or of those that wait for the first fragment (shallow).
    /// Default: 64.
    pub fragments: Option<u32>,
    /// Interval in ms between checks for expired packets, at least 1. Default: 1000.
    pub walk_ms: Option<u32>,
    /// Whether packets to local addresses are reassembled. Full reassembly only.
    #[default(true)]
    pub local: bool,
    /// Whether all fragments wait until the first and the last one have arrived, so that packets without an end are
    /// not forwarded. Shallow reassembly only; VPP's extended mode.
    #[default(false)]
    pub extended: bool,
    /// Those of two families are two.
    pub family: PhantomData<F>,
}

/// Settings that workers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Timeout of a packet.
    pub patience: Duration,
    /// Largest number of packets in reassembly.
    pub packets: usize,
    /// Largest number of fragments of a packet.
    pub fragments: usize,
    /// Interval between checks for expired packets.
    pub walk: Duration,
    /// Whether packets to local addresses are reassembled.
    pub local: bool,
    /// Whether fragments also wait for the last one.
    pub extended: bool,
    /// Whether workers hand fragments over to each other.
    pub connected: bool,
}

impl Settings {
    /// The settings of an object, with defaults.
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
    /// Packets in reassembly: on the arc of all received packets, and local ones.
    pub received: Counted,
    /// Packets in reassembly that are local.
    pub local: Counted,
    /// Packets that shallow reassembly remembers.
    pub shallow: Counted,
    /// Interfaces for which a room needs shallow reassembly, whatever is configured.
    needed: BTreeSet<InterfaceId>,
    family: PhantomData<F>,
}

impl<F: Reassembled> Reassemblies<F> {
    pub(crate) fn new(domain: &Domain) -> Reassemblies<F> {
        let settings = [Kinds::Full, Kinds::Shallow].map(|kind| Publisher::new(domain, Settings::standard::<F>(kind)));
        let counted = Counted::default;
        let (received, local, shallow) = (counted(), counted(), counted());
        let (needed, changed) = (BTreeSet::new(), Signal::new());
        Reassemblies { settings, changed, received, local, shallow, needed, family: PhantomData }
    }
    /// The current settings of a kind.
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
    /// Whether a room needs shallow reassembly on an interface.
    pub(crate) fn needs(&self, interface: InterfaceId) -> bool {
        self.needed.contains(&interface)
    }
    /// Notes it.
    pub(crate) fn set_needed(&mut self, interface: InterfaceId, on: bool) {
        match on {
            true => self.needed.insert(interface),
            false => self.needed.remove(&interface),
        };
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
            return Err(ObjectError::field(field, format!("{value} is out of range")).remedy(format!("at most {MOST}")));
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
