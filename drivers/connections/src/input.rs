//! Arcs of the input node `connections-input`.

use quiver_engine::arcs;

arcs! {
    /// Arcs of `connections-input`.
    pub enum Next {
        Sent => features "device-input",
        NoBuffer => drop "no-buffer",
    }
}
