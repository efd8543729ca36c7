//! The rooms of this daemon, one line each: the room, and the rooms that must be registered before it, which are those that its
//! Cargo.toml names. Their order here changes nothing but the numbers of nodes and messages.

use quiver_control::{Control, Pace};
use std::error::Error;

/// A room, as the daemon registers it.
#[derive(Debug)]
pub struct Room {
    /// The crate.
    pub name: &'static str,
    /// The crates whose rooms must be registered before.
    pub after: &'static [&'static str],
    /// Registers it.
    pub register: fn(&Control) -> Result<(), Box<dyn Error>>,
}

/// The result of a room's `register`: nothing, or an error.
trait Outcome {
    fn outcome(self) -> Result<(), Box<dyn Error>>;
}
impl Outcome for () {
    fn outcome(self) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}
impl<E: Error + 'static> Outcome for Result<(), E> {
    fn outcome(self) -> Result<(), Box<dyn Error>> {
        Ok(self?)
    }
}

macro_rules! rooms {
    ($($room:ident: [$($after:ident),*],)*) => {
        /// The rooms of this daemon.
        pub const ROOMS: &[Room] = &[$(Room {
            name: stringify!($room),
            after: &[$(stringify!($after)),*],
            register: |control| $room::register(control).outcome(),
        }),*];
    };
}

rooms! {
    quiver_statistics: [],
    quiver_interface: [quiver_statistics],
    quiver_ethernet: [quiver_interface],
    quiver_handoff: [quiver_ethernet, quiver_interface],
    quiver_bridge: [quiver_ethernet, quiver_interface],
    quiver_vlan: [quiver_bridge, quiver_ethernet, quiver_interface, quiver_ip],
    quiver_p2p_ethernet: [quiver_ethernet, quiver_interface, quiver_vlan],
    quiver_ip: [quiver_ethernet, quiver_interface],
    quiver_dvr: [quiver_bridge, quiver_ip],
    quiver_reassembly: [quiver_interface, quiver_ip],
    quiver_session: [quiver_interface, quiver_ip],
    quiver_session_sample: [quiver_interface, quiver_ip, quiver_session],
    quiver_nat: [quiver_interface, quiver_ip, quiver_neighbor, quiver_reassembly, quiver_session],
    quiver_snort: [quiver_interface, quiver_ip, quiver_session],
    quiver_urpf: [quiver_ethernet, quiver_interface, quiver_ip],
    quiver_mss_clamp: [quiver_interface, quiver_ip],
    quiver_acl: [quiver_interface, quiver_ip, quiver_session],
    quiver_abf: [quiver_acl, quiver_interface, quiver_ip],
    quiver_l3xc: [quiver_interface, quiver_ip],
    quiver_udp_encap: [quiver_interface, quiver_ip, quiver_tunnel],
    quiver_why: [quiver_interface],
    quiver_mfib: [quiver_interface, quiver_ip],
    quiver_neighbor: [quiver_ethernet, quiver_interface, quiver_ip],
    quiver_arping: [quiver_interface, quiver_neighbor],
    quiver_dad: [quiver_interface, quiver_ip, quiver_neighbor],
    quiver_icmp: [quiver_interface, quiver_ip],
    quiver_udp: [quiver_interface, quiver_ip],
    quiver_tunnel: [quiver_ethernet, quiver_interface, quiver_ip, quiver_mfib, quiver_mld, quiver_udp],
    quiver_geneve: [quiver_interface, quiver_ip, quiver_tunnel],
    quiver_vxlan: [quiver_interface, quiver_ip, quiver_tunnel],
    quiver_policer: [],
    quiver_punt: [quiver_icmp, quiver_interface, quiver_ip, quiver_policer, quiver_udp, quiver_vlan],
    quiver_mld: [quiver_interface, quiver_ip],
    quiver_neighbor_proxy: [quiver_interface, quiver_ip, quiver_mld, quiver_neighbor],
    quiver_router_advertisement: [quiver_interface, quiver_ip, quiver_neighbor],
    quiver_classify: [],
    quiver_runtime: [quiver_classify, quiver_interface],
    quiver_plugins: [quiver_interface],
    quiver_pg: [quiver_interface],
    quiver_connections: [quiver_interface, quiver_pg],
    quiver_pipe: [quiver_interface],
    quiver_tap: [quiver_interface],
    quiver_memif: [quiver_interface],
    quiver_af_packet: [quiver_interface],
}

/// Registers every room.
///
/// # Errors
/// As [`register_all`].
pub fn register(control: &Control) -> Result<(), Box<dyn Error>> {
    register_all(control, ROOMS.iter().collect())
}

/// Registers rooms, each behind those that it needs, else in the order given.
///
/// # Errors
/// The error of the first room that cannot be registered, or one that names rooms of which each needs another one first.
pub fn register_all(control: &Control, rooms: Vec<&Room>) -> Result<(), Box<dyn Error>> {
    in_order(rooms)?.into_iter().try_for_each(|room| (room.register)(control))?;
    quiver_compat::missing::register(control);
    Ok(())
}

/// Rooms, each behind those that it needs, else in the order given.
fn in_order(mut rooms: Vec<&Room>) -> Result<Vec<&Room>, Box<dyn Error>> {
    let mut order = vec![];
    while !rooms.is_empty() {
        let waits = |room: &Room| room.after.iter().any(|needed| rooms.iter().any(|other| other.name == *needed));
        let Some(next) = rooms.iter().position(|room| !waits(room)) else {
            let names: Vec<_> = rooms.iter().map(|room| room.name).collect();
            return Err(format!("each of these rooms needs another one of them first: {}", names.join(", ")).into());
        };
        order.push(rooms.remove(next));
    }
    Ok(order)
}

/// Registers every room with a control side that stands in for another one, in turns of that one.
///
/// # Errors
/// As [`register_all`].
pub async fn register_aside(aside: &Control, control: &Control) -> Result<(), Box<dyn Error>> {
    let mut pace = Pace::in_turns(control);
    for room in in_order(ROOMS.iter().collect())? {
        pace.step().await;
        (room.register)(aside)?;
    }
    Ok(())
}
