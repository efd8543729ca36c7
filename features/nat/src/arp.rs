//! ARP for addresses to which hosts are translated. Routers on the link of an outside interface ask for these addresses, and get its MAC address, as
//! from VPP.

use quiver_control::Control;
use quiver_interface::{Direction, FeatureSettings};
use quiver_ip::Ip4;
use quiver_neighbor::{Protocol, ReceivedMessage, answer, answer_for, is_ours, learn};
use quiver_wire::V4;

use crate::config::NatInterface;
use crate::room::Nat;
use crate::sides::{OUTPUT, OUTSIDE};

pub(crate) fn register(control: &Control) {
    answer::<V4>(control, hear);
}

/// Answers a request for an address of a pool or of a mapping. The room of neighbors answers for addresses of interfaces.
fn hear(control: &Control, heard: &ReceivedMessage<V4>) -> bool {
    let id = heard.interface;
    let sides = control.room::<FeatureSettings<NatInterface>>().at(Direction::Rx, id).bits;
    let Some(question) = V4::question_in(&heard.message).filter(|_| sides & (OUTSIDE | OUTPUT) != 0) else {
        return false;
    };
    let is_translated = control.room::<Nat>().current().is_outside(question.target.to_bits());
    if !is_translated || is_ours::<V4>(control, (id, question.target)) {
        return false;
    }
    // Its packets come next.
    if !control.room::<Ip4>().current().is_own(id, question.sender) {
        question.mac.into_iter().for_each(|mac| learn::<V4>(control, (id, question.sender), mac, true));
    }
    answer_for::<V4>(control, heard, &question)
}
