//! The nodes of a bridge's virtual interface, through which its domain meets layer 3.
//!
//! `bvi-input` takes frames from the domain: the virtual interface receives them, and they continue as received frames
//! do. `bvi-output`, a feature of virtual interfaces that are up, puts the packets that layer 3 sends by one into the
//! domain.
//!
//! Drops: `interface-down`, by `bvi-input`.

use std::sync::Arc;

use quiver_engine::counters::Row;
use quiver_engine::{Context, Frame, Node, Snapshot, arcs};

use crate::layer2::{Layer2, Port};

arcs! {
    /// Where frames from the domain go.
    pub enum InputNext {
        Ethernet => node "ethernet-input",
        Down => drop "interface-down",
    }
}

/// `bvi-input`.
pub struct BviInput {
    pub(crate) layer2: Snapshot<Layer2>,
    pub(crate) received: Arc<Row>,
}

impl Node for BviInput {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let layer2 = self.layer2.read(cx.guard);
        for i in 0..frame.len() {
            let interface = frame.tx[i];
            if layer2.port(interface).word & Port::VIRTUAL == 0 {
                frame.next[i] = InputNext::Down.into();
                continue;
            }
            frame.rx[i] = interface;
            self.received.add(interface, 1, frame.length[i].into());
        }
    }
}

arcs! {
    /// Where frames from layer 3 go.
    pub enum OutputNext {
        Bridge => features "l2-input",
    }
}

/// `bvi-output`.
pub struct BviOutput {
    pub(crate) sent: Arc<Row>,
}

impl Node for BviOutput {
    fn process(&mut self, _: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let interface = frame.tx[i];
            frame.rx[i] = interface;
            self.sent.add(interface, 1, frame.length[i].into());
        }
    }
}
