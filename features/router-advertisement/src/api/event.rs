//! Events about received advertisements for VPP's clients.

use std::net::Ipv6Addr;

use quiver_compat::types::{InterfaceIndex, Prefix};
use quiver_compat::{Message, Subscribers, Wire};
use quiver_interface::InterfaceId;
use quiver_wire::nd::PrefixOption;
use quiver_wire::{InterfaceAddress, V6};

use crate::input::Advertisement;

/// Prefix in a router advertisement; the flags are as sent.
#[derive(Wire, Clone, Debug, PartialEq)]
pub(super) struct Ip6RaPrefixInfo {
    pub prefix: Prefix,
    pub flags: u8,
    pub valid_time: u32,
    pub preferred_time: u32,
}

/// Reports a received router advertisement: its router, lifetimes, flags and prefixes.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
pub(super) struct Ip6RaEvent {
    pub sw_if_index: InterfaceIndex,
    pub router_addr: Ipv6Addr,
    pub current_hop_limit: u8,
    pub flags: u8,
    pub router_lifetime_in_sec: u16,
    pub neighbor_reachable_time_in_msec: u32,
    pub time_in_msec_between_retransmitted_neighbor_solicitations: u32,
    #[count(u32, "n_prefixes")]
    pub prefixes: Vec<Ip6RaPrefixInfo>,
}

/// The clients that are told of advertisements.
pub(crate) struct Listeners(pub(super) Subscribers<Ip6RaEvent>);

impl Listeners {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn tell(&self, id: InterfaceId, heard: &Advertisement) {
        let header = &heard.header;
        self.0.tell(&Ip6RaEvent {
            sw_if_index: id.into(),
            router_addr: heard.router,
            current_hop_limit: header.hop_limit,
            flags: header.flags,
            router_lifetime_in_sec: header.lifetime.get(),
            neighbor_reachable_time_in_msec: header.reachable_ms.get(),
            time_in_msec_between_retransmitted_neighbor_solicitations: header.retransmission_ms.get(),
            prefixes: heard.prefixes.iter().filter_map(told).collect(),
        });
    }
}

/// None of a prefix that has too many bits.
fn told(option: &PrefixOption) -> Option<Ip6RaPrefixInfo> {
    let prefix = InterfaceAddress::<V6>::new(option.prefix.into(), option.prefix_length).ok()?.prefix();
    let (flags, valid_time, preferred_time) = (option.flags, option.valid.get(), option.preferred.get());
    Some(Ip6RaPrefixInfo { prefix: prefix.into(), flags, valid_time, preferred_time })
}
