//! What differs between datagrams of IPv4 and IPv6.

use std::net::IpAddr;

use quiver_ip::Family;
use quiver_mfib::Multicast;
use quiver_table::{ExactView, Keys128};
use quiver_udp::Udp;
use quiver_wire::{Ip4Header, Ip6Header, V4, V6};

use crate::ends::Ends;

/// A family that carries tunnels.
pub trait Underlay: Multicast + Udp {
    /// Its place in pairs of names.
    const PLACE: usize;
    /// The number that stands for an address in keys of tunnels: an address of IPv4 itself, else one from a table.
    fn number(address: Self::Address, hosts: &ExactView<'_, Keys128>) -> Option<u32>;
    /// The ECN field of an outer header.
    fn ecn(header: &Self::Header) -> u8;
    /// The ends, if they are of this family.
    fn ends(ends: &Ends) -> Option<(Self::Address, Self::Address)>;
}

impl Underlay for V4 {
    const PLACE: usize = 0;
    #[inline(always)]
    fn number(address: Self::Address, _: &ExactView<'_, Keys128>) -> Option<u32> {
        Some(address.to_bits())
    }
    #[inline(always)]
    fn ecn(header: &Ip4Header) -> u8 {
        header.ecn()
    }
    fn ends(ends: &Ends) -> Option<(Self::Address, Self::Address)> {
        match *ends {
            Ends::V4(source, destination) => Some((source, destination)),
            Ends::V6(..) => None,
        }
    }
}

impl Underlay for V6 {
    const PLACE: usize = 1;
    #[inline(always)]
    fn number(address: Self::Address, hosts: &ExactView<'_, Keys128>) -> Option<u32> {
        hosts.get(host_key(address.to_bits())?)
    }
    #[inline(always)]
    fn ecn(header: &Ip6Header) -> u8 {
        header.traffic_class() & 3
    }
    fn ends(ends: &Ends) -> Option<(Self::Address, Self::Address)> {
        match *ends {
            Ends::V6(source, destination) => Some((source, destination)),
            Ends::V4(..) => None,
        }
    }
}

/// The key of an address. The table has no keys whose lower half is zero, as that of some addresses is; it is mixed with what hardly
/// any has.
#[inline(always)]
pub(crate) fn host_key(address: u128) -> Option<u128> {
    let key = address ^ 0xb5c0_fbcf_ec4d_3b2f;
    (key as u64 != 0).then_some(key)
}

/// Whether both addresses may be the ends of a tunnel: the source a host's, the destination a host's or a group's.
pub(crate) fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => V4::is_host(address),
        IpAddr::V6(address) => V6::is_host(address) && !V6::is_link_local(address),
    }
}
