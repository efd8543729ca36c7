//! Loaded plugins, their nodes and counters.

use crate::channels::{Channels, Failure, Raised};
use crate::message::MessageHost;
use crate::names::Names;
use crate::node::{PluginNode, Published, Row};
use quiver_control::Control;
use quiver_engine::NodeHandle;
use quiver_engine::channel::Inbox;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// A plugin's node in the graph.
pub struct Placed {
    pub(crate) handle: NodeHandle<PluginNode>,
    /// Its name.
    pub name: &'static str,
    /// The node that it may stand for.
    pub stands_for: Option<&'static str>,
    pub(crate) pass: Option<u16>,
    pub(crate) published: Rc<RefCell<Option<Arc<Published>>>>,
    /// Why it was disabled.
    pub failed: Option<String>,
}

/// A plugin's vector of counters.
#[derive(Clone)]
pub struct Counted {
    /// Its name.
    pub name: String,
    /// Description of the counters.
    pub help: String,
    pub(crate) workers: Vec<Row>,
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
    pub(crate) events: Vec<String>,
}

/// The plugins that were loaded.
pub struct Plugins {
    /// In their order.
    pub loaded: Vec<Loaded>,
    pub(crate) names: Rc<Names>,
    pub(crate) messages: MessageHost,
    pub(crate) channels: Channels,
    pub(crate) failures: Inbox<Failure>,
    pub(crate) raised: Inbox<Raised>,
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
