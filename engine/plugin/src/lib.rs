//! Plugins: shared objects that bring nodes, feature arcs, config objects, commands, messages, counters and trace, by a
//! contract in C ([`quiver_plugin_abi`]).
//!
//! [`load`] opens one, lets it say what it brings, and takes that over as a whole or not at all; the daemon runs on either
//! way. A plugin is never unloaded. A node that fails, by a status or by a panic that the plugin's own side caught, is
//! disabled for good: its worker passes packets by at once, [`attend`] closes the path over it everywhere and says so.
//!
//! - `library`: opens a shared object and checks its table; `error`: every way in which that fails, a sentence each.
//! - `setup`: the draft of what a plugin brings.
//! - `node`: a plugin's node on a worker. `object`, `command`: its configuration. `message`: what its clients send.
//! - `calls`: the daemon's functions that plugins call. `value`, `foreign`: what crosses.

mod calls;
mod command;
mod error;
mod foreign;
mod library;
mod message;
mod names;
mod node;
mod object;
mod setup;
mod value;

pub use error::LoadError;
pub use message::{Answered, Event, Message, MessageField, MessageHost};

use names::Names;
use node::{PluginNode, Published, Row};
use quiver_control::Control;
use quiver_engine::channel::{Inbox, Outbox, channel};
use quiver_engine::{Dataplane, NodeHandle};
use quiver_plugin_abi::EVENT_BYTES;
use setup::Taken;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// How plugins find interfaces, which the engine knows by numbers only.
#[derive(Clone, Copy)]
pub struct InterfaceNames {
    /// The number of the interface of this name.
    pub number: fn(&Control, &str) -> Option<u32>,
    /// The name of the interface of this number.
    pub name: fn(&Control, u32) -> String,
}

impl InterfaceNames {
    /// The space of names that references to interfaces are in.
    const SPACE: &'static str = "interface";
}

/// A node that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    plugin: usize,
    node: usize,
    worker: usize,
    what: String,
}

/// An event that a node raised.
pub(crate) struct Raised {
    plugin: usize,
    event: usize,
    fields: [u8; EVENT_BYTES],
    length: usize,
}

/// What workers say to control. A flood of events leaves room for failures.
#[derive(Clone)]
pub(crate) struct Channels {
    failures: Outbox<Failure>,
    raised: Outbox<Raised>,
}

/// A plugin's node in the graph.
pub struct Placed {
    handle: NodeHandle<PluginNode>,
    /// Its name.
    pub name: &'static str,
    /// The node that it may stand for.
    pub stands_for: Option<&'static str>,
    pass: Option<u16>,
    published: Rc<RefCell<Option<Arc<Published>>>>,
    /// Why it was disabled.
    pub failed: Option<String>,
}

/// A plugin's vector of counters.
#[derive(Clone)]
pub struct Counted {
    /// Its name.
    pub name: String,
    /// What is counted.
    pub help: String,
    workers: Vec<Row>,
}

impl Counted {
    /// Counters in the vector.
    pub fn len(&self) -> usize {
        self.workers.first().map_or(0, |row| row.len())
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// (packets, bytes) over all workers.
    pub fn sum(&self, index: usize) -> Option<(u64, u64)> {
        let rows = self.workers.iter().map(|row| row.get(index).map(|[packets, bytes]| (packets.get(), bytes.get())));
        rows.reduce(|sum, row| sum.zip(row).map(|((p, b), (packets, bytes))| (p + packets, b + bytes))).flatten()
    }
}

/// A plugin that was loaded.
pub struct Loaded {
    /// Its name.
    pub name: String,
    /// Its own version.
    pub release: String,
    /// The compiler that built it.
    pub built_by: String,
    /// Its file.
    pub path: PathBuf,
    /// Its nodes.
    pub nodes: Vec<Placed>,
    /// Its counters.
    pub counters: Vec<Counted>,
    /// The names of its events.
    events: Vec<String>,
}

/// The plugins that were loaded.
pub struct Plugins {
    /// In their order.
    pub loaded: Vec<Loaded>,
    names: Rc<Names>,
    interfaces: InterfaceNames,
    messages: MessageHost,
    channels: Channels,
    failures: Inbox<Failure>,
    raised: Inbox<Raised>,
}

/// Gives the control side its plugins: none so far. The data plane is registered before.
pub fn register(control: &Control, interfaces: InterfaceNames, messages: MessageHost) {
    let bell = control.room::<Dataplane>().bell().clone();
    let (of_failures, failures) = channel(256, &bell);
    let (of_raised, raised) = channel(256, &bell);
    let channels = Channels { failures: of_failures, raised: of_raised };
    let names = Rc::default();
    control.insert_room(Plugins { loaded: vec![], names, interfaces, messages, channels, failures, raised });
}

/// Loads a plugin; does nothing if it is loaded already. If it fails, everything is as it was, but what the plugin's file
/// mapped stays mapped.
pub fn load(control: &Control, path: &Path) -> Result<(), LoadError> {
    let path = path.canonicalize().map_err(|error| LoadError::File { path: path.to_owned(), error })?;
    if control.room::<Plugins>().loaded.iter().any(|plugin| plugin.path == path) {
        return Ok(());
    }
    let table = library::open(&path)?;
    let name = table.name.clone();
    let (mut draft, plugin, channels) = {
        let plugins = control.room::<Plugins>();
        if let Some(other) = plugins.loaded.iter().find(|other| other.name == name) {
            return Err(LoadError::Twice { path, name, other: other.path.clone() });
        }
        (plugins.draft(control), plugins.loaded.len(), plugins.channels.clone())
    };
    // Nothing is borrowed while the plugin's code runs.
    draft.fill(&table);
    let Taken { nodes, counters, events } = draft.commit(control, plugin, &table, channels)?;
    tracing::info!("plugin `{name}` {} is loaded from {}", table.release, path.display());
    let (release, built_by) = (table.release, table.built_by);
    control.room_mut::<Plugins>().loaded.push(Loaded { name, release, built_by, path, nodes, counters, events });
    Ok(())
}

/// Hears workers, when they rang: closes the paths over nodes that failed, and says so loudly; tells clients of events. True
/// if more has come meanwhile.
pub fn attend(control: &Control) -> bool {
    // Not in the loops' heads: the room would stay borrowed in their bodies.
    let (failures, raised): (Vec<_>, Vec<_>) = {
        let plugins = control.room::<Plugins>();
        (plugins.failures.waiting().collect(), plugins.raised.waiting().collect())
    };
    failures.into_iter().for_each(|failure| disable(control, failure));
    for Raised { plugin, event, fields, length } in raised {
        tell(control, plugin, event, &fields[..length]);
    }
    let plugins = control.room::<Plugins>();
    !plugins.failures.is_empty() || !plugins.raised.is_empty()
}

/// Tells clients an event of a plugin. False if it has none of this number.
pub(crate) fn tell(control: &Control, plugin: usize, event: usize, fields: &[u8]) -> bool {
    let (tell, name) = {
        let plugins = control.room::<Plugins>();
        let events = plugins.loaded.get(plugin).map(|plugin| &plugin.events);
        let Some(name) = events.and_then(|events| events.get(event)) else { return false };
        (plugins.messages.tell, name.clone())
    };
    tell(control, &name, fields);
    true
}

fn disable(control: &Control, failure: Failure) {
    let mut plugins = control.room_mut::<Plugins>();
    let Some(plugin) = plugins.loaded.get_mut(failure.plugin) else { return };
    let Some(node) = plugin.nodes.get_mut(failure.node).filter(|node| node.failed.is_none()) else { return };
    tracing::error!(
        "plugin `{}`: node `{}` failed on worker {} and is disabled until the daemon is started anew: {}",
        plugin.name,
        node.name,
        failure.worker,
        failure.what
    );
    node.failed = Some(failure.what);
    let (id, pass) = (node.handle.id, node.pass);
    drop(plugins);
    control.room_mut::<Dataplane>().bypass(id, pass);
}
