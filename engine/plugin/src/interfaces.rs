//! Names and numbers of interfaces.

use quiver_control::Control;

/// Lookup of interfaces for plugins. The engine knows interfaces by number only.
#[derive(Clone, Copy)]
pub struct InterfaceNames {
    /// Finds an interface's number by its name.
    pub number: fn(&Control, &str) -> Option<u32>,
    /// Finds an interface's name by its number.
    pub name: fn(&Control, u32) -> String,
}

impl InterfaceNames {
    /// The space of names that references to interfaces are in.
    pub(crate) const SPACE: &'static str = "interface";
}
