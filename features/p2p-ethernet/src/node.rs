//! `p2p-ethernet-input`: frames of stations that have a part of their interface are received by it, and go the way of all
//! received frames from there. Those of other stations stay the whole interface's.
//!
//! Drops: `interface-down`, for a station whose part is down.

use std::sync::Arc;

use quiver_engine::counters::Row;
use quiver_engine::{Context, Frame, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_table::SharedMap;
use quiver_wire::{EthernetHeader, Header, MacAddress};

/// The node's name.
pub(crate) const NAME: &str = "p2p-ethernet-input";

arcs! {
    /// Where frames go from `p2p-ethernet-input`.
    pub enum Next {
        Pass => next_feature,
        Found => features "device-input",
        Down => drop "interface-down",
    }
}

/// The part that has a station's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number.
    pub interface: InterfaceId,
    /// Whether it is up.
    pub up: bool,
}

/// Stations by the interface behind which they are, and by address.
pub type Known = SharedMap<(u32, MacAddress), Part>;

/// The node.
pub struct P2pInput {
    pub(crate) known: Snapshot<Known>,
    pub(crate) received: Arc<Row>,
}

impl Node for P2pInput {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let known = self.known.read(cx.guard);
        for i in 0..frame.len() {
            // What is too short for a header is none of ours: `ethernet-input` says so.
            let source = EthernetHeader::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.source);
            let part = source.and_then(|source| known.get(&(frame.rx[i], source)));
            frame.next[i] = match part {
                None => Next::Pass,
                Some(Part { up: false, .. }) => Next::Down,
                Some(Part { interface, up: true }) => {
                    frame.rx[i] = interface.0;
                    self.received.add(interface.0, 1, frame.length[i].into());
                    Next::Found
                }
            }
            .into();
        }
    }
}
