//! Creates many VXLAN tunnels, and prints the time and the daemon's CPU time that they took.
//!
//! ```sh
//! cargo run --release -p quiver-client --example tunnels -- /run/vpp/api.sock 100000 "$(pidof quiverd)"
//! ```

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Instant;

use quiver_client::{Client, ClientError};
use quiver_compat::types::{Address, InterfaceIndex};
use quiver_compat::{Message, Retval};

/// No interface, no instance, the usual next node.
const NONE: u32 = u32::MAX;
/// Ticks of `/proc/PID/stat` per second, on every Linux.
const TICKS: f64 = 100.0;

/// Adds or deletes a VXLAN tunnel.
#[derive(Message)]
#[message(request, reply = VxlanAddDelTunnelV3Reply, name = "vxlan_add_del_tunnel_v3")]
struct VxlanAddDelTunnelV3 {
    #[default(true)]
    is_add: bool,
    #[default(4294967295)]
    instance: u32,
    src_address: Address,
    dst_address: Address,
    src_port: u16,
    dst_port: u16,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
    #[default(false)]
    is_l3: bool,
}

/// The tunnel's interface.
#[derive(Message, Default)]
#[message(reply, name = "vxlan_add_del_tunnel_v3_reply")]
struct VxlanAddDelTunnelV3Reply {
    sw_if_index: InterfaceIndex,
}

/// A tunnel of each network to one remote end.
fn tunnel(vni: u32) -> VxlanAddDelTunnelV3 {
    let address = |last| Address::from(IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
    VxlanAddDelTunnelV3 {
        is_add: true,
        instance: NONE,
        src_address: address(1),
        dst_address: address(2),
        src_port: 0,
        dst_port: 0,
        mcast_sw_if_index: InterfaceIndex(NONE),
        encap_vrf_id: 0,
        decap_next_index: NONE,
        vni,
        is_l3: false,
    }
}

/// CPU seconds that a process has used, in all of its threads.
fn cpu_seconds(pid: u32) -> std::io::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // proc(5): behind the name in parentheses, user and system time are fields 14 and 15.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    Ok((ticks(14) + ticks(15)) / TICKS)
}

/// Creates the tunnels of `count` networks, and writes what that took; the daemon's CPU time if its process is known.
pub fn run(socket: &Path, count: u32, daemon: Option<u32>, out: &mut impl Write) -> Result<(), ClientError> {
    let mut client = Client::connect(socket, "tunnels")?;
    let cpu = |daemon: Option<u32>| daemon.map(cpu_seconds).transpose();
    let (start, before) = (Instant::now(), cpu(daemon)?);
    client.requests((0..count).map(tunnel))?;
    let (took, after) = (start.elapsed().as_secs_f64(), cpu(daemon)?);
    write!(out, "{count} tunnels: {took:.2} s")?;
    if let Some((before, after)) = before.zip(after) {
        write!(out, ", {:.2} s of the daemon's CPU time", after - before)?;
    }
    writeln!(out)?;
    // The last network has a tunnel now, so another one of the same ends and network is refused.
    match client.answer(&tunnel(count.saturating_sub(1)))? {
        (Retval::TUNNEL_EXIST, _) => writeln!(out, "the last one is there")?,
        (other, _) => return Err(ClientError::Refused { message: VxlanAddDelTunnelV3::name(), retval: other }),
    }
    Ok(())
}

#[allow(dead_code, reason = "a test runs the program as a part of itself")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "tunnels SOCKET COUNT [PID-OF-THE-DAEMON]";
    let socket = arguments.next().ok_or(usage)?;
    let count = arguments.next().ok_or(usage)?.parse()?;
    let daemon = arguments.next().map(|pid| pid.parse()).transpose()?;
    run(Path::new(&socket), count, daemon, &mut std::io::stdout())?;
    Ok(())
}
