//! VPP's messages about ping: `ping.api`.

use std::net::IpAddr;

use quiver_compat::api::Adding;
use quiver_compat::types::Address;
use quiver_compat::{Message, Refusal, Retval, Subscribers};
use quiver_control::Control;
use quiver_control::object::Interval;
use quiver_wire::{V4, V6};

use super::{Course, SIZE, prepare, run};
use crate::family::Icmp;

pub(super) fn register(control: &Control) {
    quiver_compat::add(control, "ping", (0, 1, 0), add_messages);
}

/// Sends echo requests, and sends an event after the last one is answered or timed out.
#[derive(Message, Clone, Debug)]
#[message(request, events(PingFinishedEvent))]
struct WantPingFinishedEvents {
    address: Address,
    #[default(1)]
    repeat: u32,
    #[default(1.0)]
    interval: f64,
}

/// Number of echo requests sent and of replies received.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(told)]
struct PingFinishedEvent {
    request_count: u32,
    reply_count: u32,
}

fn add_messages(file: &mut Adding<'_>) {
    let event = file.event();
    file.call(move |call, wanted: WantPingFinishedEvents| {
        let client = Subscribers::new(event);
        client.set(&call.client, 0, true);
        match wanted.address.get() {
            IpAddr::V4(to) => begin::<V4>(&call.control, to, &wanted, client),
            IpAddr::V6(to) => begin::<V6>(&call.control, to, &wanted, client),
        }
    });
}

/// Begins to ask `to` for its echo.
fn begin<F: Icmp>(
    control: &Control,
    to: F::Address,
    wanted: &WantPingFinishedEvents,
    client: Subscribers<PingFinishedEvent>,
) -> Result<(), Refusal> {
    let wrong = || Refusal::new(Retval::INVALID_VALUE, "interval: give 0.001 to 3600 seconds");
    let interval = Interval::seconds(wanted.interval).ok_or_else(wrong)?.0;
    let request = prepare::<F>(control, to, None, None, SIZE as usize);
    let request = request.map_err(|(_, what)| Refusal::new(Retval::INVALID_VALUE, format!("address: {what}")))?;
    // As in VPP, whose clients wait for the event about as long as all intervals together.
    let course = Course { repeat: wanted.repeat, burst: 1, interval, last: interval };
    let of = control.clone();
    control.spawn("ping of a client", async move {
        let outcome = run(&of, &request, &course, || !client.is_empty(), async |_| {}).await;
        client.tell(&PingFinishedEvent { request_count: outcome.sent, reply_count: outcome.received });
    });
    Ok(())
}

#[cfg(test)]
mod tests;
