//! ICMP for IPv4: answers to echo requests, errors, and `ping`.
//!
//! - [`input`]: the node `icmp4-input`; [`error`]: the node `icmp4-error`.
//! - [`ping`]: echo requests of our own, and the command.
#![forbid(unsafe_code)]

pub mod error;
pub mod input;
pub mod ping;

use quiver_control::Control;
use quiver_engine::{Dataplane, DataplaneError, NodeSpec};
use quiver_ip::Ip4;
use quiver_ip::node::describe;

/// Registers the nodes and the command. The room of IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let ingress = control.room::<Ip4>().ingress();
    let heard = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let (outbox, heard) = quiver_engine::channel::channel(ping::HEARD_MAX, dataplane.bell());
        let graph = dataplane.blueprint();
        let error = move |_| error::Icmp4Error::new(ingress.clone());
        graph.node(NodeSpec::new("icmp4-error", error::Next::ARCS, error).describe(describe))?;
        let input = move |_| input::Icmp4Input { heard: outbox.clone() };
        graph.node(NodeSpec::new("icmp4-input", input::Next::ARCS, input).describe(describe))?;
        heard
    };
    ping::register(control, heard);
    Ok(())
}
