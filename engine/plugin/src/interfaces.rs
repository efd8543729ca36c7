//! Names and numbers of interfaces.

use quiver_control::Control;

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
    pub(crate) const SPACE: &'static str = "interface";
}
