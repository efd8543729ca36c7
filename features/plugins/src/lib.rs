//! Plugins as configuration: the objects of kind `plugins`, `load plugin`, `show plugins`. The contract and the loader are
//! the engine's ([`quiver_plugin`]).
#![forbid(unsafe_code)]

mod configured;
mod messages;
mod show;

use quiver_control::Control;
use quiver_interface::{Events, InterfaceId, Interfaces};
use quiver_plugin::InterfaceNames;
use std::convert::Infallible;
use std::path::Path;

/// Registers the room. No plugin is loaded yet.
pub fn register(control: &Control) -> Result<(), Infallible> {
    let number = |control: &Control, name: &str| control.room::<Interfaces>().find(name).map(|found| found.id.0);
    let name = |control: &Control, number: u32| control.room::<Interfaces>().name(InterfaceId(number));
    quiver_plugin::register(control, InterfaceNames { number, name }, messages::HOST);
    configured::register(control);
    show::register(control);
    control.insert_room(messages::Told::default());
    control.spawn("plugins", Events::listen(control.clone(), quiver_plugin::attend));
    Ok(())
}

/// Loads plugins that the daemon was started with: files, or folders of them. What cannot be loaded is said, and the daemon
/// runs on.
pub fn load(control: &Control, paths: impl IntoIterator<Item = impl AsRef<Path>>) {
    for path in paths {
        for file in files(path.as_ref()) {
            if let Err(error) = quiver_plugin::load(control, &file) {
                tracing::error!("{error}");
            }
        }
    }
}

/// A file, or the shared objects in a folder, by name.
fn files(path: &Path) -> Vec<std::path::PathBuf> {
    let Ok(folder) = path.read_dir() else { return vec![path.to_owned()] };
    let mut files: Vec<_> = folder.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "so"));
    files.sort();
    files
}
