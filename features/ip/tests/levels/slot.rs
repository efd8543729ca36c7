//! A stage of another room, a feature on `ip4-output`, works on the packets of the interfaces on which it is enabled, and costs
//! others nothing.

use crate::ends;

use std::net::Ipv4Addr;

use quiver_engine::{
    ArcSpec, Body, Columns, Dataplane, FeatureSpec, Field, Guard, Isa, Level, NodeSpec, PacketLanes, Phase, Quarters,
    Stage, Windows, arcs,
};
use quiver_interface::Interfaces;
use quiver_ip::Ip4;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use quiver_wire::MacAddress;

quiver_testkit::level_tests![a_filter_joins_the_path];

mod filter {
    use super::*;
    use quiver_control::Control;
    use quiver_engine::DataplaneError;

    arcs! {
        /// Where packets go.
        pub enum Next {
            Next => next_feature,
            Filtered => drop "filtered",
        }
    }

    /// Behind the headers of Ethernet and IPv4.
    const PORTS: Field = Field::new(34, 32);
    /// The port that nobody may speak to.
    const CLOSED: u32 = 23;

    #[derive(Clone)]
    pub struct Filter;
    impl Stage for Filter {
        const NAME: &'static str = "port-filter";
        const ARCS: &'static [ArcSpec] = Next::ARCS;
        type Body<'f> = Filter;
        #[inline(always)]
        fn enter<'f>(&'f mut self, _: Guard<'f>) -> Filter {
            Filter
        }
    }
    impl Body for Filter {
        const WRITES: Columns = Columns::NONE;
        const READS: Quarters = Quarters::of(34, 38);
        #[inline(always)]
        fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
            p.leave((p.header.get(PORTS) & 0xffff).eq(CLOSED), Next::Filtered);
        }
    }

    pub fn register(control: &Control) -> Result<(), DataplaneError> {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::stage(|_| Filter))?;
        graph.feature(FeatureSpec::new("ip4-output", Filter::NAME, Phase::Filter))?;
        Ok(())
    }
}

fn packet(n: u32) -> Vec<u8> {
    let to = Ipv4Addr::new(if n.is_multiple_of(7) { 21 } else { 20 }, 0, 0, 9);
    let port = if n.is_multiple_of(5) { 23 } else { 80 };
    let text =
        format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > {to} ttl 64 / udp 1 > {port} / payload 18");
    text.parse::<Packet>().expect("it is a packet").to_bytes()
}

fn a_filter_joins_the_path(level: Level) {
    let run = |level: Level, is_guarded: bool| {
        let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, filter, quiver_pg];
        let mut daemon = Daemon::new(rooms, Setup { level, ..Setup::default() }).expect("the rooms fit");
        daemon.configure(
            "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
             create packet-generator interface pg1
             create packet-generator interface pg2
             set interface state pg0 up
             set interface state pg1 up
             set interface state pg2 up
             set interface ip address pg0 10.0.0.1/24
             set interface ip address pg1 10.0.1.1/24
             set interface ip address pg2 10.0.2.1/24
             ip route add 20.0.0.0/8 via 10.0.1.2 pg1
             ip route add 21.0.0.0/8 via 10.0.2.2 pg2",
        );
        for (name, neighbour) in [("pg1", [10, 0, 1, 2]), ("pg2", [10, 0, 2, 2])] {
            let out = daemon.control().room::<Interfaces>().id_of(name).expect("created");
            let mut ip = daemon.control().room_mut::<Ip4>();
            let hop = ip.fib.adjacencies.acquire(out, Some(neighbour.into()));
            ip.fib.adjacencies.set_mac(hop, Some(MacAddress([2, 0, 0, 0, 0, 0x12])));
        }
        let guarded = daemon.control().room::<Interfaces>().id_of("pg1").expect("created").0;
        let enabled = daemon.control().room_mut::<Dataplane>().enable("ip4-output", "port-filter", guarded, is_guarded);
        enabled.expect("there is such a feature");
        daemon.settle().expect("nothing circles");
        for burst in 0..10 {
            (0..100).for_each(|n| daemon.send("pg0", &packet(burst * 100 + n)).expect("it is up"));
            daemon.settle().expect("nothing circles");
        }
        let mut sent = daemon.sent();
        sent.sort();
        let outcome = (sent, daemon.counts());
        daemon.finish().expect("nothing leaks");
        outcome
    };
    let (reference, guarded, open) = (run(Level::best(), true), run(level, true), run(level, false));
    assert_eq!(guarded.0.len(), 829);
    assert_eq!(guarded.1.get(&("port-filter", "filtered")), Some(&171));
    assert!(guarded == reference, "{:?} and {:?}", guarded.1, reference.1);
    assert_eq!((open.0.len(), open.1.keys().any(|(node, _)| *node == "port-filter")), (1000, false));
}
