//! A daemon between two interfaces of a tester, by memif.

use quiver_testkit::daemon::{Daemon, Setup};
use tempfile::TempDir;

use super::daemon_of;

/// The daemon in question, between two memif interfaces of another one, whose `pg0` and `pg1` are their other ends.
pub struct Path {
    pub daemon: Daemon,
    pub tester: Daemon,
    _folder: TempDir,
}

impl Path {
    /// Configures `function` before the connection is there.
    pub fn new(setup: Setup, role: &str, function: &str) -> Path {
        let folder = tempfile::tempdir().expect("a folder");
        let tester = daemon_of(Setup { buffers: 8192, ..Setup::default() });
        let mut path = Path { daemon: daemon_of(setup), tester, _folder: folder };
        let other = if role == "master" { "slave" } else { "master" };
        for (daemon, role) in [(&mut path.daemon, role), (&mut path.tester, other)] {
            for id in [1, 2] {
                let filename = path._folder.path().join(format!("{id}.sock"));
                daemon.configure(&format!("create memif socket id {id} filename {}", filename.display()));
                daemon.configure(&format!(
                    "create interface memif id 0 socket-id {id} {role} ring-size 1024 hw-addr 02:00:00:00:aa:0{id}"
                ));
                daemon.configure(&format!("set interface state memif{id}/0 up"));
            }
        }
        path.daemon.configure(function);
        for id in [1, 2] {
            let pg = format!("pg{}", id - 1);
            path.tester.configure(&format!(
                "create packet-generator interface {pg}
                set interface state {pg} up
                set interface l2 xconnect {pg} memif{id}/0
                set interface l2 xconnect memif{id}/0 {pg}"
            ));
        }
        for _ in 0..100 {
            path.run(50);
            let states = [&mut path.daemon, &mut path.tester].map(|daemon| daemon.run("show memif").expect("a table"));
            let is_up = |reply: &quiver_control::cli::Reply| {
                reply.json.as_array().is_some_and(|all| all.len() == 2 && all.iter().all(|m| m["state"] == "connected"))
            };
            if states.iter().all(is_up) {
                return path;
            }
        }
        panic!("no connection");
    }
    /// Lets both run for a while.
    pub fn run(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds {
            let step = std::time::Duration::from_millis(1);
            self.tester.advance(step).expect("it settles");
            self.daemon.advance(step).expect("it settles");
        }
    }
    /// Ends both: no buffer may be missing.
    pub fn finish(self) {
        self.daemon.finish().expect("nothing has leaked");
        self.tester.finish().expect("nothing has leaked at the tester");
    }
}
