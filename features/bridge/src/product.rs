//! The fused paths of layer 2: cross-connect, and a bridge between known stations.

use quiver_engine::{Chain, Dataplane, Link, ProductSpec};
use quiver_ethernet::EthernetInput;

use crate::bridges::Functions;
use crate::{forward, input, learn, output};

const TO_LAYER2: u16 = quiver_ethernet::input::Next::Layer2 as u16;
const CONNECT: u16 = input::Next::Connect as u16;
const LEARN: u16 = input::Next::Learn as u16;
const FORWARD: u16 = learn::Next::Forward as u16;
const KNOWN: u16 = forward::Next::Output as u16;

/// The stages of layer 2, as nodes have them.
#[derive(Clone)]
pub struct Stages {
    pub(crate) input: input::L2Input,
    pub(crate) learn: learn::L2Learn,
    pub(crate) forward: forward::L2Forward,
    pub(crate) output: output::L2Output,
}

/// From `l2-input` of a cross-connect to whatever sends.
pub type Connecting<R> = Chain<Link<input::L2Input>, CONNECT, R>;
/// From `l2-input` of a domain's member.
pub type Bridging<R> =
    Chain<Link<input::L2Input>, LEARN, Chain<Link<learn::L2Learn>, FORWARD, Chain<Link<forward::L2Forward>, KNOWN, R>>>;

impl Stages {
    /// Chains a cross-connect; `end` makes what sends, from the last stage on.
    pub fn connecting<R>(&self, end: impl FnOnce(Link<output::L2Output>) -> R) -> Connecting<R> {
        Chain(Link(self.input.clone()), end(Link(self.output.clone())))
    }
    /// The same for a bridge.
    pub fn bridging<R>(&self, end: impl FnOnce(Link<output::L2Output>) -> R) -> Bridging<R> {
        let Stages { input, learn, forward, output } = self.clone();
        Chain(Link(input), Chain(Link(learn), Chain(Link(forward), end(Link(output)))))
    }
}

/// Where all that takes part has a port of its own.
pub(crate) fn register(dataplane: &mut Dataplane, ethernet: EthernetInput, stages: &Stages, functions: &Functions) {
    let (parts, asked, own, first) =
        (dataplane.parts().clone(), functions.clone(), stages.clone(), Link(ethernet.clone()));
    dataplane.product(ProductSpec::new(
        "l2-xconnect",
        output::Next::Output,
        move |interface| asked.peer(interface).is_some_and(|peer| !parts.contains(peer)),
        move |_| Chain::<_, TO_LAYER2, _>(first.clone(), own.connecting(|output| output)),
    ));
    let (parts, asked, own, first) = (dataplane.parts().clone(), functions.clone(), stages.clone(), Link(ethernet));
    dataplane.product(ProductSpec::new(
        "l2-bridge",
        output::Next::Output,
        move |interface| asked.is_bridged(interface) && !asked.has_member(interface, |member| parts.contains(member)),
        move |_| Chain::<_, TO_LAYER2, _>(first.clone(), own.bridging(|output| output)),
    ));
}
