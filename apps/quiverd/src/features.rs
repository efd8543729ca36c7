//! The rooms of this daemon, one line each.

use quiver_control::Control;
use std::error::Error;

/// Registers every room, in the order of their lines. The error says what does not fit together.
pub fn register(control: &Control) -> Result<(), Box<dyn Error>> {
    quiver_statistics::register(control)?;
    quiver_interface::register(control)?;
    quiver_ethernet::register(control)?;
    quiver_handoff::register(control)?;
    quiver_bridge::register(control)?;
    quiver_vlan::register(control)?;
    quiver_p2p_ethernet::register(control)?;
    quiver_ip::register(control)?;
    // Before whatever looks at ports.
    quiver_reassembly::register(control)?;
    quiver_urpf::register(control)?;
    quiver_mss_clamp::register(control)?;
    quiver_acl::register(control)?;
    quiver_abf::register(control)?;
    quiver_l3xc::register(control)?;
    quiver_udp_encap::register(control)?;
    quiver_why::register(control);
    quiver_mfib::register(control)?;
    quiver_neighbor::register(control)?;
    quiver_arping::register(control);
    quiver_dad::register(control);
    quiver_icmp::register(control)?;
    quiver_policer::register(control);
    quiver_punt::register(control)?;
    quiver_mld::register(control)?;
    quiver_neighbor_proxy::register(control)?;
    quiver_router_advertisement::register(control)?;
    quiver_classify::register(control);
    quiver_runtime::register(control)?;
    quiver_plugins::register(control)?;
    quiver_pg::register(control)?;
    quiver_pipe::register(control)?;
    quiver_tap::register(control)?;
    quiver_memif::register(control)?;
    quiver_af_packet::register(control)?;
    Ok(())
}
