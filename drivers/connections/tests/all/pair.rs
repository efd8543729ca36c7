//! A client and a server joined by a line with planted faults, on a virtual clock.

use std::time::Duration;

use quiver_connections::ConnectionGenerator;
use quiver_scenarios::line::{self, Plan, Sent};
use quiver_testkit::crossing;
use quiver_testkit::daemon::{Daemon, Rooms, Setup};
use serde_json::Value;

const ROOMS: Rooms = quiver_scenarios::rooms![quiver_interface, crossing, line, quiver_pg, quiver_connections];

/// A line without faults: 10 us each way.
pub const CLEAN: Plan = |_| vec![10_000];

/// Both ends, and the line between them.
pub struct Pair {
    pub daemon: Daemon,
}

impl Pair {
    /// Interfaces are joined in pairs, in the order in which they are made: the client with line0, line1 with the server.
    pub fn new(plans: [Plan; 2]) -> Pair {
        Pair::make(plans, true)
    }
    /// The same with a line that only counts its packets.
    pub fn counted(plans: [Plan; 2]) -> Pair {
        Pair::make(plans, false)
    }
    fn make(plans: [Plan; 2], is_kept: bool) -> Pair {
        let mut daemon = Daemon::new(ROOMS, Setup::default()).expect("a daemon");
        daemon.control().put(ConnectionGenerator::new("client".into())).expect("there is room");
        line::create_both(daemon.control(), plans, is_kept);
        daemon.control().put(ConnectionGenerator::new("server".into())).expect("there is room");
        for name in ["client", "line0", "line1", "server"] {
            daemon.configure(&format!("set interface state {name} up"));
        }
        Pair { daemon }
    }
    /// Starts the server, and then the client, with these words; `own` are the client's alone.
    pub fn start(&mut self, words: &str, own: &str) {
        self.start_apart(words, &format!("{words} {own}"));
    }
    /// The same with other words for each.
    pub fn start_apart(&mut self, server: &str, client: &str) {
        self.daemon.configure(&format!("connections start server side server {server}"));
        self.daemon.configure(&format!("connections start client side client {client}"));
    }
    /// Lets so many milliseconds pass.
    pub fn pass(&mut self, milliseconds: u64) {
        self.daemon.advance(Duration::from_millis(milliseconds)).expect("it settles");
    }
    /// Shown counts of the client and the server.
    pub fn shown(&mut self) -> [Value; 2] {
        ["client", "server"]
            .map(|name| self.daemon.run(&format!("show connections {name}")).expect("a run").json[0].take())
    }
    /// Packets that went into the line, from the client and from the server.
    pub fn log(&self) -> [Vec<Sent>; 2] {
        line::log(self.daemon.control())
    }
    /// Packets that went into the line, from the client and from the server, and how many did not come out.
    pub fn counts(&self) -> [(u64, u64); 2] {
        line::counts(self.daemon.control())
    }
    /// Ends both runs: no buffer may be missing.
    pub fn finish(self) {
        self.daemon.finish().expect("nothing leaks");
    }
}

/// A number of what is shown.
pub fn number(shown: &Value, name: &str) -> u64 {
    shown[name].as_u64().unwrap_or_else(|| panic!("{name}: {shown:#}"))
}

/// Several.
pub fn numbers<const N: usize>(shown: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| number(shown, name))
}
