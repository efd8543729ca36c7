//! VPP's messages about duplicate address detection: `ip6_dad.api`.
//!
//! - `event`: what has become of an address, and who is told.

use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_control::object::Interval;

use crate::check::Checks;
use crate::objects::DuplicateAddressDetection;

pub(crate) mod event;

pub(crate) fn register(control: &Control) {
    let listeners = quiver_compat::add(control, "ip6_dad", (1, 0, 0), |file| {
        file.request(ip6_dad_enable_disable);
        file.dump(|control, _: Ip6DadDump| vec![details(control)]);
        event::add(file)
    });
    control.room_mut::<Checks>().listeners = listeners;
}

/// Enables or disables duplicate address detection, and sets the number of probes and the interval between them.
#[derive(Message, Clone, Debug)]
#[message(request, name = "ip6_dad_enable_disable")]
struct Ip6DadEnableDisable {
    #[default(true)]
    enable: bool,
    #[default(1)]
    dad_transmits: u8,
    #[default(1.0)]
    dad_retransmit_delay: f64,
}

fn ip6_dad_enable_disable(control: &Control, request: Ip6DadEnableDisable) -> Result<(), Refusal> {
    let Ip6DadEnableDisable { enable, dad_transmits: transmits, dad_retransmit_delay: delay } = request;
    let name = DuplicateAddressDetection::NAME.to_owned();
    if !enable {
        return match control.objects().get::<DuplicateAddressDetection>(&name) {
            Some(_) => Ok(control.delete::<DuplicateAddressDetection>(&name)?),
            None => Ok(()),
        };
    }
    if !DuplicateAddressDetection::TRANSMITS.contains(&transmits) {
        return Err(Refusal::new(Retval::INVALID_VALUE, "dad_transmits: give 1 to 10"));
    }
    let within = DuplicateAddressDetection::DELAY.contains(&delay).then(|| Interval::seconds(delay)).flatten();
    let wrong = || Refusal::new(Retval::INVALID_VALUE_2, "dad_retransmit_delay: give 0.1 to 10 seconds");
    Ok(control.put(DuplicateAddressDetection { name, transmits, delay: within.ok_or_else(wrong)? })?)
}

/// Dumps the settings of duplicate address detection.
#[derive(Message, Clone, Debug)]
#[message(dump, name = "ip6_dad_dump", details = Ip6DadDetails)]
struct Ip6DadDump;

/// Describes duplicate address detection: its state, number of probes and interval.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details, name = "ip6_dad_details")]
struct Ip6DadDetails {
    enabled: bool,
    dad_transmits: u8,
    dad_retransmit_delay: f64,
}

fn details(control: &Control) -> Ip6DadDetails {
    let name = DuplicateAddressDetection::NAME.to_owned();
    let configured = control.objects().get::<DuplicateAddressDetection>(&name);
    let enabled = configured.is_some();
    let settings = configured.map_or_else(|| DuplicateAddressDetection::new(name), |settings| (*settings).clone());
    let dad_retransmit_delay = settings.delay.0.as_secs_f64();
    Ip6DadDetails { enabled, dad_transmits: settings.transmits, dad_retransmit_delay }
}

#[cfg(test)]
mod tests;
