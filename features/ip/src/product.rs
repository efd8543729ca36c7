//! The fused paths of packets that are routed: from the link layer's header to the neighbour's.

use quiver_engine::{Chain, Link, ProductSpec, Seed};
use quiver_ethernet::EthernetInput;
use quiver_ethernet::input::Next as EthernetNext;
use quiver_wire::{V4, V6};

use crate::family::Family;
use crate::node::input::{Input, UNICAST};
use crate::node::lookup::{Lookup, Next as LookupNext};
use crate::node::rewrite::{Next as RewriteNext, Rewrite};

/// From `ip4-input` or `ip6-input` to whatever sends.
pub type Routing<F, R> = Chain<Link<Input<F>>, UNICAST, Chain<Link<Lookup<F>>, { LookupNext::Rewrite as u16 }, R>>;
/// A frame for us that is routed, of IPv4.
pub type Routed4<R> = Chain<Link<EthernetInput>, { EthernetNext::Ip4 as u16 }, Routing<V4, R>>;
/// The same of IPv6.
pub type Routed6<R> = Chain<Link<EthernetInput>, { EthernetNext::Ip6 as u16 }, Routing<V6, R>>;

/// The stages of routing as each worker's nodes have them.
pub type Stages<F> = (Input<F>, Lookup<F>, Rewrite<F>);

/// Chains them; `end` makes what sends, from the last stage on.
fn routing<F: Family, R>(stages: Stages<F>, end: impl FnOnce(Link<Rewrite<F>>) -> R) -> Routing<F, R> {
    let (input, lookup, rewrite) = stages;
    Chain(Link(input), Chain(Link(lookup), end(Link(rewrite))))
}

/// Chains the stages of IPv4 behind `ethernet-input`.
pub fn routed4<R>(
    ethernet: &EthernetInput,
    stages: Stages<V4>,
    end: impl FnOnce(Link<Rewrite<V4>>) -> R,
) -> Routed4<R> {
    Chain(Link(ethernet.clone()), routing(stages, end))
}

/// Those of IPv6.
pub fn routed6<R>(
    ethernet: &EthernetInput,
    stages: Stages<V6>,
    end: impl FnOnce(Link<Rewrite<V6>>) -> R,
) -> Routed6<R> {
    Chain(Link(ethernet.clone()), routing(stages, end))
}

pub(crate) fn ip4(
    applies: impl Fn(u16) -> bool + 'static,
    ethernet: EthernetInput,
    stages: impl Fn(Seed) -> Stages<V4> + 'static,
) -> ProductSpec {
    let make = move |seed| routed4(&ethernet, stages(seed), |rewrite| rewrite);
    ProductSpec::new("ip4", RewriteNext::Output, applies, make)
}

pub(crate) fn ip6(
    applies: impl Fn(u16) -> bool + 'static,
    ethernet: EthernetInput,
    stages: impl Fn(Seed) -> Stages<V6> + 'static,
) -> ProductSpec {
    let make = move |seed| routed6(&ethernet, stages(seed), |rewrite| rewrite);
    ProductSpec::new("ip6", RewriteNext::Output, applies, make)
}
