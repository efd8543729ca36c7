//! The fused path of packets that are routed: from the link layer's header to the neighbour's.

use quiver_engine::{Chain, Last, ProductSpec, Seed};
use quiver_ethernet::EthernetInput;
use quiver_ethernet::input::Next as EthernetNext;

use crate::node::input::{Ip4Input, Next as InputNext};
use crate::node::lookup::{Ip4Lookup, Next as LookupNext};
use crate::node::rewrite::{Ip4Rewrite, Next as RewriteNext};

type Routing = Chain<EthernetInput, { EthernetNext::Ip4 as u16 }, Ip4Routing>;
type Ip4Routing =
    Chain<Ip4Input, { InputNext::Unicast as u16 }, Chain<Ip4Lookup, { LookupNext::Rewrite as u16 }, Last<Ip4Rewrite>>>;

/// The stages of routing as each worker's nodes have them.
pub(crate) fn routing(
    applies: impl Fn(u16) -> bool + 'static,
    ethernet: EthernetInput,
    stages: impl Fn(Seed) -> (Ip4Input, Ip4Lookup, Ip4Rewrite) + 'static,
) -> ProductSpec {
    ProductSpec::new("ip4", RewriteNext::Output, applies, move |seed| -> Routing {
        let (input, lookup, rewrite) = stages(seed);
        Chain(ethernet.clone(), Chain(input, Chain(lookup, Last(rewrite))))
    })
}
