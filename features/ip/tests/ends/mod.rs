//! The nodes that forwarding leads to and other rooms have, as ends that only count.

use quiver_compat::types::FibPathType;
use quiver_control::Control;
use quiver_engine::*;
use quiver_interface::Interfaces;
use quiver_ip::Ip4;
use quiver_ip::fib::kind::{NextHopKind, Of};
use quiver_testkit::daemon::{Daemon, Rooms, Setup};
use quiver_wire::{EtherType, IpProtocol, MacAddress, V4, V6};

static DVR: NextHopKind =
    NextHopKind { name: "dvr", help: "", of: Of::Interface, nodes: ["l2-dvr", "l2-dvr"], path_type: FibPathType::Dvr };

arcs! {
    /// The only arc of an end.
    pub enum Next {
        End => drop "end",
    }
}

struct End;
impl Node for End {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

/// A daemon that forwards from pg0 to the neighbour 10.0.1.2 behind pg1, to which 20.0.0.0/8 is routed.
#[allow(dead_code, reason = "not every test forwards so simply")]
pub fn forwarding(rooms: Rooms, setup: Setup) -> Daemon {
    let mut daemon = Daemon::new(rooms, setup).expect("the rooms fit together");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.0.1.1/24
         ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
    );
    let out = daemon.control().room::<Interfaces>().id_of("pg1").expect("created");
    let mut ip = daemon.control().room_mut::<Ip4>();
    let hop = ip.fib.adjacencies.acquire(out, Some([10, 0, 1, 2].into()));
    ip.fib.adjacencies.set_mac(hop, Some(MacAddress([2, 0, 0, 0, 0, 0x12])));
    drop(ip);
    daemon
}

pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let mut dataplane = control.room_mut::<Dataplane>();
    let graph = dataplane.blueprint();
    let of_ip = [
        "ip4-resolve",
        "icmp4-error",
        "icmp4-input",
        "ip4-reassembly",
        "ip6-reassembly",
        "ip6-resolve",
        "icmp6-error",
        "icmp6-input",
    ];
    for name in ["arp-input", "vlan-input", "l2-end", "l2-dvr"].into_iter().chain(of_ip) {
        graph.node(NodeSpec::new(name, Next::ARCS, |_| End))?;
    }
    graph.feature_arc(FeatureArcSpec { name: "l2-input", end: "l2-end", side: Side::Rx })?;
    drop(dataplane);
    quiver_ethernet::claim(control, EtherType::ARP, "arp-input")?;
    quiver_ip::claim::<V4>(control, IpProtocol::ICMP4, "icmp4-input")?;
    quiver_ip::claim::<V6>(control, IpProtocol::ICMP6, "icmp6-input")?;
    quiver_ip::register_kind(control, &DVR).expect("no other room registers it");
    Ok(())
}
