//! 802.1Q and QinQ sub-interfaces, and tag rewrite.
//!
//! - [`sub_interface`]: the objects and commands of sub-interfaces; [`matching`]: the table by which tags find them.
//! - [`input`] (`vlan-input`): tagged frames go to their sub-interface; [`output`] (`vlan-output`): what layer 3 sends by
//!   a sub-interface gets its tags.
//! - [`rewrite`]: the objects and commands of tag rewrite in layer 2; [`edit`]: its nodes, `l2-input-vtr` and
//!   `l2-output-vtr`.
//! - [`tags`]: tags in the bytes of a frame; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
pub mod edit;
pub mod input;
pub mod matching;
pub mod output;
pub mod rewrite;
pub mod sub_interface;
pub mod tags;

use quiver_control::Control;
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec};

use edit::Rewrites;
use matching::SubInterfaces;

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum VlanError {
    /// The data plane refused.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// The table of tags cannot be made.
    #[error("the table of VLANs cannot be made: {0}")]
    Table(#[from] quiver_table::ExactError),
}

/// Registers nodes, objects and commands.
pub fn register(control: &Control) -> Result<(), VlanError> {
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        let subs = SubInterfaces::new(dataplane.domain())?;
        let rewrites = Rewrites::new(dataplane.domain());
        let ports = control.room::<quiver_ethernet::Ports>().snapshot();
        let counters = dataplane.rx_counters().clone();
        let graph = dataplane.blueprint();
        let (table, parts, modes) = (subs.table(), subs.snapshot(), ports.clone());
        let node = NodeSpec::new("vlan-input", input::Next::ARCS, move |seed| input::VlanInput {
            table: table.clone(),
            parts: parts.clone(),
            ports: modes.clone(),
            received: counters.row(seed.worker),
        });
        graph.node(node.describe(input::describe)).map_err(DataplaneError::from)?;
        let parts = subs.snapshot();
        let node = NodeSpec::new(output::NAME, output::Next::ARCS, move |_| output::VlanOutput {
            parts: parts.clone(),
            ports: ports.clone(),
        });
        graph.node(node.describe(input::describe)).map_err(DataplaneError::from)?;
        let feature = |arc, node| FeatureSpec { arc, node, before: &[], after: &[] };
        graph.feature(feature("interface-output", output::NAME)).map_err(DataplaneError::from)?;
        for (arc, name, side) in
            [("l2-input", edit::INPUT, edit::Side::In), ("l2-output", edit::OUTPUT, edit::Side::Out)]
        {
            let edits = rewrites.snapshot();
            let node = NodeSpec::new(name, edit::Next::ARCS, move |_| edit::Rewriter { side, edits: edits.clone() });
            graph.node(node.describe(input::describe)).map_err(DataplaneError::from)?;
            graph.feature(feature(arc, name)).map_err(DataplaneError::from)?;
        }
        control.insert_room(subs);
        control.insert_room(rewrites);
    }
    sub_interface::register(control);
    rewrite::register(control);
    api::register(control);
    Ok(())
}
