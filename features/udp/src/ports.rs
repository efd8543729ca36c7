//! Receivers of ports. A room that takes ports opens an arc to its node when it registers, and claims and releases
//! ports at any time.

use std::marker::PhantomData;

use quiver_control::Control;
use quiver_engine::{ArcSpec, Dataplane, DataplaneError, Domain, GraphError, Paged, Publisher, Snapshot};
use quiver_wire::UdpPort;

use crate::family::Udp;
use crate::node::Next;

/// The ports of a family, as workers read them: the arc of each.
pub struct Ports<F: Udp> {
    published: Publisher<Paged<u16>>,
    family: PhantomData<F>,
}

impl<F: Udp> Ports<F> {
    pub(crate) fn new(domain: &Domain) -> Ports<F> {
        Ports { published: Publisher::new(domain, Paged::default()), family: PhantomData }
    }
    pub(crate) fn snapshot(&self) -> Snapshot<Paged<u16>> {
        self.published.snapshot()
    }
    fn set(&mut self, port: UdpPort, arc: u16) {
        let mut ports = self.published.current().clone();
        *ports.get_mut(port.0.into()) = arc;
        self.published.publish(ports);
    }
}

/// Gives the node of a family an arc to a room's node, by which packets of ports can leave that the room claims later.
///
/// # Errors
/// If the data plane runs.
pub fn open<F: Udp>(control: &Control, node: &'static str) -> Result<(), DataplaneError> {
    control.room_mut::<Dataplane>().blueprint().add_arc(F::NODE, ArcSpec::to_node(node))?;
    Ok(())
}

/// Has packets for us of a port go to a node, to which an arc was opened ([`open`]), with `offset` at their IP headers.
///
/// # Errors
/// If another node takes them already, or none was opened.
pub fn claim<F: Udp>(control: &Control, port: UdpPort, node: &'static str) -> Result<(), GraphError> {
    let arc = control.room_mut::<Dataplane>().blueprint().claim(F::NODE, port, ArcSpec::to_node(node))?;
    control.room_mut::<Ports<F>>().set(port, arc);
    Ok(())
}

/// Gives a port back.
pub fn release<F: Udp>(control: &Control, port: UdpPort) {
    control.room_mut::<Dataplane>().blueprint().release(F::NODE, port);
    control.room_mut::<Ports<F>>().set(port, Next::Unclaimed.into());
}
