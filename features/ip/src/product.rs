//! The fused path of packets that are routed: from the link layer's header to the neighbour's.

use quiver_engine::{Chain, Link, ProductSpec, Seed};
use quiver_ethernet::EthernetInput;
use quiver_ethernet::input::Next as EthernetNext;

use crate::node::input::{Ip4Input, Next as InputNext};
use crate::node::lookup::{Ip4Lookup, Next as LookupNext};
use crate::node::rewrite::{Ip4Rewrite, Next as RewriteNext};

/// From `ip4-input` to whatever sends.
pub type Routing<R> =
    Chain<Link<Ip4Input>, { InputNext::Unicast as u16 }, Chain<Link<Ip4Lookup>, { LookupNext::Rewrite as u16 }, R>>;
/// A frame for us that is routed.
pub type Routed<R> = Chain<Link<EthernetInput>, { EthernetNext::Ip4 as u16 }, Routing<R>>;

/// The stages of routing as each worker's nodes have them.
pub type Stages = (Ip4Input, Ip4Lookup, Ip4Rewrite);

/// Chains them; `end` makes what sends, from the last stage on.
pub fn routed<R>(ethernet: &EthernetInput, stages: Stages, end: impl FnOnce(Link<Ip4Rewrite>) -> R) -> Routed<R> {
    let (input, lookup, rewrite) = stages;
    Chain(Link(ethernet.clone()), Chain(Link(input), Chain(Link(lookup), end(Link(rewrite)))))
}

pub(crate) fn routing(
    applies: impl Fn(u16) -> bool + 'static,
    ethernet: EthernetInput,
    stages: impl Fn(Seed) -> Stages + 'static,
) -> ProductSpec {
    ProductSpec::new("ip4", RewriteNext::Output, applies, move |seed| -> Routed<Link<Ip4Rewrite>> {
        routed(&ethernet, stages(seed), |rewrite| rewrite)
    })
}
