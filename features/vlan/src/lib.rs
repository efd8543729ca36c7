//! 802.1Q and QinQ sub-interfaces, and tag rewrite.
//!
//! - [`sub_interface`]: the objects and commands of sub-interfaces; [`matching`]: the table by which tags find them.
//! - [`input`] (`vlan-input`): tagged frames go to their sub-interface; [`output`] (`vlan-output`): what layer 3 sends by
//!   a sub-interface gets its tags.
//! - [`rewrite`]: the objects and commands of tag rewrite in layer 2; [`edit`]: its nodes, `l2-input-vtr` and
//!   `l2-output-vtr`.
//! - [`tags`]: tags in the bytes of a frame; [`outside`]: frames as they are on the wire, for programs; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
pub mod edit;
pub mod input;
pub mod matching;
pub mod output;
pub mod outside;
pub mod rewrite;
pub mod sub_interface;
pub mod tags;

use quiver_control::Control;
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase, Stage};
use quiver_interface::{Undecided, decides, receiver, restores, sender, undecided};

use edit::{Rewriter, Rewrites};
use input::VlanInput;
use matching::SubInterfaces;
use output::VlanOutput;

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
        let feature = |arc, node| FeatureSpec::new(arc, node, Phase::Tunnel);
        let (table, parts, modes) = (subs.table(), subs.snapshot(), ports.clone());
        let input = move |worker| VlanInput {
            table: table.clone(),
            parts: parts.clone(),
            ports: modes.clone(),
            received: counters.row(worker),
        };
        let output = VlanOutput { parts: subs.snapshot(), ports };
        let (taken, given) = (Rewriter::<false>(rewrites.snapshot()), Rewriter::<true>(rewrites.snapshot()));
        let input = NodeSpec::stage(move |seed| input(seed.worker)).describe(input::describe);
        graph.node(input).map_err(DataplaneError::from)?;
        graph.node(NodeSpec::stage(move |_| output.clone()).describe(input::describe)).map_err(DataplaneError::from)?;
        graph.feature(feature("interface-output", output::NAME)).map_err(DataplaneError::from)?;
        graph.node(NodeSpec::stage(move |_| taken.clone()).describe(input::describe)).map_err(DataplaneError::from)?;
        graph.feature(feature("l2-input", edit::INPUT)).map_err(DataplaneError::from)?;
        graph.node(NodeSpec::stage(move |_| given.clone()).describe(input::describe)).map_err(DataplaneError::from)?;
        graph.feature(feature("l2-output", edit::OUTPUT)).map_err(DataplaneError::from)?;
        control.insert_room(subs);
        control.insert_room(rewrites);
    }
    decides(control, VlanInput::NAME, receiver);
    undecided(control, VlanInput::NAME, Undecided::Packet, &["too-short"]);
    decides(control, edit::INPUT, receiver);
    decides(control, edit::OUTPUT, sender);
    decides(control, output::NAME, sender);
    restores(control, outside::restore);
    sub_interface::register(control);
    rewrite::register(control);
    api::register(control);
    Ok(())
}
