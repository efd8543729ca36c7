//! One end goes and comes again; the other lives on, and frees what it held.

use std::time::Duration;

use crate::site::{Site, cross_connect, daemon, state};

/// Commands for a slave or a master that comes back.
fn configure(site: &mut Site, is_master: bool) {
    let filename = site.filename();
    let (role, daemon) = if is_master { ("master", &mut site.master) } else { ("slave", &mut site.slave) };
    daemon.configure(&format!("create memif socket id 1 filename {filename}"));
    daemon.configure(&format!("create interface memif id 0 socket-id 1 {role}"));
    cross_connect(daemon);
}

#[test]
fn either_side_goes_and_comes_again() {
    let mut site = Site::new("", "", (1, 1));
    site.cross_connect();
    site.connect();
    let packet = vec![vec![7; 60]];
    for round in 0..6 {
        assert_eq!(site.pass(true, &packet), packet);
        assert_eq!(site.pass(false, &packet), packet);
        let is_master = round % 2 == 0;
        // It goes with packets on the way, whose buffers the other end still holds.
        let staying = if is_master { &mut site.slave } else { &mut site.master };
        (0..40).for_each(|_| staying.send("pg0", &packet[0]).expect("pg0 is there"));
        staying.advance(Duration::from_millis(1)).expect("it settles");
        let gone = std::mem::replace(if is_master { &mut site.master } else { &mut site.slave }, daemon(1, true));
        gone.finish().expect("nothing has leaked at the one that goes");
        site.run(150);
        let staying = if is_master { &mut site.slave } else { &mut site.master };
        assert!(state(staying).starts_with("waiting"), "{}", state(staying));
        let show = staying.run("show interface memif1/0").expect("it is there");
        assert!(!show.text.is_empty());
        configure(&mut site, is_master);
        site.connect();
    }
    site.finish();
}

#[test]
fn a_deleted_interface_is_free_for_another() {
    let mut site = Site::new("", "", (1, 1));
    site.connect();
    site.slave.configure("delete interface memif memif1/0");
    site.run(150);
    assert_eq!(state(&mut site.master), "waiting: the peer says: interface deleted");
    site.slave.configure("create interface memif id 0 socket-id 1 slave");
    site.connect();
    site.master.configure("delete interface memif memif1/0\ndelete memif socket id 1");
    site.run(1500);
    assert_eq!(state(&mut site.slave), "waiting: no listener");
    site.finish();
}

#[test]
fn a_second_slave_waits_until_the_first_is_gone() {
    let mut site = Site::new("", "", (1, 1));
    site.connect();
    let mut second = daemon(1, true);
    let filename = site.filename();
    second.configure(&format!("create memif socket id 1 filename {filename}"));
    second.configure("create interface memif id 0 socket-id 1 slave");
    for _ in 0..50 {
        second.advance(Duration::from_millis(20)).expect("it settles");
        site.run(20);
    }
    assert_eq!(state(&mut second), "waiting: the peer says: already connected");
    let first = std::mem::replace(&mut site.slave, second);
    first.finish().expect("nothing has leaked");
    site.connect();
    site.finish();
}
