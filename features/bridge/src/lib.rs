//! Cross-connect and bridge domains.
//!
//! The nodes, in the order in which frames meet them: [`input`] (`l2-input`), [`learn`], [`forward`] (`l2-fwd`),
//! [`answer`] (`arp-term-l2bd`), [`flood`], [`divert`] (`l2-uu-fwd`), [`output`] (`l2-output`), [`bvi`], through which a domain meets layer 3, and [`dvr`] (`l2-dvr`), by which routes lead back. What they read is in
//! [`layer2`] and [`station`].
//!
//! The control side: [`objects`] are configured, `changes` is what becomes of that, [`bridges`] has what follows from them, [`macs`] the table of
//! addresses, `hosts` those for which questions are answered, `learning` what fills it and ages it, [`loopback`] the interfaces that have no hardware. `set` and `show` are the commands, `api` has VPP's messages.
#![forbid(unsafe_code)]

pub mod answer;
mod api;
pub mod bridges;
pub mod bvi;
mod changes;
mod deciding;
pub mod divert;
pub mod dvr;
pub mod flood;
pub mod forward;
mod hosts;
pub mod input;
pub mod layer2;
pub mod learn;
mod learning;
pub mod loopback;
pub mod macs;
pub mod objects;
pub mod output;
mod set;
mod show;
pub mod station;

use std::sync::Arc;

use quiver_control::Control;
use quiver_engine::channel::channel;
use quiver_engine::{Dataplane, DataplaneError, FeatureArcSpec, FeatureSpec, NodeSpec, Phase, Side, Snapshot};

use answer::{ArpTerm, Askers};
use bridges::Bridges;
use hosts::Asked;
use layer2::Layer2;

/// Askers who may wait for control; more are lost.
const ASKERS_MAX: usize = 1024;
/// The feature arc in front of `l2-input`.
pub const L2_INPUT: &str = "l2-input";
/// The feature arc in front of `l2-output`; the sending interface decides.
pub const L2_OUTPUT: &str = "l2-output";

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The data plane refused.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// The table of addresses cannot be made.
    #[error("the table of MAC addresses cannot be made: {0}")]
    Macs(#[from] quiver_table::ExactError),
}

/// Registers nodes, objects, commands, and the tasks that learn and age.
pub fn register(control: &Control) -> Result<(), BridgeError> {
    register_for(control, macs::STATIONS_MAX)
}

fn register_for(control: &Control, stations_max: usize) -> Result<(), BridgeError> {
    let asked;
    let bridges = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let (macs, news) = macs::Macs::new(&dataplane, stations_max)?;
        let bridges = Bridges::new(dataplane.domain(), macs);
        let layer2 = bridges.snapshot();
        let learn = learn::L2Learn {
            layer2: layer2.clone(),
            table: bridges.macs.reader(),
            clock: bridges.macs.clock(),
            generations: dataplane.generations().clone(),
            news,
        };
        let forward = forward::L2Forward { layer2: layer2.clone(), table: bridges.macs.reader() };
        register_nodes(&mut dataplane, layer2.clone(), learn, forward).map_err(DataplaneError::from)?;
        let (outbox, inbox) = channel(ASKERS_MAX, dataplane.bell());
        let askers = Askers { outbox, generations: dataplane.generations().clone(), wanted: Arc::default() };
        asked = (Asked::new(askers.wanted.clone()), inbox, askers.generations.clone());
        let term = move |seed| ArpTerm { layer2: layer2.clone(), askers: askers.of(seed) };
        let term = NodeSpec::new("arp-term-l2bd", answer::Next::ARCS, term).describe(show::describe_frame);
        dataplane.blueprint().node(term).map_err(DataplaneError::from)?;
        bridges
    };
    control.insert_room(bridges);
    changes::register(control);
    loopback::register(control);
    bridges::follow_interfaces(control);
    learning::spawn_tasks(control);
    deciding::register(control);
    set::register(control);
    show::register(control);
    let (asked, inbox, generations) = asked;
    hosts::register(control, asked, inbox, generations);
    api::register(control);
    Ok(())
}

fn register_nodes(
    dataplane: &mut Dataplane,
    layer2: Snapshot<Layer2>,
    learn: learn::L2Learn,
    forward: forward::L2Forward,
) -> Result<(), quiver_engine::GraphError> {
    let (received, sent) = (dataplane.rx_counters().clone(), dataplane.tx_counters().clone());
    let graph = dataplane.blueprint();
    graph.feature_arc(FeatureArcSpec { name: L2_INPUT, end: "l2-input", side: Side::Rx })?;
    graph.feature_arc(FeatureArcSpec { name: L2_OUTPUT, end: "l2-output", side: Side::Tx })?;
    let (input, output) = (input::L2Input(layer2.clone()), output::L2Output(layer2.clone()));
    graph.node(NodeSpec::stage(move |_| input.clone()).describe(show::describe_frame))?;
    graph.node(NodeSpec::stage(move |seed| learn.of(seed)).describe(show::describe_frame))?;
    graph.node(NodeSpec::stage(move |_| forward.clone()).describe(show::describe_frame))?;
    graph.node(NodeSpec::stage(move |_| output.clone()).describe(show::describe_frame))?;
    // VPP's clients ask for the features of layer 2 by the nodes that have them there.
    for (node, names) in [
        ("l2-input", ["l2-input-feat-arc", "l2-input-feat-arc-end"]),
        ("l2-output", ["l2-output-feat-arc", "l2-output-feat-arc-end"]),
    ] {
        names.into_iter().try_for_each(|name| graph.also_known_as(node, name))?;
    }
    let (flooded, diverted, routed) = (layer2.clone(), layer2.clone(), layer2.clone());
    graph.node(NodeSpec::new(dvr::NAME, dvr::Next::ARCS, move |_| dvr::Dvr(routed.clone())))?;
    graph.node(NodeSpec::new("l2-flood", flood::Next::ARCS, move |_| flood::L2Flood(flooded.clone())))?;
    graph.node(NodeSpec::new("l2-uu-fwd", divert::Next::ARCS, move |_| divert::L2Divert(diverted.clone())))?;
    graph.node(NodeSpec::new("bvi-input", bvi::InputNext::ARCS, move |seed| bvi::BviInput {
        layer2: layer2.clone(),
        received: received.row(seed.worker),
    }))?;
    graph.node(NodeSpec::new(bridges::BVI_OUTPUT, bvi::OutputNext::ARCS, move |seed| bvi::BviOutput {
        sent: sent.row(seed.worker),
    }))?;
    graph.feature(FeatureSpec::new("interface-output", bridges::BVI_OUTPUT, Phase::Tunnel))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridges::Mode;
    use quiver_engine::Settings;
    use quiver_interface::Interfaces;
    use quiver_testkit::executor::Executor;

    /// The address of a domain's virtual interface takes an entry of the table, which may be full.
    #[test]
    fn an_interface_that_cannot_join_stays_what_it_was() {
        let control = Executor::new(1).control();
        control.insert_room(Dataplane::new(Settings { buffers: 100, ..Settings::default() }).expect("a data plane"));
        quiver_interface::register(&control).expect("new");
        quiver_ethernet::register(&control).expect("new");
        register_for(&control, 1).expect("new");
        control.put(objects::BridgeDomain::new(1)).expect("new");
        control.put(loopback::Loopback::new("loop0".to_owned())).expect("new");
        let loopback = control.room::<Interfaces>().id_of("loop0").expect("created");
        let filler = quiver_wire::MacAddress([2, 0, 0, 0, 0, 1]);
        control.room_mut::<Bridges>().set_static(1, filler, None).expect("there is room for one");

        let mode = Mode::Member { domain: 1, group: 0, bvi: true, unknown: false };
        let error = bridges::set_mode(&control, loopback, Some(mode)).expect_err("the table is full").to_string();
        assert!(error.contains("all 1 entries are in use"), "{error}");
        {
            let bridges = control.room::<Bridges>();
            assert_eq!((bridges.mode(loopback), bridges.members(1).count(), bridges.bvi(1)), (None, 0, None));
            assert_eq!(bridges.macs.count(), (1, 0));
        }
        control.room_mut::<Bridges>().remove_mac(1, filler);
        control.room::<Dataplane>().reclaim();
        bridges::set_mode(&control, loopback, Some(mode)).expect("there is room now");
        assert_eq!(control.room::<Bridges>().bvi(1), Some(loopback));
    }
}
