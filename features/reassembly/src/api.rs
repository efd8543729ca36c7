//! VPP's messages about reassembly: of `ip.api`.

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Wire};
use quiver_control::Control;
use quiver_interface::api::name;
use quiver_ip::api::{FILE, by_family};
use quiver_wire::{V4, V6};

use crate::command::put;
use crate::config::{Kinds, Reassemblies, ReassemblySettings};
use crate::family::Reassembled;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, FILE.0, FILE.1, |file| {
        file.request(|control, request: IpReassemblySet| by_family!(request.is_ip6, set(control, &request)));
        file.request(|control, request: IpReassemblyGet| by_family!(request.is_ip6, get(control, &request)));
        file.request(enable);
        file.request(|control, request: IpLocalReassEnableDisable| {
            set_local::<V4>(control, request.enable_ip4)?;
            set_local::<V6>(control, request.enable_ip6)
        });
        file.request(|control, _: IpLocalReassGet| {
            Ok(IpLocalReassGetReply {
                ip4_is_enabled: control.room::<Reassemblies<V4>>().settings(Kinds::Full).local,
                ip6_is_enabled: control.room::<Reassemblies<V6>>().settings(Kinds::Full).local,
            })
        });
    });
}

/// Kind of reassembly.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "ip_reass_type")]
#[repr(u32)]
enum IpReassType {
    /// Full: the packet is reassembled.
    #[default]
    #[value("IP_REASS_TYPE_FULL")]
    Full = 0,
    /// Shallow: fragments are forwarded with the ports of the first.
    #[value("IP_REASS_TYPE_SHALLOW_VIRTUAL")]
    ShallowVirtual = 1,
}

impl From<IpReassType> for Kinds {
    fn from(kind: IpReassType) -> Kinds {
        match kind {
            IpReassType::Full => Kinds::Full,
            IpReassType::ShallowVirtual => Kinds::Shallow,
        }
    }
}

/// Sets the limits of a reassembly kind: timeout and walk interval in ms, packets, and fragments per packet.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpReassemblySet {
    timeout_ms: u32,
    max_reassemblies: u32,
    max_reassembly_length: u32,
    expire_walk_interval_ms: u32,
    is_ip6: bool,
    r#type: IpReassType,
}

/// Asks for the limits of a reassembly kind.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpReassemblyGetReply)]
struct IpReassemblyGet {
    is_ip6: bool,
    r#type: IpReassType,
}

/// Timeout and walk interval in ms, packets, and fragments per packet.
#[derive(Message, Clone, Debug, Default, PartialEq)]
#[message(reply)]
struct IpReassemblyGetReply {
    timeout_ms: u32,
    max_reassemblies: u32,
    max_reassembly_length: u32,
    expire_walk_interval_ms: u32,
    is_ip6: bool,
}

/// Enables or disables full or shallow reassembly on an interface, by family.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpReassemblyEnableDisable {
    sw_if_index: InterfaceIndex,
    enable_ip4: bool,
    enable_ip6: bool,
    r#type: IpReassType,
}

/// Enables or disables reassembly of packets to local addresses, by family.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpLocalReassEnableDisable {
    enable_ip4: bool,
    enable_ip6: bool,
}

/// Asks for the state of reassembly of packets to local addresses.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpLocalReassGetReply)]
struct IpLocalReassGet {}

/// State of local reassembly for IPv4 and IPv6.
#[derive(Message, Clone, Debug, Default, PartialEq)]
#[message(reply)]
struct IpLocalReassGetReply {
    ip4_is_enabled: bool,
    ip6_is_enabled: bool,
}

fn set<F: Reassembled>(control: &Control, request: &IpReassemblySet) -> Result<(), Refusal> {
    Ok(control.edit(ReassemblySettings::<F>::new(request.r#type.into()), |settings| {
        settings.timeout_ms = Some(request.timeout_ms);
        settings.packets = Some(request.max_reassemblies);
        settings.fragments = Some(request.max_reassembly_length);
        settings.walk_ms = Some(request.expire_walk_interval_ms);
    })?)
}

fn get<F: Reassembled>(control: &Control, request: &IpReassemblyGet) -> Result<IpReassemblyGetReply, Refusal> {
    let settings = control.room::<Reassemblies<F>>().settings(request.r#type.into());
    Ok(IpReassemblyGetReply {
        timeout_ms: settings.patience.as_millis() as u32,
        max_reassemblies: settings.packets as u32,
        max_reassembly_length: settings.fragments as u32,
        expire_walk_interval_ms: settings.walk.as_millis() as u32,
        is_ip6: request.is_ip6,
    })
}

fn enable(control: &Control, request: IpReassemblyEnableDisable) -> Result<(), Refusal> {
    let (interface, kind) = (name(control, request.sw_if_index)?, request.r#type.into());
    put::<V4>(control, &interface, kind, request.enable_ip4)?;
    Ok(put::<V6>(control, &interface, kind, request.enable_ip6)?)
}

fn set_local<F: Reassembled>(control: &Control, on: bool) -> Result<(), Refusal> {
    Ok(control.edit(ReassemblySettings::<F>::new(Kinds::Full), |settings| settings.local = on)?)
}

#[cfg(test)]
mod tests;
