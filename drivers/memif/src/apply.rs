//! Applies changes of sockets and interfaces.

use std::path::{Component, Path};

use quiver_control::{Change, Control, ObjectError};
use quiver_interface::Interfaces;
use quiver_memif_protocol::Address;

use crate::config::{Memif, MemifSocket, parse_address};
use crate::room::{self, Memifs};

/// The address that a name means: paths that do not begin with a slash are below the daemon's folder, as in VPP.
fn address_of(folder: &Path, filename: &str) -> Result<Address, ObjectError> {
    match parse_address(filename)? {
        Address::Path(path) if path.is_relative() => parse_address(&folder.join(path).display().to_string()),
        address => Ok(address),
    }
}

/// Whether a path stays in the daemon's folder, where all its clients may have sockets.
fn is_below(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) && path.components().all(|part| part != Component::ParentDir)
}

pub(crate) fn apply_socket(control: &Control, change: Change<'_, MemifSocket>) -> Result<(), ObjectError> {
    match change {
        Change::Create(socket) => {
            let folder = control.room::<Memifs>().folder.clone();
            let address = address_of(&folder, &socket.filename)?;
            if let Address::Path(path) = &address
                && !is_below(path, &folder)
            {
                let checked = control.files().check_place(path);
                checked.map_err(|error| ObjectError::field("filename", error.to_string()))?;
            }
            room::add_socket(control, socket.id, address)
        }
        // The only field is fixed.
        Change::Update { .. } => Ok(()),
        Change::Delete(socket) => {
            room::remove_socket(control, socket.id);
            Ok(())
        }
    }
}

/// The outside resource that a socket occupies: its filename.
pub(crate) fn takes(socket: &MemifSocket) -> Vec<String> {
    vec![format!("memif socket {}", socket.filename)]
}

/// The same as [`apply`] without a listener: the peers of a master are outside.
pub(crate) fn apply_inside(control: &Control, change: Change<'_, Memif>) -> Result<(), ObjectError> {
    match change {
        Change::Create(memif) => {
            control.room::<Interfaces>().check_free(&memif.name, "delete it first")?;
            room::add_unserved(control, memif)
        }
        change => apply(control, change),
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, Memif>) -> Result<(), ObjectError> {
    match change {
        Change::Create(memif) => {
            control.room::<Interfaces>().check_free(&memif.name, "delete it first")?;
            room::add_interface(control, memif)
        }
        // All fields are fixed.
        Change::Update { .. } => Ok(()),
        Change::Delete(memif) => {
            room::remove_interface(control, &memif.name);
            Ok(())
        }
    }
}
