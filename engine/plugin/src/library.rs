//! Opens a shared object and looks at its table. What was opened stays open: a plugin is never unloaded.
#![allow(unsafe_code)]

use crate::error::LoadError;
use crate::foreign;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use quiver_plugin_abi::{ENTRY, Host, MAGIC, Plugin, Setup, Status, VERSION};
use std::path::Path;

/// The checked content of a plugin's table.
pub(crate) struct Table {
    pub name: String,
    pub release: String,
    pub built_by: String,
    pub setup: unsafe extern "C" fn(host: *const Host, setup: *mut Setup) -> Status,
}

/// Opens a plugin and checks its table.
pub(crate) fn open(path: &Path) -> Result<Table, LoadError> {
    let at = || path.to_owned();
    // SAFETY: the code that runs when it is opened is the operator's choice: who may load plugins may do anything.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| LoadError::NotShared { path: at(), what: error.to_string() })?;
    // SAFETY: the contract gives the symbol this type.
    let entry = unsafe { library.get::<unsafe extern "C" fn() -> *const Plugin>(ENTRY) };
    let Ok(entry) = entry else { return Err(LoadError::NoEntry { path: at() }) };
    let entry = *entry;
    // Its functions and statics are valid from here on for as long as the process lives.
    std::mem::forget(library);
    // SAFETY: by the contract it takes nothing and returns a static table or null.
    let table = unsafe { entry() };
    if table.is_null() || !table.is_aligned() {
        return Err(LoadError::NoTable { path: at() });
    }
    // SAFETY: not null, and by the contract a table of some version, whose first two fields never change.
    let (magic, version) = unsafe { ((*table).magic, (*table).version) };
    if magic != MAGIC {
        return Err(LoadError::WrongMagic { path: at(), found: magic });
    }
    if version != VERSION {
        return Err(LoadError::OtherVersion { path: at(), theirs: version, ours: VERSION });
    }
    // SAFETY: a table of our version, valid for ever.
    let table = unsafe { &*table };
    let [name, release, built_by] =
        // SAFETY: by the contract, texts that are valid for ever.
        [table.name, table.release, table.built_by].map(|text| unsafe { foreign::text(text) });
    if name.is_empty() {
        return Err(LoadError::Incomplete { path: at(), part: "name" });
    }
    let setup = table.setup.ok_or(LoadError::Incomplete { path: at(), part: "setup" })?;
    Ok(Table { name, release, built_by, setup })
}
