//! VXLAN (RFC 7348): interfaces that send their frames as payload of UDP datagrams to one host, or to a group.
//!
//! - [`config`]: the objects of kind `vxlan-tunnels`; `api`: VPP's messages.
//!
//! Nodes and commands are those of all tunnels ([`quiver_tunnel`]); this room has VXLAN's names and header.
#![forbid(unsafe_code)]

mod api;
pub mod config;

pub use config::VxlanTunnel;

use quiver_control::Control;
use quiver_engine::{Isa, Lanes, Mask};
use quiver_tunnel::{Header, Keywords, Kind, Malformed, TunnelError};
use quiver_wire::{EtherType, Header as _, UdpPort, Vni, VxlanHeader};
use zerocopy::IntoBytes;

/// VXLAN, as a kind of tunnels.
pub struct Vxlan;

impl Kind for Vxlan {
    const WORD: &'static str = "vxlan";
    const NAME: &'static str = "vxlan-tunnel";
    const PORT: UdpPort = VxlanHeader::PORT;
    const HEADER_LENGTH: usize = VxlanHeader::LENGTH;
    const ENCAPSULATE: [&'static str; 2] = ["vxlan4-encap", "vxlan6-encap"];
    const INPUT: [&'static str; 2] = ["vxlan4-input", "vxlan6-input"];
    const BYPASS: [&'static str; 2] = ["ip4-vxlan-bypass", "ip6-vxlan-bypass"];
    const HAS_OPTIONS: bool = false;

    fn header(vni: Vni, _: EtherType) -> Vec<u8> {
        VxlanHeader::new(vni).as_bytes().to_vec()
    }
    #[inline(always)]
    fn of_words<I: Isa>([first, second]: [Lanes<I>; 2]) -> (Mask<I>, Lanes<I>) {
        ((first & u32::from(VxlanHeader::VALID) << 24).ne(0), second >> 8)
    }
    #[inline(always)]
    fn parse(datagram: &[u8]) -> Result<Header, Malformed> {
        let (header, _) = VxlanHeader::parse(datagram).ok_or(Malformed::Header)?;
        let vni = header.vni().ok_or(Malformed::Header)?;
        Ok(Header { vni, length: VxlanHeader::LENGTH, has_options: false, protocol: None })
    }
}

/// Registers the room. The room of tunnels is registered before.
pub fn register(control: &Control) -> Result<(), TunnelError> {
    let words = Keywords { ends: ["src", "dst"], ports: ["src_port", "dst_port"], layer3: "l3" };
    quiver_tunnel::register_kind::<VxlanTunnel>(control, words)?;
    api::register(control);
    Ok(())
}
