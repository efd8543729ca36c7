//! The objects of kind `plugins`.

use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_control::files::{self, FileError};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use std::path::Path;

/// Plugin: a shared object with nodes, config objects and commands. It is loaded before a configuration is read or
/// compared, has no effect until it is enabled, and stays loaded until quiverd stops.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "plugins")]
pub(crate) struct PluginFile {
    /// Absolute path of the shared object.
    #[key]
    pub path: String,
}

pub(crate) fn register(control: &Control) {
    let files = Kind::new(apply).check(check).open(open);
    // A plugin's code would not know that it is rehearsed.
    control.objects().add(files.outside(|_, _| Ok(()), |_| Ok(()), |_| vec![]));
    let load = Command::new("load plugin <path:text>", "Load a plugin from a shared object.", load);
    control.commands().add(load.argument("path", "absolute path of the shared object"));
}

fn check(file: &PluginFile) -> Result<(), ObjectError> {
    match Path::new(&file.path).is_absolute() {
        true => Ok(()),
        false => Err(ObjectError::field("path", "the daemon may run in another folder").remedy("begin it with '/'")),
    }
}

/// Loads it: once, however often it is asked for.
fn open(control: &Control, file: &PluginFile) -> Result<(), ObjectError> {
    let path = Path::new(&file.path);
    // Its code runs with quiverd's rights, whoever asks for it.
    if let Err(error @ FileError::Unowned { .. }) = files::owned(path) {
        return Err(ObjectError::field("path", error.to_string()));
    }
    quiver_plugin::load(control, path).map_err(|error| ObjectError::field("path", error.to_string()))
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
