//! MTUs of paths by the thousand: one more costs what it changes, and neighbours have what is the least of theirs.

use std::net::Ipv4Addr;

use quiver_interface::Interfaces;
use quiver_ip::Ip4;
use quiver_ip::objects::TableNumber;
use quiver_ip::path_mtu::PathMtu;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::growth::assert_linear;
use quiver_wire::{MacAddress, V4};

fn router() -> Daemon {
    quiver_scenarios::daemon(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         set interface state pg0 up
         set interface ip address pg0 10.0.0.1/8
         ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
         ip neighbor pg0 10.0.0.3 02:00:00:00:00:03",
    )
}

fn key(host: u32) -> (TableNumber<V4>, Ipv4Addr) {
    (TableNumber::DEFAULT, Ipv4Addr::from(0x0a00_0000 + host))
}

fn set(daemon: &Daemon, host: u32, mtu: u16) {
    let (table, peer) = key(host);
    daemon.control().put(PathMtu { mtu, ..PathMtu::<V4>::new(table, peer) }).expect("it is one host's");
}

#[test]
fn setting_and_removing_them_costs_what_they_are() {
    assert_linear("MTUs of paths", 5_000, |hosts| {
        let mut daemon = router();
        (0..hosts as u32).for_each(|host| set(&daemon, 10 + host, 1000 + (host % 400) as u16));
        (0..hosts as u32)
            .for_each(|host| daemon.control().delete::<PathMtu<V4>>(&key(10 + host)).expect("it is there"));
        daemon.settle().expect("nothing circles");
    });
}

#[test]
fn the_least_of_all_is_known_as_they_come_and_go() {
    let daemon = router();
    let pg0 = daemon.control().room::<Interfaces>().id_of("pg0").expect("it was created");
    // Of each neighbour, how long packets are that need no second look, and how long they are at most.
    let rows = || {
        let ip = daemon.control().room::<Ip4>();
        [2, 3].map(|host| {
            let hop = ip.fib.adjacencies.find(pg0, Some(key(host).1)).expect("a neighbour");
            let row = ip.fib.adjacencies.row(hop);
            (row.second_look(), row.mtu())
        })
    };
    let of_path = |host: u32| daemon.control().room::<Ip4>().current().path_mtu(pg0.0, key(host).1);
    let delete = |host: u32| daemon.control().delete::<PathMtu<V4>>(&key(host)).expect("it is there");
    assert_eq!(rows(), [(9000, 9000); 2]);
    set(&daemon, 2, 1400);
    set(&daemon, 99, 1300);
    set(&daemon, 98, 1300);
    assert_eq!((rows(), of_path(99), of_path(97)), ([(1300, 1400), (1300, 9000)], Some(1300), None));
    delete(99);
    assert_eq!((rows(), of_path(99)), ([(1300, 1400), (1300, 9000)], None));
    set(&daemon, 98, 1350);
    assert_eq!((rows(), of_path(98)), ([(1350, 1400), (1350, 9000)], Some(1350)));
    delete(98);
    assert_eq!(rows(), [(1400, 1400), (1400, 9000)]);
    set(&daemon, 3, 1500);
    set(&daemon, 2, 1600);
    assert_eq!(rows(), [(1500, 1600), (1500, 1500)]);
    delete(2);
    delete(3);
    assert_eq!(rows(), [(9000, 9000); 2]);
}

#[test]
fn a_row_of_falling_ones_rewrites_what_takes_longer_packets() {
    let mut daemon = router();
    daemon.configure(
        "create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         set interface state pg1 up
         set interface mtu 1400 pg1
         set interface ip address pg1 11.0.0.1/8",
    );
    let [long, short] = ["pg0", "pg1"].map(|name| daemon.control().room::<Interfaces>().id_of(name).expect("created"));
    let neighbors = |net: u32| (0..1000).map(move |host| Ipv4Addr::from((net << 24) + 0x10000 + host));
    let hops = {
        let mut ip = daemon.control().room_mut::<Ip4>();
        // Numbers in a row, so that most pages are of one link alone.
        let mut known = |on, to| {
            let hop = ip.fib.adjacencies.acquire(on, Some(to));
            ip.fib.adjacencies.set_mac(hop, Some(MacAddress([2, 0, 0, 0, 0, 9])));
            hop
        };
        [(long, 10), (short, 11)].map(|(on, net)| neighbors(net).map(|to| known(on, to)).collect::<Vec<u32>>())
    };
    // Where the rows of each link lie that are not on a page with those of the other: elsewhere when they were written again.
    let places = || {
        let ip = daemon.control().room::<Ip4>();
        [&hops[0][..700], &hops[1][300..]]
            .map(|hops| hops.iter().map(|hop| std::ptr::from_ref(ip.fib.adjacencies.row(*hop))).collect::<Vec<_>>())
    };
    let looks = |hop: u32| {
        let ip = daemon.control().room::<Ip4>();
        ip.fib.adjacencies.row(hop).second_look()
    };
    let mut rewritten = [0, 0];
    for (host, mtu) in (0..80).map(|step| (99 + step, 9000 - 100 * step as u16)) {
        let before = places();
        set(&daemon, host, mtu);
        let after = places();
        for link in [0, 1] {
            rewritten[link] +=
                usize::from(before[link].iter().zip(&after[link]).any(|(before, after)| before != after));
        }
        assert_eq!((looks(hops[0][0]), looks(hops[1][999])), (mtu, mtu.min(1400)));
    }
    // From 9000 to 1400 nothing is new to whom 1400 is the most, and the rest is.
    assert_eq!(rewritten, [79, 3]);
    let mut ip = daemon.control().room_mut::<Ip4>();
    hops.iter().flatten().for_each(|hop| ip.fib.adjacencies.release(*hop));
}
