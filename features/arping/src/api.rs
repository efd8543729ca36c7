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

/// Sends ARP requests or neighbor solicitations for an address, or gratuitous announcements. The reply comes after
/// all answers, or 1 s after the last request.
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

/// Number of answers that were received.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct ArpingReply {
    reply_count: u32,
}

/// Checks an address for conflicts: sends the same packets as `arping`, and reports which MAC address answers.
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

/// Number of answers, and the MAC address that sent the last one.
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
