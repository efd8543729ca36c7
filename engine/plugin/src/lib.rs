//! Plugins: shared objects that bring nodes, feature arcs, config objects, commands, messages, counters and trace, by a
//! contract in C ([`quiver_plugin_abi`]).
//!
//! [`load`] opens one, lets it say what it brings, and takes that over as a whole or not at all; the daemon runs on either
//! way. A plugin is never unloaded. A node that fails, by a status or by a panic that the plugin's own side caught, is
//! disabled for good: its worker passes packets by at once, [`attend`] closes the path over it everywhere and says so.
//!
//! - `library`: opens a shared object and checks its table; `error`: every way in which that fails, a sentence each.
//! - `setup`: the draft of what a plugin brings.
//! - `plugins`: what was loaded; `interfaces`: their names; `channels`: what workers say to control.
//! - `node`: a plugin's node on a worker. `object`, `command`: its configuration. `message`: what its clients send.
//! - `calls`: the daemon's functions that plugins call. `value`, `foreign`: what crosses.

mod calls;
mod channels;
mod command;
mod error;
mod foreign;
mod interfaces;
mod library;
mod message;
mod names;
mod node;
mod object;
mod plugins;
mod setup;
mod value;

pub use error::LoadError;
pub use interfaces::InterfaceNames;
pub use message::{Answered, Event, Message, MessageField, MessageHost};
pub use plugins::{Counted, Loaded, Placed, Plugins};

use calls::HOST;
use channels::{Channels, Failure, Raised};
use plugins::tell;
use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_engine::channel::channel;
use setup::Taken;
use std::path::Path;
use std::rc::Rc;

/// Gives the control side its plugins: none so far. The data plane is registered before.
pub fn register(control: &Control, interfaces: InterfaceNames, messages: MessageHost) {
    let bell = control.room::<Dataplane>().bell().clone();
    let (of_failures, failures) = channel(256, &bell);
    let (of_raised, raised) = channel(256, &bell);
    let channels = Channels { failures: of_failures, raised: of_raised };
    let names = Rc::default();
    control.insert_room(interfaces);
    control.insert_room(Plugins { loaded: vec![], names, messages, channels, failures, raised });
}

/// Loads a plugin; does nothing if it is loaded already. If it fails, everything is as it was, but what the plugin's file
/// mapped stays mapped.
pub fn load(control: &Control, path: &Path) -> Result<(), LoadError> {
    let path = path.canonicalize().map_err(|error| LoadError::File { path: path.to_owned(), error })?;
    if control.room::<Plugins>().loaded.iter().any(|plugin| plugin.path == path) {
        return Ok(());
    }
    // The dynamic linker would wait for the other end of a FIFO.
    quiver_control::files::open(&path)?;
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
    draft.fill(&table, &HOST);
    let Taken { nodes, counters, events } = draft.commit(control, plugin, &table, (channels, &HOST))?;
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
