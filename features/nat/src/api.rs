//! VPP's messages about NAT44: `nat44_ed.api`. [`types`]: flags; [`rules`]: interfaces and addresses; [`mappings`]: static mappings;
//! [`sessions`]: sessions.

mod mappings;
mod rules;
mod sessions;
mod types;

use quiver_compat::types::NONE;
use quiver_compat::{Message, Refusal};
use quiver_control::Control;
use quiver_session::expiry::end_translated;

use self::types::{ConfigFlags, LogLevel, Nat44ConfigFlags, NatTimeouts};
use crate::config::NatSettings;
use crate::room::{self, Nat};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "nat_types", (0, 0, 1), |file| {
        file.define_type::<NatTimeouts>();
        file.define_type::<LogLevel>();
        file.define_type::<ConfigFlags>();
    });
    quiver_compat::add(control, "nat44_ed", (5, 5, 0), |file| {
        file.waiting(enable);
        file.request(|control, request: Nat44ForwardingEnableDisable| {
            edit(control, |settings| settings.forwarding = request.enable)
        });
        file.request(|control, request: NatSetTimeouts| {
            edit(control, |settings| {
                settings.udp_timeout = request.udp;
                settings.tcp_established_timeout = request.tcp_established;
                settings.tcp_transitory_timeout = request.tcp_transitory;
                settings.icmp_timeout = request.icmp;
            })
        });
        file.request(running);
        rules::register(file);
        mappings::register(file);
        sessions::register(file);
    });
}

/// Enables NAT44, with this many sessions of a worker at most; or disables it, and deletes its configuration and sessions.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44EdPluginEnableDisable {
    inside_vrf: u32,
    outside_vrf: u32,
    sessions: u32,
    session_memory: u32,
    enable: bool,
    flags: Nat44ConfigFlags,
}

/// Forwards packets from the outside that match no session and no mapping, or drops them.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44ForwardingEnableDisable {
    enable: bool,
}

/// Sets timeouts of sessions in seconds.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct NatSetTimeouts {
    udp: u32,
    tcp_established: u32,
    tcp_transitory: u32,
    icmp: u32,
}

/// Asks for the settings of NAT44.
#[derive(Message, Clone, Debug)]
#[message(request, reply = Nat44ShowRunningConfigReply, name = "nat44_show_running_config")]
struct Nat44ShowRunningConfig {}

/// Settings of NAT44: largest number of sessions of a worker, forwarding, timeouts in seconds. Other fields are zero.
#[derive(Message, Clone, Debug, Default, PartialEq)]
#[message(reply, name = "nat44_show_running_config_reply")]
struct Nat44ShowRunningConfigReply {
    inside_vrf: u32,
    outside_vrf: u32,
    users: u32,
    sessions: u32,
    user_sessions: u32,
    user_buckets: u32,
    translation_buckets: u32,
    forwarding_enabled: bool,
    ipfix_logging_enabled: bool,
    timeouts: NatTimeouts,
    log_level: LogLevel,
    flags: Nat44ConfigFlags,
}

fn edit(control: &Control, change: impl FnOnce(&mut NatSettings)) -> Result<(), Refusal> {
    Ok(control.edit(NatSettings::standard(), change)?)
}

async fn enable(control: Control, request: Nat44EdPluginEnableDisable) -> Result<(), Refusal> {
    if !request.enable {
        room::clear(&control)?;
        end_translated(control, |_, _| true).await;
        return Ok(());
    }
    let sessions = Some(request.sessions).filter(|sessions| !matches!(*sessions, 0 | NONE));
    edit(&control, |settings| settings.sessions = sessions.unwrap_or(settings.sessions))
}

fn running(control: &Control, _: Nat44ShowRunningConfig) -> Result<Nat44ShowRunningConfigReply, Refusal> {
    let settings = control.room::<Nat>().settings().clone();
    Ok(Nat44ShowRunningConfigReply {
        sessions: settings.sessions,
        forwarding_enabled: settings.forwarding,
        timeouts: NatTimeouts {
            udp: settings.udp_timeout,
            tcp_established: settings.tcp_established_timeout,
            tcp_transitory: settings.tcp_transitory_timeout,
            icmp: settings.icmp_timeout,
        },
        flags: Nat44ConfigFlags::ENDPOINT_DEPENDENT,
        ..Nat44ShowRunningConfigReply::default()
    })
}

#[cfg(test)]
mod tests;
