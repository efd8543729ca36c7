//! Two daemons in one process, joined by memif.
#![allow(dead_code, reason = "not every test needs all of it")]

pub mod path;
pub mod traffic;
pub mod way;

use std::time::Duration;

use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use tempfile::TempDir;

/// The daemons and the folder of their socket.
pub struct Site {
    pub master: Daemon,
    pub slave: Daemon,
    folder: TempDir,
}

/// A daemon with these workers, and with buffers that others may map or not.
pub fn daemon(workers: usize, share_buffers: bool) -> Daemon {
    daemon_of(Setup { workers, buffers: 4096, share_buffers, ..Setup::default() })
}

/// A daemon that is made like this.
pub fn daemon_of(setup: Setup) -> Daemon {
    Daemon::new(ROOMS, setup).expect("a daemon")
}

impl Site {
    /// Master and slave with `pg0` and `memif1/0` each, cross-connected; what is said of each goes behind its
    /// `create interface memif`.
    pub fn new(master: &str, slave: &str, workers: (usize, usize)) -> Site {
        let mut site = Site {
            master: daemon(workers.0, true),
            slave: daemon(workers.1, true),
            folder: tempfile::tempdir().expect("a folder"),
        };
        let filename = site.filename();
        for (daemon, role, options) in [(&mut site.master, "master", master), (&mut site.slave, "slave", slave)] {
            daemon.configure(&format!("create memif socket id 1 filename {filename}"));
            daemon.configure(&format!("create interface memif id 0 socket-id 1 {role} {options}"));
        }
        site
    }
    /// Where the socket is.
    pub fn filename(&self) -> String {
        self.folder.path().join("memif.sock").display().to_string()
    }
    /// Cross-connects `pg0` with the memif on both sides.
    pub fn cross_connect(&mut self) {
        for daemon in [&mut self.master, &mut self.slave] {
            cross_connect(daemon);
        }
    }
    /// Lets both run for a while.
    pub fn run(&mut self, milliseconds: u32) {
        for _ in 0..milliseconds {
            self.master.advance(Duration::from_millis(1)).expect("it settles");
            self.slave.advance(Duration::from_millis(1)).expect("it settles");
        }
    }
    /// Runs until both are connected.
    pub fn connect(&mut self) {
        for _ in 0..40 {
            self.run(100);
            if [&mut self.master, &mut self.slave].into_iter().all(|daemon| state(daemon) == "connected") {
                return;
            }
        }
        panic!("master: {}; slave: {}", state(&mut self.master), state(&mut self.slave));
    }
    /// Sends a packet from `pg0` of one side and returns what leaves by `pg0` of the other.
    pub fn pass(&mut self, from_master: bool, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let from = if from_master { &mut self.master } else { &mut self.slave };
        packets.iter().for_each(|packet| from.send("pg0", packet).expect("pg0 is there"));
        self.run(2);
        let to = if from_master { &mut self.slave } else { &mut self.master };
        to.sent().into_iter().filter(|(name, _)| name == "pg0").map(|(_, packet)| packet).collect()
    }
    /// Ends both: no buffer may be missing.
    pub fn finish(self) {
        self.master.finish().expect("nothing has leaked at the master");
        self.slave.finish().expect("nothing has leaked at the slave");
    }
}

/// Cross-connects `pg0` with the memif.
pub fn cross_connect(daemon: &mut Daemon) {
    daemon.configure(
        "create packet-generator interface pg0
        set interface state pg0 up
        set interface state memif1/0 up
        set interface l2 xconnect pg0 memif1/0
        set interface l2 xconnect memif1/0 pg0",
    );
}

/// The state of `memif1/0`.
pub fn state(daemon: &mut Daemon) -> String {
    let reply = daemon.run("show memif").expect("a table");
    reply.json[0]["state"].as_str().unwrap_or_default().to_owned()
}
