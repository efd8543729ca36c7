//! The fused paths of packets that are routed if there is a way back to their senders.

use quiver_control::Control;
use quiver_engine::{Chain, Dataplane, Link, Optional, ProductSpec};
use quiver_ethernet::EthernetInput;
use quiver_ip::Ip;
use quiver_ip::node::input::UNICAST;
use quiver_ip::node::lookup::Next as LookupNext;
use quiver_ip::node::rewrite::Next as RewriteNext;
use quiver_ip::room::applies;

use crate::config::Checked;
use crate::node::{Next, ReversePath};
use crate::ways::Ways;

const PASS: u16 = Next::Pass as u16;
const REWRITE: u16 = LookupNext::Rewrite as u16;

/// Registers the product of a family, whose packets leave `ethernet-input` by this arc.
pub(crate) fn register<F: Checked, const ARC: u16>(control: &Control, ways: Ways<F>) {
    let ethernet = EthernetInput::of(&control.room());
    let stages = control.room::<Ip<F>>().stages();
    let (loose, strict) = (ReversePath::<F, false, false>(ways.clone()), ReversePath::<F, false, true>(ways));
    let make = move |seed| {
        let (input, lookup, rewrite) = stages(seed);
        let routing = Chain::<_, REWRITE, _>(Link(lookup), Link(rewrite));
        let checked = Chain::<_, PASS, _>(Optional::new(strict.clone()), routing);
        let checked = Chain::<_, PASS, _>(Optional::new(loose.clone()), checked);
        Chain::<_, ARC, _>(Link(ethernet.clone()), Chain::<_, UNICAST, _>(Link(input), checked))
    };
    let product = ProductSpec::new(F::PRODUCT, RewriteNext::Output, applies::<F>(control), make);
    control.room_mut::<Dataplane>().product(product);
}
