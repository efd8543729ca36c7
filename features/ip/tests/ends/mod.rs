//! The nodes that IPv4 forwarding leads to and other rooms have, as ends that only count; and a product of the whole path,
//! which shows that the stages can be chained.

use quiver_control::Control;
use quiver_engine::*;
use quiver_ethernet::EthernetInput;
use quiver_ethernet::input::Next as EthernetNext;
use quiver_ip::Ip4;
use quiver_ip::node::input::{Ip4Input, Next as InputNext};
use quiver_ip::node::lookup::{Ip4Lookup, Next as LookupNext};
use quiver_ip::node::rewrite::{Ip4Rewrite, Next as RewriteNext};

arcs! {
    /// The only arc of an end.
    pub enum Next {
        End => drop "end",
    }
}

struct End;
impl Node for End {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

type Ip4Chain = Chain<
    EthernetInput,
    { EthernetNext::Ip4 as u16 },
    Chain<Ip4Input, { InputNext::Unicast as u16 }, Chain<Ip4Lookup, { LookupNext::Rewrite as u16 }, Last<Ip4Rewrite>>>,
>;

pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let ip = control.room::<Ip4>();
    let (ingress, groups) = (ip.ingress(), ip.fib.groups.snapshot());
    let (adjacencies, sent) = (ip.fib.adjacencies.snapshot(), ip.fib.adjacencies.counters().clone());
    let ethernet = EthernetInput::of(&control.room::<quiver_ethernet::Ports>());
    let mut dataplane = control.room_mut::<Dataplane>();
    let graph = dataplane.blueprint();
    for name in ["arp-input", "vlan-input", "l2-end", "ip4-resolve", "icmp4-error", "icmp4-input"] {
        graph.node(NodeSpec::new(name, Next::ARCS, |_| End))?;
    }
    graph.feature_arc(FeatureArcSpec { name: "l2-input", end: "l2-end", side: Side::Rx })?;
    let chain = move |seed: Seed| -> Ip4Chain {
        let (ingress, groups) = (ingress.clone(), groups.clone());
        let input = Ip4Input { ingress: ingress.clone() };
        let lookup = Ip4Lookup { ingress, groups, worker: seed.worker };
        let rewrite = Ip4Rewrite { adjacencies: adjacencies.clone(), sent: sent.row(seed.worker) };
        Chain(ethernet.clone(), Chain(input, Chain(lookup, Last(rewrite))))
    };
    dataplane.product(ProductSpec::new("ip4", RewriteNext::Output, |_| true, chain));
    Ok(())
}
