//! `arp-input`, `nd-input`: messages about neighbours, checked and told to control, which answers and learns.
//!
//! Control keeps the only table, so an answer comes from there; it takes one wake-up of the control thread.

use std::collections::BTreeSet;

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame, Generations, Node, NodeSpec, Seed, Snapshot};
use quiver_interface::InterfaceId;
use quiver_ip::Ingress;
use quiver_ip::node::station;
use quiver_wire::MacAddress;

use crate::counted::Counted;
use crate::protocol::Protocol;
use crate::resolve::NeighborKey;

/// The arc of messages that control has been told of.
pub const HEARD: u16 = 0;
/// Arc of the messages that control sends.
pub const SEND: u16 = 1;
/// Arc of messages that control had no room for.
pub const BUSY: u16 = 2;

/// A message that a node passes to control.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedMessage<F: Protocol> {
    /// The interface.
    pub interface: InterfaceId,
    /// The interface's, when it was heard.
    pub generation: u32,
    /// Where its frame came from, if the link has such addresses.
    pub station: Option<MacAddress>,
    /// The message.
    pub message: F::Message,
}

/// Hosts, with the links on which they are.
pub type Guests<F> = BTreeSet<NeighborKey<F>>;

/// The node.
pub struct NeighborInput<F: Protocol> {
    /// The interfaces' addresses.
    pub ingress: Snapshot<Ingress<F>>,
    /// Hosts that belong on a link though none of its subnets has their addresses.
    pub guests: Snapshot<Guests<F>>,
    /// Tells interfaces of one number apart.
    pub generations: Generations,
    /// Queue to control.
    pub heard: Outbox<ReceivedMessage<F>>,
    /// Counts of this worker.
    pub counted: Counted,
}

impl<F: Protocol> Node for NeighborInput<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (ingress, guests) = (self.ingress.read(cx.guard), self.guests.read(cx.guard));
        for i in 0..frame.len() {
            let interface = InterfaceId(frame.rx[i]);
            let is_guest = |address| guests.contains(&(interface, address));
            frame.next[i] = match F::read(frame.bytes(cx.pool, i), ingress, interface, is_guest) {
                Ok(message) => {
                    self.counted.add(interface, F::sort(&message));
                    let generation = self.generations.of(interface.0);
                    let station = station(cx, frame, i);
                    match self.heard.send(ReceivedMessage { interface, generation, station, message }) {
                        true => HEARD,
                        false => BUSY,
                    }
                }
                Err(reason) => reason,
            };
        }
    }
}

/// The spec of the node that hears a protocol's messages.
pub(crate) fn node<F: Protocol>(make: impl Fn(Seed) -> NeighborInput<F> + 'static) -> NodeSpec {
    NodeSpec::new(F::NODE, F::ARCS, make).describe(F::trace)
}
