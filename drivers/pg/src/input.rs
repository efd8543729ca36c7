//! Arcs of the input node `pg-input`.

use quiver_engine::arcs;

arcs! {
    /// Arcs of `pg-input`.
    pub enum Next {
        Received => features "device-input",
        NoBuffer => drop "no-buffer",
    }
}
