//! The objects of kind `plugins`.

use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use std::path::Path;

/// A plugin: a shared object that brings nodes, config objects and commands. Its file is loaded before the rest of a
/// configuration is read, also to compare one; what it brings does nothing until other objects or commands enable it. A
/// plugin is never unloaded: one that is not configured any more stays until the daemon is started anew.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "plugins")]
pub(crate) struct PluginFile {
    /// Its file, from the root on.
    #[key]
    pub path: String,
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check).open(open));
    let load = Command::new("load plugin <path:text>", "Load a plugin.", load);
    control.commands().add(load.argument("path", "its file, from the root on"));
}

fn check(file: &PluginFile) -> Result<(), ObjectError> {
    match Path::new(&file.path).is_absolute() {
        true => Ok(()),
        false => Err(ObjectError::field("path", "the daemon may run in another folder").remedy("begin it with '/'")),
    }
}

/// Loads it: once, however often it is asked for.
fn open(control: &Control, file: &PluginFile) -> Result<(), ObjectError> {
    quiver_plugin::load(control, Path::new(&file.path)).map_err(|error| ObjectError::field("path", error.to_string()))
}

fn apply(control: &Control, change: Change<'_, PluginFile>) -> Result<(), ObjectError> {
    match change {
        Change::Create(new) | Change::Update { new, .. } => open(control, new),
        Change::Delete(old) => {
            tracing::info!("plugin {} is not configured any more; it stays until the daemon is started anew", old.path);
            Ok(())
        }
    }
}

fn load(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    control.put(PluginFile { path: matches.get("path")? })?;
    Ok(Reply::done())
}
