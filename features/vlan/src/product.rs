//! The fused paths of frames that come or go by sub-interfaces, or whose tags are rewritten: from a sub-interface (`vlan-`
//! in front of the product's name), or to one (`-vlan` behind it). Tags come off and go on in registers.

use std::rc::Rc;

use quiver_bridge::bridges::Bridges;
use quiver_bridge::output::{L2Output, Next as Layer2Output};
use quiver_control::Control;
use quiver_engine::{Chain, Dataplane, Link, Optional, Path, ProductSpec, Stage};
use quiver_ethernet::EthernetInput;
use quiver_ethernet::input::Next as EthernetNext;
use quiver_ip::Ip4;
use quiver_ip::node::rewrite::{Next as RewriteNext, Rewrite};
use quiver_ip::product::routed4;
use quiver_wire::V4;

use crate::edit::Rewriter;
use crate::input::{Next as InputNext, VlanInput};
use crate::output::{Next, VlanOutput};

const TO_LAYER2: u16 = EthernetNext::Layer2 as u16;
const TO_VLAN: u16 = EthernetNext::Vlan as u16;
const PART_OF_LAYER2: u16 = InputNext::Layer2 as u16;
const PART_OF_LAYER3: u16 = InputNext::Ethernet as u16;
const SENT: u16 = Layer2Output::Output as u16;
const ROUTED: u16 = RewriteNext::Output as u16;

/// The room's stages, as nodes have them.
#[derive(Clone)]
pub(crate) struct Stages {
    /// Of a worker.
    pub input: Rc<dyn Fn(usize) -> VlanInput>,
    pub taken: Rewriter<false>,
    pub given: Rewriter<true>,
    pub output: VlanOutput,
}

type Edited<R> = Chain<Optional<Rewriter<false>>, 0, R>;
type Sent = Chain<Optional<Rewriter<true>>, 0, Chain<Link<L2Output>, SENT, Optional<VlanOutput>>>;

impl Stages {
    /// Layer 2, with rewrites on its way in.
    fn edited<R>(&self, inside: R) -> Edited<R> {
        Chain(Optional::new(self.taken.clone()), inside)
    }
    /// The end of layer 2, with rewrites on its way out.
    fn sent(&self, output: Link<L2Output>) -> Sent {
        Chain(Optional::new(self.given.clone()), Chain(output, Optional::new(self.output.clone())))
    }
    fn tagged(&self, rewrite: Link<Rewrite<V4>>) -> Chain<Link<Rewrite<V4>>, ROUTED, Optional<VlanOutput>> {
        Chain(rewrite, Optional::new(self.output.clone()))
    }
}

/// Registers the products; layer 2 and IPv4 are there already.
pub fn register(control: &Control) {
    let mut dataplane = control.room_mut::<Dataplane>();
    let ethernet = EthernetInput::of(&control.room());
    let stages = control.room::<Stages>().clone();
    let layer2 = control.room::<quiver_bridge::product::Stages>().clone();
    let functions = control.room::<Bridges>().functions();
    let connects = {
        let functions = functions.clone();
        move |interface| functions.peer(interface).is_some()
    };
    let bridges = move |interface| functions.is_bridged(interface);

    let (own, inside) = (stages.clone(), layer2.clone());
    let connecting = move || own.edited(inside.connecting(|output| own.sent(output)));
    let (own, inside) = (stages.clone(), layer2);
    let bridging = move || own.edited(inside.bridging(|output| own.sent(output)));
    let whole = Whole { ethernet: ethernet.clone(), input: stages.input.clone() };
    whole.layer2(&mut dataplane, ["l2-xconnect-vlan", "vlan-l2-xconnect"], connects, connecting);
    whole.layer2(&mut dataplane, ["l2-bridge-vlan", "vlan-l2-bridge"], bridges, bridging);

    let (layer3, routes, of_worker) = {
        let ip = control.room::<Ip4>();
        (control.room::<quiver_ethernet::Ports>().layer3(), ip.routes(), ip.stages())
    };
    let applies = Rc::new(move |interface| layer3(interface) && routes(interface));
    let (first, own, of, asked) = (ethernet.clone(), stages.clone(), of_worker.clone(), applies.clone());
    dataplane.product(ProductSpec::new(
        "ip4-vlan",
        Next::Next,
        move |interface| asked(interface),
        move |seed| routed4(&first, of(seed), |rewrite| own.tagged(rewrite)),
    ));
    dataplane.product(ProductSpec::new(
        "vlan-ip4",
        Next::Next,
        move |interface| applies(interface),
        move |seed| {
            let inside = routed4(&ethernet, of_worker(seed), |rewrite| stages.tagged(rewrite));
            let part = Chain::<_, PART_OF_LAYER3, _>(Link((stages.input)(seed.worker)), inside);
            Chain::<_, TO_VLAN, _>(Link(ethernet.clone()), part)
        },
    ));
}

/// What is in front of layer 2.
struct Whole {
    ethernet: EthernetInput,
    input: Rc<dyn Fn(usize) -> VlanInput>,
}

impl Whole {
    /// Registers a function of layer 2 for whole interfaces and for parts of them.
    fn layer2<S: Stage + Path>(
        &self,
        dataplane: &mut Dataplane,
        [of_whole, of_part]: [&'static str; 2],
        applies: impl Fn(u16) -> bool + Clone + 'static,
        inside: impl Fn() -> S + Clone + 'static,
    ) {
        let (ethernet, asked, function) = (self.ethernet.clone(), applies.clone(), inside.clone());
        dataplane.product(ProductSpec::new(of_whole, Next::Next, asked, move |_| {
            Chain::<_, TO_LAYER2, _>(Link(ethernet.clone()), function())
        }));
        let (ethernet, input) = (self.ethernet.clone(), self.input.clone());
        dataplane.product(ProductSpec::new(of_part, Next::Next, applies, move |seed| {
            let part = Chain::<_, PART_OF_LAYER2, _>(Link(input(seed.worker)), inside());
            Chain::<_, TO_VLAN, _>(Link(ethernet.clone()), part)
        }));
    }
}
