//! Point-to-point Ethernet: parts of an interface, each with the frames of one station on its link, as access networks have
//! them for their subscribers.
//!
//! - [`node`]: the node `p2p-ethernet-input`, a feature of the arc in front of `ethernet-input`.
//! - [`config`]: the objects of kind `p2p-ethernets`, and the commands; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
pub mod config;
pub mod node;

pub use config::P2pEthernet;

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase, Seed};
use quiver_ethernet::DEVICE_INPUT;
use quiver_interface::{InterfaceId, Interfaces, decides, restores};
use quiver_wire::{EthernetHeader, Header};

use crate::config::Stations;
use crate::node::{NAME, Next, P2pInput};

/// Registers the room. Ethernet and sub-interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let stations = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let stations = Stations::new(dataplane.domain());
        let (known, counters) = (stations.snapshot(), dataplane.rx_counters().clone());
        let graph = dataplane.blueprint();
        let input = move |seed: Seed| P2pInput { known: known.clone(), received: counters.row(seed.worker) };
        graph.node(NodeSpec::new(NAME, Next::ARCS, input))?;
        graph.feature(FeatureSpec::new(DEVICE_INPUT, NAME, Phase::Tunnel))?;
        // VPP's clients look for the stations' frames among the errors.
        dataplane.also_called((NAME, Next::ARCS[Next::Found as usize].name), &format!("{NAME}/hits"))?;
        stations
    };
    decides(control, NAME, |control, record| {
        let (ethernet, _) = EthernetHeader::parse(&record.bytes)?;
        let part = control.room::<Stations>().part(InterfaceId(record.rx), ethernet.source);
        let part = part.map(|part| control.room::<Interfaces>().name(part));
        Some(part.map_or_else(|| "no p2p-ethernets".to_owned(), |part| format!("p2p-ethernets {part}")))
    });
    restores(control, |control, part, frame, _| {
        let (ethernet, _) = EthernetHeader::parse(frame)?;
        let its = control.room::<Stations>().part(part.parent?, ethernet.source);
        (its == Some(part.id)).then(|| frame.to_vec())
    });
    control.insert_room(stations);
    control.objects().add(Kind::new(config::apply).check(config::check).memory(|_| quiver_interface::MEMORY));
    config::register(control);
    api::register(control);
    Ok(())
}
