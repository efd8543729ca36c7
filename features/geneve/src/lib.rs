//! GENEVE (RFC 8926): interfaces that send their frames as payload of UDP datagrams to one host, or to a group, behind
//! headers that may have options.
//!
//! - [`config`]: the objects of kind `geneve-tunnels`; `api`: VPP's messages.
//!
//! Nodes and commands are those of all tunnels ([`quiver_tunnel`]); this room has GENEVE's names and header. It writes
//! no options, ignores unknown ones, and counts packets with options; a packet with an unknown critical option is
//! dropped.
#![forbid(unsafe_code)]

mod api;
pub mod config;

pub use config::GeneveTunnel;

use quiver_control::Control;
use quiver_engine::{Dataplane, Isa, Lanes, Mask};
use quiver_tunnel::{Header, Keywords, Kind, Malformed, TunnelError};
use quiver_wire::geneve::options;
use quiver_wire::{EtherType, GeneveHeader, Header as _, UdpPort, Vni};
use zerocopy::IntoBytes;

/// GENEVE, as a kind of tunnels.
pub struct Geneve;

impl Kind for Geneve {
    const WORD: &'static str = "geneve";
    const NAME: &'static str = "geneve-tunnel";
    const PORT: UdpPort = GeneveHeader::PORT;
    const HEADER_LENGTH: usize = GeneveHeader::LENGTH;
    const ENCAPSULATE: [&'static str; 2] = ["geneve4-encap", "geneve6-encap"];
    const INPUT: [&'static str; 2] = ["geneve4-input", "geneve6-input"];
    const BYPASS: [&'static str; 2] = ["ip4-geneve-bypass", "ip6-geneve-bypass"];
    const HAS_OPTIONS: bool = true;

    fn header(vni: Vni, protocol: EtherType) -> Vec<u8> {
        GeneveHeader::new(vni, protocol).as_bytes().to_vec()
    }
    #[inline(always)]
    fn of_words<I: Isa>([first, second]: [Lanes<I>; 2]) -> (Mask<I>, Lanes<I>) {
        // Version 0, no options, no message of control.
        let looked_at = 0xff00_ffff | u32::from(GeneveHeader::CONTROL) << 16;
        ((first & looked_at).eq(u32::from(EtherType::TRANSPARENT_BRIDGING.0)), second >> 8)
    }
    #[inline(always)]
    fn parse(datagram: &[u8]) -> Result<Header, Malformed> {
        let (header, rest) = GeneveHeader::parse(datagram).ok_or(Malformed::Header)?;
        // RFC 8926, 3.4: packets of unknown versions are dropped, and those of control messages that nobody takes.
        if header.version() != 0 || header.flags & GeneveHeader::CONTROL != 0 {
            return Err(Malformed::Header);
        }
        let length = header.options_length();
        if length != 0 {
            check(rest.get(..length).ok_or(Malformed::Options)?)?;
        }
        let (vni, protocol) = (header.vni(), Some(header.protocol));
        Ok(Header { vni, length: GeneveHeader::LENGTH + length, has_options: length != 0, protocol })
    }
}

/// Whether the options are whole, and none of them is critical (RFC 8926, 3.5), for none is known here.
#[cold]
fn check(bytes: &[u8]) -> Result<(), Malformed> {
    for option in options(bytes) {
        let (option, _) = option.ok_or(Malformed::Options)?;
        if option.is_critical() {
            return Err(Malformed::CriticalOption);
        }
    }
    Ok(())
}

/// VPP's name for the count of packets with truncated options.
const WRONG_OPTIONS: &str = "packets with invalid options length";

/// Registers the room. The room of tunnels is registered before.
pub fn register(control: &Control) -> Result<(), TunnelError> {
    let words = Keywords { ends: ["local", "remote"], ports: ["local-port", "remote-port"], layer3: "l3-mode" };
    quiver_tunnel::register_kind::<GeneveTunnel>(control, words)?;
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        for input in Geneve::INPUT {
            let called = dataplane.also_called((input, "wrong-options-length"), &format!("{input}/{WRONG_OPTIONS}"));
            called?;
        }
    }
    api::register(control);
    Ok(())
}
