//! VPP's messages about bridges, `l2.api`, and about interfaces without hardware.
//!
//! - `domains`: bridge domains; `members`: interfaces of layer 2, and what they let happen; `macs`: addresses;
//!   `events`: clients that want to hear of addresses; `hosts`: for whom domains answer questions; `loopbacks`: loopbacks and virtual interfaces.

use quiver_compat::{Refusal, Retval};
use quiver_control::Control;
use quiver_interface::api::FILE;

use crate::objects::BridgeDomain;

mod domains;
mod events;
mod hosts;
mod loopbacks;
mod macs;
mod members;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "l2", (3, 3, 0), |file| {
        domains::add_messages(file);
        members::add_messages(file);
        macs::add_messages(file);
        events::add_messages(control, file);
        loopbacks::add_virtual_messages(file);
        hosts::add_messages(control, file);
    });
    quiver_compat::add(control, FILE.0, FILE.1, loopbacks::add_messages);
    events::spawn_task(control);
}

/// The domain of this number.
fn domain(control: &Control, id: u32) -> Result<BridgeDomain, Refusal> {
    if id == 0 {
        return Err(Refusal::new(Retval::BD_NOT_MODIFIABLE, "bd_id: 0 is none that clients change"));
    }
    let domain = control.objects().get::<BridgeDomain>(&id);
    let missing = || Refusal::new(Retval::NO_SUCH_ENTRY, format!("bd_id: there is no bridge domain {id}"));
    domain.map(|domain| BridgeDomain::clone(&domain)).ok_or_else(missing)
}

#[cfg(test)]
mod tests;
