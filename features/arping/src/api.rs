//! VPP's messages about arping: `arping.api`.

use quiver_compat::types::{Address, InterfaceIndex};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_control::object::Interval;
use quiver_interface::api::find;
use quiver_wire::MacAddress;

use crate::run::{Answers, Arping, run};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "arping", (1, 0, 0), |file| {
        file.waiting(async |control, request: ArpingRequest| {
            let ArpingRequest { address, sw_if_index, is_garp, repeat, interval } = request;
            let answers = answers(&control, address, sw_if_index, is_garp, (repeat, interval)).await?;
            Ok(ArpingReply { reply_count: answers.count })
        });
        file.waiting(async |control, request: ArpingAcd| {
            let ArpingAcd { address, sw_if_index, is_garp, repeat, interval } = request;
            let answers = answers(&control, address, sw_if_index, is_garp, (repeat, interval)).await?;
            Ok(ArpingAcdReply { reply_count: answers.count, mac_address: answers.from.unwrap_or(MacAddress::ZERO) })
        });
    });
}

/// Ask for an address on a link, or announce it; the answer comes when all is sent and answered, or a second later.
#[derive(Message, Clone, Debug)]
#[message(request, name = "arping", reply = ArpingReply)]
struct ArpingRequest {
    address: Address,
    sw_if_index: InterfaceIndex,
    is_garp: bool,
    #[default(1)]
    repeat: u32,
    #[default(1.0)]
    interval: f64,
}

/// So many answers came.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct ArpingReply {
    reply_count: u32,
}

/// The same, to see whether somebody has the address.
#[derive(Message, Clone, Debug)]
#[message(request, reply = ArpingAcdReply)]
struct ArpingAcd {
    address: Address,
    sw_if_index: InterfaceIndex,
    is_garp: bool,
    #[default(1)]
    repeat: u32,
    #[default(1.0)]
    interval: f64,
}

/// So many answers came, the last one from here.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct ArpingAcdReply {
    reply_count: u32,
    mac_address: MacAddress,
}

async fn answers(
    control: &Control,
    address: Address,
    interface: InterfaceIndex,
    gratuitous: bool,
    (repeat, interval): (u32, f64),
) -> Result<Answers, Refusal> {
    let interface = find(control, interface)?.id;
    let address = address.get();
    let wrong = || Refusal::new(Retval::INVALID_VALUE, "interval: give 0.001 to 3600 seconds");
    let interval = Interval::seconds(interval).ok_or_else(wrong)?.0;
    let wanted = Arping { interface, address, gratuitous, repeat, interval };
    let answers = run(control, wanted, async |_| {}).await;
    answers.map_err(|error| Refusal::new(Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE, format!("sw_if_index: {error}")))
}

#[cfg(test)]
mod tests;
